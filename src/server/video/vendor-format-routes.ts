import * as endpoints from '../../contract/video-formats.ts';
import type { ChannelDirectory } from '../channels/directory.ts';
import { AppError, invalidRequest } from '../platform/app-error.ts';
import { toJimengBody } from '../platform/http/error-responses.ts';
import type { ModelCaller, RequestContext, RouteRegistry } from '../platform/http/route-registry.ts';
import { announceEnd } from '../platform/sunset-headers.ts';
import {
  externalIdOf,
  type KlingOperation,
  parseJimengRequest,
  parseKlingRequest,
  type TaskRenderer,
  toJimengTask,
  toKlingEnvelope,
  toKlingSubmitData,
  toKlingTask,
} from './formats.ts';
import type { GenerationRequest } from './generation-request.ts';
import type { RefreshingTaskReader } from './poller.ts';
import { type SubmitService, submitForToken } from './submit.ts';
import type { Task, TaskStore } from './task-store.ts';

interface VendorFormatRouteDependencies {
  readonly submitter: SubmitService;
  readonly reader: RefreshingTaskReader;
  readonly renderer: TaskRenderer;
  readonly channels: Pick<ChannelDirectory, 'retirement'>;
}

type Input = Pick<JimengInput, 'caller' | 'request' | 'reply'>;

interface JimengInput {
  readonly query: { readonly Action: string };
  readonly body: { readonly [key: string]: unknown };
  readonly caller: ModelCaller;
  readonly request: RequestContext;
  readonly reply: { headers(headers: Record<string, string>): unknown };
}

/** Registers submits in the formats of Kling and Jimeng, with responses in the contract's own. */
export function addVendorFormatRoutes(
  routes: RouteRegistry,
  { submitter, reader, renderer, channels }: VendorFormatRouteDependencies,
): void {
  const submit = async (generation: GenerationRequest, { caller, request, reply }: Input) => {
    await announceEnd(channels, generation.model, reply);
    return renderer.submitted(await submitForToken(submitter, caller, generation, request));
  };
  const query = async (caller: ModelCaller, taskId: string) =>
    renderer.unified(await reader.readForQuery(caller, taskId));

  routes.add(endpoints.klingText, (input) =>
    submit(parseKlingRequest(input.body, 'text2video', input.request.bodyImages), input),
  );
  routes.add(endpoints.klingImage, (input) =>
    submit(parseKlingRequest(input.body, 'image2video', input.request.bodyImages), input),
  );
  routes.add(endpoints.klingOmni, (input) =>
    submit(parseKlingRequest(input.body, 'omni-video', input.request.bodyImages), input),
  );
  routes.add(endpoints.klingOmniQuery, ({ params, caller }) => query(caller, params.task_id));
  routes.add(endpoints.klingTextQuery, ({ params, caller }) => query(caller, params.task_id));
  routes.add(endpoints.klingImageQuery, ({ params, caller }) => query(caller, params.task_id));

  const act = async (input: JimengInput) => {
    const {
      query: { Action },
      body,
      caller,
    } = input;
    if (Action === 'CVSync2AsyncSubmitTask') return submit(parseJimengRequest(body, input.request.bodyImages), input);
    if (Action !== 'CVSync2AsyncGetResult')
      throw invalidRequest('Action must be CVSync2AsyncSubmitTask or CVSync2AsyncGetResult.', 'Action');
    if (typeof body.task_id !== 'string') throw invalidRequest('task_id is required.', 'task_id');
    return query(caller, body.task_id);
  };
  routes.add(endpoints.jimengAction, act);
  routes.add(endpoints.jimengActionAlias, act);
}

interface VendorCompatibleRouteDependencies {
  readonly submitter: SubmitService;
  readonly reader: RefreshingTaskReader;
  readonly store: TaskStore;
  readonly channels: Pick<ChannelDirectory, 'retirement'>;
}

interface NativeInput {
  readonly body: { readonly [key: string]: unknown };
  readonly caller: ModelCaller;
  readonly request: RequestContext;
  readonly reply: { headers(headers: Record<string, string>): unknown };
}

interface KlingPage {
  readonly pageNum?: string;
  readonly pageSize?: string;
}

interface JimengNativeInput extends NativeInput {
  readonly query: { readonly Action: string };
  /** Milliseconds since the request arrived. */
  readonly reply: NativeInput['reply'] & { readonly elapsedTime: number };
}

