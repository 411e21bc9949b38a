import { TOOLS, type ToolName } from '../../contract/mcp.ts';
import { isObject, type UntrustedObject } from '../../contract/objects.ts';
import { isTerminal } from '../../contract/task-states.ts';
import { VERSION } from '../package-root.ts';
import { isAppError } from '../platform/app-error.ts';
import type { Log } from '../platform/log.ts';
import type { Task } from '../video/task-store.ts';
import {
  ENVELOPE_VERSIONS,
  HANDSHAKE_VERSIONS,
  parseMessage,
  RpcError,
  type RpcId,
  type RpcRequest,
} from './message.ts';
import { isToolName, type ToolCall, type ToolResult, type VideoTools } from './video-tools.ts';

interface RpcServerDependencies {
  readonly tools: VideoTools;
  readonly siteName: () => string;
  readonly newSession: () => string;
  readonly log: Log;
}

/** The sender of a message. */
export type RpcSender = Omit<ToolCall, 'id'> & { readonly requestId: string };

/** The HTTP response to a message. */
export interface RpcResponse {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Undefined: no body. */
  readonly body?: object;
}

interface MethodCall {
  readonly request: RpcRequest;
  readonly sender: RpcSender;
}
type Method = (params: UntrustedObject, call: MethodCall) => object | Promise<object>;

const TASKS = 'io.modelcontextprotocol/tasks';
const SERVER_INFO = 'io.modelcontextprotocol/serverInfo';
/** The list of tools is the same for everybody until the next release. */
const CACHE = { ttlMs: 3_600_000, cacheScope: 'public' };
const TASK_POLL_MS = 5_000;
/** Tools whose result is a task for clients that know tasks. */
const STARTING: ReadonlySet<ToolName> = new Set(['create_video', 'edit_video', 'extend_video']);

const INSTRUCTIONS =
  'Generates videos. create_video, edit_video and extend_video spend the quota of an account and return at once; ' +
  'then call get_video with wait_seconds: 45 until the status is completed or failed, and give the user the url. ' +
  'quote_video shows the price beforehand, list_models what each model takes, balance what is left.';

const LISTED_TOOLS = Object.entries(TOOLS).map(([name, { title, description, input, output, annotations }]) => ({
  ...{ name, title, description, inputSchema: input, outputSchema: output },
  annotations: { title, ...annotations },
}));

/**
 * Serves the Model Context Protocol: one JSON-RPC message per HTTP request, without state. A session id only tells
 * conversations apart, so that any process serves any message.
 */
export class RpcServer {
  readonly #dependencies: RpcServerDependencies;
  /** Calls of sessions that run in this process, for `notifications/cancelled`. */
  readonly #running = new Map<string, AbortController>();
  readonly #handshakeMethods: Readonly<Record<string, Method>>;
  readonly #envelopeMethods: Readonly<Record<string, Method>>;

