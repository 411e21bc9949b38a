import { hash } from 'node:crypto';
import { type AmountUnit, formatAmount } from '../../contract/amounts.ts';
import {
  LISTED_PROMPT_LENGTH,
  type McpVideo,
  TOOLS,
  type ToolInput,
  type ToolName,
  type ToolOutput,
} from '../../contract/mcp.ts';
import { formatMessage, type Locale } from '../../contract/messages/format-message.ts';
import { defined, isObject } from '../../contract/objects.ts';
import { toSeconds } from '../../contract/time-units.ts';
import type { CredentialRevocationWatch } from '../accounts/credential-watch.ts';
import type { AffordableCallCounts } from '../plans/affordable-calls.ts';
import { AppError } from '../platform/app-error.ts';
import type { Clock } from '../platform/clock.ts';
import { withinTime } from '../platform/concurrency.ts';
import { DatabaseUnavailableError } from '../platform/db/database.ts';
import type { ModelCaller } from '../platform/http/route-registry.ts';
import { validatorFor } from '../platform/http/schema-validation.ts';
import type { Metrics } from '../platform/metrics.ts';
import type { Ledger } from '../quota/ledger.ts';
import type { GenerationRequest } from '../video/generation-request.ts';
import type { IdempotencyClaim } from '../video/idempotency.ts';
import type { Video } from '../video/module.ts';
import type { Task } from '../video/task-store.ts';
import type { RpcId } from './message.ts';
import { readToolArguments } from './tool-arguments.ts';

/** Identifies a call, for repetitions of it. */
interface CallIdentity {
  readonly id: RpcId;
  /** `Mcp-Session-Id`; undefined without a session. */
  readonly session: string | undefined;
}

/** Time in which a call without session and key counts as a repetition. */
const RETRY_MS = 10 * 60_000;

/**
 * The claim under which a call starts one video, however often it is repeated. By `idempotency_key`, if the caller gives
 * one. Otherwise by the JSON-RPC id together with the arguments: inside a session an id is used once. Without a session
 * every conversation counts from 0, so that id and arguments prove a repetition for a short time only.
 */
function toRetryClaim(
  tokenId: number,
  tool: string,
  { idempotency_key: key, ...given }: { readonly idempotency_key?: string; readonly [name: string]: unknown },
  { id, session }: CallIdentity,
): IdempotencyClaim {
  const requestHash = hash('sha256', stringifySorted([tool, given]));
  // Keys of the HTTP header contain no spaces, so these never meet them.
  if (key !== undefined) return { scope: tokenId, key: `mcp key ${hash('sha256', key)}`, requestHash };
  const call = hash('sha256', JSON.stringify([session ?? null, id, requestHash]));
  const claim = { scope: tokenId, key: `mcp call ${call}`, requestHash };
  return session === undefined ? { ...claim, ttlMs: RETRY_MS } : claim;
}

/** JSON that does not depend on the order of members. */
const stringifySorted = (value: unknown): string =>
  JSON.stringify(value, (_, inner: unknown) =>
    isObject(inner) ? Object.fromEntries(Object.entries(inner).toSorted(([a], [b]) => (a < b ? -1 : 1))) : inner,
  );

interface VideoToolsDependencies {
  readonly video: Pick<Video, 'services' | 'store'>;
  readonly outlook: Pick<AffordableCallCounts, 'of'>;
  readonly ledger: Pick<Ledger, 'spendLimits'>;
  readonly amountUnit: () => AmountUnit;
  readonly credentialWatch: Pick<CredentialRevocationWatch, 'referenceOf'>;
  readonly clock: Clock;
  readonly metrics: Pick<Metrics, 'recordToolCall'>;
  readonly baseUrl: string;
}

/** A call of a tool. */
export interface ToolCall extends CallIdentity {
  readonly caller: ModelCaller;
  readonly locale: Locale;
  /** Name and version of the calling program, for the request log. */
  readonly client: string | undefined;
  /** Aborted when the caller no longer waits for the result. */
  readonly signal: AbortSignal;
}

/** `CallToolResult` of the protocol. */
export interface ToolResult {
  readonly content: readonly object[];
  readonly structuredContent?: object;
  readonly isError?: true;
  readonly _meta?: object;
}

type Handlers = {
  readonly [N in ToolName]: (given: ToolInput<N>, call: ToolCall) => Promise<ToolOutput<N>>;
};

const DEFAULT_PAGE = 20;
const DATABASE_RETRY_SECONDS = 2;
/** Programs give a call up after 60 s, often without telling the model why. */
const MAX_CALL_MS = 44_000;
const LATE_RETRY_SECONDS = 10;

export const isToolName = (name: string): name is ToolName => Object.hasOwn(TOOLS, name);

/** The tools of the endpoint. They use the services of the video endpoints, so that the same limits and prices hold. */
export class VideoTools {
  readonly #dependencies: VideoToolsDependencies;
  readonly #handlers: Handlers;