const DEFAULT_PAGE_SIZE = 30;
const MAX_PAGE_SIZE = 500;

/**
 * Registers the APIs of Kling and Jimeng as the vendors themselves serve them: a program written for a vendor only
 * changes base URL and key.
 */
export function addVendorCompatibleRoutes(
  routes: RouteRegistry,
  dependencies: VendorCompatibleRouteDependencies,
): void {
  addKlingRoutes(routes, dependencies);
  addJimengRoutes(routes, dependencies);
}

function addKlingRoutes(routes: RouteRegistry, dependencies: VendorCompatibleRouteDependencies): void {
  const { submitter, reader, store, channels } = dependencies;
  const submit = async ({ body, caller, request, reply }: NativeInput, operation: KlingOperation) => {
    const generation = { ...parseKlingRequest(body, operation, request.bodyImages), externalId: externalIdOf(body) };
    await announceEnd(channels, generation.model, reply);
    const submitted = await submitForToken(submitter, caller, generation, request);
    return toKlingEnvelope(toKlingSubmitData(submitted), request.id);
  };
  const get = async (caller: ModelCaller, id: string, request: RequestContext) => {
    const named = await store.findByExternalId(id, caller.tokenId);
    const task = await reader.readForToken(caller, named?.public_id ?? id);
    return toKlingEnvelope(toKlingTask(ofVendor(task, 'kling')), request.id);
  };
  const list = async (
    { caller, query, request }: Omit<NativeInput, 'body' | 'reply'> & { readonly query: KlingPage },
    operation: KlingOperation,
  ) => {
    const pageSize = Math.min(Number(query.pageSize ?? DEFAULT_PAGE_SIZE), MAX_PAGE_SIZE);
    const tasks = await store.listForVendorFormat(
      { tokenId: caller.tokenId, vendor: 'kling', isFromText: operation === 'text2video' },
      (Number(query.pageNum ?? 1) - 1) * pageSize,
      pageSize,
    );
    return toKlingEnvelope(tasks.map(toKlingTask), request.id);
  };

  routes.add(endpoints.klingNativeText, (input) => submit(input, 'text2video'));
  routes.add(endpoints.klingNativeImage, (input) => submit(input, 'image2video'));
  routes.add(endpoints.klingNativeOmni, (input) => submit(input, 'omni-video'));
  routes.add(endpoints.klingNativeOmniGet, ({ params, caller, request }) => get(caller, params.task_id, request));
  routes.add(endpoints.klingNativeTextList, (input) => list(input, 'text2video'));
  routes.add(endpoints.klingNativeImageList, (input) => list(input, 'image2video'));
  routes.add(endpoints.klingNativeTextGet, ({ params, caller, request }) => get(caller, params.task_id, request));
  routes.add(endpoints.klingNativeImageGet, ({ params, caller, request }) => get(caller, params.task_id, request));
}

function addJimengRoutes(
  routes: RouteRegistry,
  { submitter, reader, channels }: VendorCompatibleRouteDependencies,
): void {
  const act = async ({ query: { Action }, body, caller, request, reply }: JimengNativeInput) => {
    const respond = ({ code = 10_000, message = 'Success', data }: { code?: number; message?: string; data: object }) =>
      toJimengBody(code, message, data, request.id, reply.elapsedTime);
    if (Action === 'CVSync2AsyncSubmitTask') {
      const generation = parseJimengRequest(body, request.bodyImages);
      await announceEnd(channels, generation.model, reply);
      const { task } = await submitForToken(submitter, caller, generation, request);
      return respond({ data: { task_id: task.public_id } });
    }
    if (Action !== 'CVSync2AsyncGetResult')
      throw invalidRequest('Action must be CVSync2AsyncSubmitTask or CVSync2AsyncGetResult.', 'Action');
    if (typeof body.task_id !== 'string') throw invalidRequest('task_id is required.', 'task_id');
    return respond(toJimengTask(ofVendor(await reader.readForToken(caller, body.task_id), 'jimeng')));
  };
  routes.add(endpoints.jimengNative, act);
  routes.add(endpoints.jimengNativeAlias, act);
}

/** A vendor's API returns only the tasks of that vendor. */
function ofVendor(task: Task, vendor: Task['vendor']): Task {
  if (task.vendor !== vendor) throw new AppError('task_not_exist');
  return task;
}