  constructor(dependencies: RpcServerDependencies) {
    this.#dependencies = dependencies;
    const callTool: Method = (params, call) => this.#callTool(params, call);
    this.#handshakeMethods = {
      initialize: (params) => this.#initialize(params),
      ping: () => ({}),
      'tools/list': listTools,
      'tools/call': callTool,
    };
    this.#envelopeMethods = {
      'server/discover': () => ({
        supportedVersions: ENVELOPE_VERSIONS,
        capabilities: { tools: {}, extensions: { [TASKS]: {} } },
        instructions: INSTRUCTIONS,
        ...CACHE,
      }),
      'tools/list': (params) => ({ ...listTools(params), ...CACHE }),
      'tools/call': callTool,
      'tasks/get': (params, call) => this.#getTask(params, call),
      'tasks/update': (params, call) => this.#acknowledge(params, call),
      // A vendor's job cannot be stopped; the extension lets the server ignore a cancellation.
      'tasks/cancel': (params, call) => this.#acknowledge(params, call),
    };
  }

  async handle(body: unknown, headers: Parameters<typeof parseMessage>[1], sender: RpcSender): Promise<RpcResponse> {
    let id: RpcId | undefined;
    try {
      const message = parseMessage(body, headers);
      if (message.kind === 'notification') {
        if (message.method === 'notifications/cancelled') this.#cancel(message.params.requestId, sender);
        return { status: 202 };
      }
      id = message.id;
      return await this.#respond(message, sender);
    } catch (error) {
      if (error instanceof RpcError) return toFailure(error, error.id ?? id);
      this.#dependencies.log.error({ err: error, requestId: sender.requestId }, 'a request over MCP failed');
      return toFailure(new RpcError('internal', `Internal error, request ${sender.requestId}.`, { status: 200 }), id);
    }
  }

  async #respond(request: RpcRequest, sender: RpcSender): Promise<RpcResponse> {
    const { id, method, params, envelope } = request;
    const methods = envelope === undefined ? this.#handshakeMethods : this.#envelopeMethods;
    const run = Object.hasOwn(methods, method) ? methods[method] : undefined;
    if (run === undefined)
      throw new RpcError('unknownMethod', `There is no method ${method.slice(0, 100)}.`, {
        id,
        status: envelope === undefined ? 200 : 404,
      });
    const value = await run(params, { request, sender });
    const meta = { [SERVER_INFO]: this.#serverInfo() };
    const result =
      envelope === undefined ? value : { resultType: 'complete', ...value, _meta: { ...meta, ...metaOf(value) } };
    return {
      status: 200,
      headers: method === 'initialize' ? { 'mcp-session-id': this.#dependencies.newSession() } : {},
      body: { jsonrpc: '2.0', id, result },
    };
  }

  #initialize({ protocolVersion }: UntrustedObject): object {
    const version = HANDSHAKE_VERSIONS.find((each) => each === protocolVersion) ?? HANDSHAKE_VERSIONS[0];
    return {
      protocolVersion: version,
      capabilities: { tools: {} },
      serverInfo: this.#serverInfo(),
      instructions: INSTRUCTIONS,
    };
  }

  async #callTool(params: UntrustedObject, { request, sender }: MethodCall): Promise<object> {
    const { name } = params;
    // Some clients write null for no arguments.
    const given = params.arguments ?? {};
    if (typeof name !== 'string') throw invalidParams('name must be a string.');
    if (!isObject(given)) throw invalidParams('arguments must be an object.');
    if (!isToolName(name)) throw invalidParams(`There is no tool ${name.slice(0, 100)}.`);
    const { tools } = this.#dependencies;
    const { id, envelope } = request;
    const session = envelope === undefined ? sender.session : undefined;
    const call = { ...sender, id, session, client: envelope?.client ?? sender.client };
    const result = await this.#untilCancelled(call, (each) => tools.call(name, given, each));
    if (result.isError || !STARTING.has(name) || !takesTasks(request)) return result;
    const { id: videoId } = result.structuredContent as { readonly id: string };
    return { ...toTask(await tools.find(sender.caller, videoId)), resultType: 'task' };
  }

  /** Runs a call of a session so that `notifications/cancelled` can end it. */
  async #untilCancelled(call: ToolCall, run: (call: ToolCall) => Promise<ToolResult>): Promise<ToolResult> {
    if (call.session === undefined) return run(call);
    const key = keyOf(call.id, call);
    const cancelled = new AbortController();
    this.#running.set(key, cancelled);
    try {
      return await run({ ...call, signal: AbortSignal.any([call.signal, cancelled.signal]) });
    } finally {
      if (this.#running.get(key) === cancelled) this.#running.delete(key);
    }
  }

  #cancel(id: unknown, sender: RpcSender): void {
    this.#running.get(keyOf(id, sender))?.abort();
  }

  async #getTask(params: UntrustedObject, call: MethodCall): Promise<object> {
    const { tools } = this.#dependencies;
    const task = await this.#findTask(params, call);
    const state = toTask(task);
    return isTerminal(task.status) ? { ...state, result: await tools.finalResult(task, call.sender.caller) } : state;
  }

  async #acknowledge(params: UntrustedObject, call: MethodCall): Promise<object> {
    await this.#findTask(params, call);
    return {};
  }

  async #findTask({ taskId }: UntrustedObject, { request, sender }: MethodCall): Promise<Task> {
    if (!takesTasks(request))
      throw new RpcError('missingCapability', `The client does not declare ${TASKS}.`, {
        data: { requiredCapabilities: { extensions: { [TASKS]: {} } } },
      });
    const missing = invalidParams('There is no such task.');
    if (typeof taskId !== 'string') throw missing;
    return this.#dependencies.tools.find(sender.caller, taskId).catch((error: unknown) => {
      throw isAppError(error, 'task_not_exist') ? missing : error;
    });
  }

  #serverInfo(): object {
    return { name: 'reelgate', title: this.#dependencies.siteName(), version: VERSION };
  }
}

function listTools({ cursor }: UntrustedObject): object {
  // Some clients write null or nothing for the first page.
  if (cursor !== undefined && cursor !== null && cursor !== '')
    throw invalidParams('cursor is unknown: the list has one page.');
  return { tools: LISTED_TOOLS };
}

const invalidParams = (message: string): RpcError => new RpcError('invalidParams', message, { status: 200 });

const keyOf = (id: unknown, { caller, session }: Pick<ToolCall, 'caller' | 'session'>): string =>
  JSON.stringify([caller.tokenId, session, id]);

const metaOf = (value: object): object | undefined => (value as { readonly _meta?: object })._meta;

const takesTasks = ({ envelope }: RpcRequest): boolean => {
  const extensions = envelope?.capabilities.extensions;
  return isObject(extensions) && isObject(extensions[TASKS]);
};

/** A video as the tasks extension describes it. A video that failed is a completed task whose result is an error. */
const toTask = ({ public_id, status, progress, created_at, updated_at }: Task): object => ({
  taskId: public_id,
  status: isTerminal(status) ? 'completed' : 'working',
  statusMessage: `${progress} %`,
  createdAt: new Date(created_at).toISOString(),
  lastUpdatedAt: new Date(updated_at).toISOString(),
  ttlMs: null,
  pollIntervalMs: TASK_POLL_MS,
});

const toFailure = ({ code, message, data, status }: RpcError, id: RpcId | undefined): RpcResponse => ({
  status,
  body: { jsonrpc: '2.0', id: id ?? null, error: { code, message, data } },
});