  constructor(dependencies: VideoToolsDependencies) {
    this.#dependencies = dependencies;
    this.#handlers = {
      list_models: async ({ model }, { caller }) => ({ models: await this.#listModels(caller, model) }),
      quote_video: (given, call) => this.#quote(given, call),
      create_video: (given, call) => this.#start('create_video', given, call),
      get_video: (given, call) => this.#get(given, call),
      list_videos: (given, call) => this.#list(given, call),
      edit_video: (given, call) => this.#start('edit_video', given, call),
      extend_video: (given, call) => this.#start('extend_video', given, call),
      balance: (_, call) => this.#balance(call),
    };
  }

  /**
   * Runs a tool. A refusal is a result as well, so that the model that called can read it.
   * @throws only errors of this service itself
   */
  async call(name: ToolName, given: unknown, call: ToolCall): Promise<ToolResult> {
    const { metrics } = this.#dependencies;
    try {
      const { input } = TOOLS[name];
      const checked = validatorFor(input)(readToolArguments(input, given));
      if ('error' in checked) throw checked.error;
      const handle = this.#handlers[name] as (given: unknown, call: ToolCall) => Promise<object>;
      const result = toResult(await endInTime(name, handle(checked.value, call)));
      metrics.recordToolCall(name, 'ok');
      return result;
    } catch (error) {
      const known =
        error instanceof DatabaseUnavailableError
          ? new AppError('unavailable', { retryAfterSeconds: DATABASE_RETRY_SECONDS })
          : error;
      metrics.recordToolCall(name, known instanceof AppError ? 'refused' : 'failed');
      if (!(known instanceof AppError)) throw error;
      return toRefusal(known, call.locale);
    }
  }

  /** @throws AppError `task_not_exist` */
  find(caller: ModelCaller, id: string): Promise<Task> {
    return this.#dependencies.video.services.reader.readForToken(caller, id);
  }

  /** The result of a call that started a video which has ended since. */
  async finalResult(task: Task, caller: ModelCaller): Promise<ToolResult> {
    const result = toResult({ ...(await this.#describe(task, caller)), dropped: [] });
    return task.status === 'FAILURE' ? { ...result, isError: true } : result;
  }

  async #listModels(caller: ModelCaller, model: string | undefined): Promise<ToolOutput<'list_models'>['models']> {
    const { models } = this.#dependencies.video.services;
    if (model !== undefined) return [await models.get(caller, model)];
    return (await models.list(caller)).map(({ parameters: _, ...listed }) => listed);
  }

  async #quote(given: ToolInput<'quote_video'>, { caller }: ToolCall): Promise<ToolOutput<'quote_video'>> {
    const { requests, quotes } = this.#dependencies.video.services;
    const dropped = new DroppedArguments();
    const generation = inToolFields(await requests.read(requests.check(given), caller));
    return { ...(await quotes.quote(caller, generation, dropped.read)), dropped: dropped.names };
  }

  async #start(
    tool: 'create_video' | 'edit_video' | 'extend_video',
    given: ToolInput<'create_video' | 'edit_video'>,
    call: ToolCall,
  ): Promise<ToolOutput<'create_video'>> {
    const { submitter } = this.#dependencies.video.services;
    const { caller, client } = call;
    const idempotency = toRetryClaim(caller.tokenId, tool, given, call);
    const generation = inToolFields(await this.#read(tool, given, caller));
    const dropped = new DroppedArguments();
    const options = { idempotency, addHeaders: dropped.read, ...defined({ client }) };
    const { task } = await submitter.submit(caller, generation, options);
    return {
      ...(await this.#describe(await this.find(caller, task.public_id), caller)),
      dropped: dropped.names,
    };
  }

  #read(
    tool: 'create_video' | 'edit_video' | 'extend_video',
    { idempotency_key: _, ...given }: ToolInput<'create_video' | 'edit_video'>,
    caller: ModelCaller,
  ): Promise<GenerationRequest> {
    const { requests } = this.#dependencies.video.services;
    if (tool === 'create_video') return requests.read(requests.check(given), caller);
    const { id, ...change } = given as ToolInput<'edit_video'>;
    const operation = tool === 'edit_video' ? 'edit' : 'extend';
    return requests.readChange(operation, { ...requests.check(change), video: { id } }, caller, undefined, 'id');
  }

  async #get({ id, wait_seconds: seconds = 0 }: ToolInput<'get_video'>, { caller, signal }: ToolCall) {
    const { follower } = this.#dependencies.video.services;
    return this.#describe(await follower.wait(caller, id, seconds * 1_000, signal), caller);
  }

  async #list({ limit = DEFAULT_PAGE, after }: ToolInput<'list_videos'>, { caller }: ToolCall) {
    const { store } = this.#dependencies.video;
    const found = await store.listForToken(caller.tokenId, after, limit, 'desc');
    const page = found.slice(0, limit);
    const videos = await Promise.all(page.map((task) => this.#describe(task, caller)));
    return {
      videos: videos.map((video) => ({ ...video, prompt: video.prompt.slice(0, LISTED_PROMPT_LENGTH) })),
      last_id: page.at(-1)?.public_id ?? null,
      has_more: found.length > limit,
    };
  }

  async #balance({ caller, locale }: ToolCall): Promise<ToolOutput<'balance'>> {
    const { outlook, ledger, amountUnit } = this.#dependencies;
    const { balance, windows, keyLeft } = await outlook.of(caller, 0);
    const limits = await ledger.spendLimits([
      { kind: 'token', id: caller.tokenId },
      { kind: 'account', id: caller.userId },
    ]);
    return {
      balance,
      balance_text: formatAmount(balance, amountUnit(), locale, 'exact'),
      windows: windows.map(({ kind, limit, left, endsAt }) => ({ kind, limit, left, full_again: toSeconds(endsAt) })),
      key_left: keyLeft ?? null,
      spend_limits: [...limits.values()].map(({ period, amount, spent, renewsAt }) => ({
        period,
        limit: amount,
        left: Math.max(0, amount - spent),
        full_again: toSeconds(renewsAt),
      })),
    };
  }

  async #describe(task: Task, caller: ModelCaller): Promise<McpVideo> {
    const { video, credentialWatch, clock, baseUrl } = this.#dependencies;
    const { renderer, playLinks } = video.services;
    const source = task.remixed_from === null ? undefined : await video.store.findById(task.remixed_from);
    const shown = renderer.complete(task, source?.public_id) as RenderedVideo;
    const url = baseUrl + playLinks.create(task.public_id, credentialWatch.referenceOf(caller), clock.now());
    return {
      id: task.public_id,
      status: shown.status,
      progress: shown.progress,
      model: task.model,
      prompt: shown.prompt ?? '',
      seconds: shown.seconds,
      size: shown.size,
      quota: task.price,
      created_at: toSeconds(task.created_at),
      // Some vendors state fractions of a second.
      completed_at: shown.completed_at === null ? null : Math.floor(Number(shown.completed_at)),
      source_video_id: source?.public_id ?? null,
      url: task.status === 'SUCCESS' ? url : null,
      error: shown.error === null ? null : { code: String(shown.error.code), message: String(shown.error.message) },
    };
  }
}

/**
 * The result of a tool, unless it takes longer than programs wait: fetching files by URL and a slow vendor may. The work
 * continues, and a repetition joins it or finds what it started.
 *
 * @throws AppError `idempotency_in_progress` for tools that spend, `unavailable` for the others
 */
async function endInTime<R>(name: ToolName, work: Promise<R>): Promise<R> {
  // Waits for the time its caller gave, which is bounded.
  if (name === 'get_video') return work;
  return withinTime(work, MAX_CALL_MS, () => {
    const retryAfterSeconds = LATE_RETRY_SECONDS;
    if (TOOLS[name].annotations.readOnlyHint) throw new AppError('unavailable', { retryAfterSeconds });
    throw new AppError('idempotency_in_progress', { messageKey: 'tool_call_continues', retryAfterSeconds });
  });
}

/** The schemas of the tools name files by `inputs` alone, so a refusal without any file names that. */
const inToolFields = (generation: GenerationRequest): GenerationRequest => ({ ...generation, filesField: 'inputs' });

/** Members of OpenAI's complete video object, which have the same form for every vendor. */
type RenderedVideo = Pick<McpVideo, 'status' | 'progress' | 'seconds' | 'size' | 'completed_at'> & {
  readonly prompt: string | null;
  readonly error: { readonly code: unknown; readonly message: unknown } | null;
};

/** Collects the names of arguments that reach no vendor. */
class DroppedArguments {
  names: string[] = [];
  readonly read = ({ 'x-reelgate-dropped': dropped }: Readonly<Record<string, string>>): void => {
    if (dropped !== undefined) this.names = dropped.split(', ');
  };
}

/** The value as text too, for clients without structured content, and a link to the file where there is one. */
function toResult(value: object): ToolResult {
  const { id, url } = value as { readonly id?: string; readonly url?: string | null };
  const link = { type: 'resource_link', uri: url, name: `${id}.mp4`, mimeType: 'video/mp4' };
  return {
    content: [{ type: 'text', text: JSON.stringify(value) }, ...(typeof url === 'string' ? [link] : [])],
    structuredContent: value,
  };
}

function toRefusal({ code, options }: AppError, locale: Locale): ToolResult {
  const { params, messageKey = code, message, param, publicCode, retryAfterSeconds } = options;
  const given = message === code ? undefined : message;
  const text = given ?? formatMessage(messageKey, locale, params);
  const error = defined({ code: publicCode ?? code, param, retry_after_seconds: retryAfterSeconds });
  return { content: [{ type: 'text', text }], isError: true, _meta: { error } };
}
