import * as endpoints from '../../../contract/vendor-native-endpoints.ts';
import type { ChannelDirectory } from '../../channels/directory.ts';
import { AppError, invalidRequest } from '../../platform/app-error.ts';
import { toJimengBody } from '../../platform/http/error-responses.ts';
import type { ModelCaller, RequestContext } from '../../platform/http/request-context.ts';
import type { RouteRegistry } from '../../platform/http/route-registry.ts';
import { announceEnd } from '../../platform/sunset-headers.ts';
import type { RefreshingTaskReader } from '../poll/refreshing-task-reader.ts';
import { submitForToken } from '../submit/submit-for-token-or-account.ts';
import type { SubmitService } from '../submit/submit-service.ts';
import type { Task, TaskStore } from '../task-store.ts';
import { toJimengTask } from './jimeng-native-responses.ts';
import { toKlingEnvelope, toKlingSubmitData, toKlingTask } from './kling-native-responses.ts';
import { externalIdOf, type KlingOperation, parseJimengRequest, parseKlingRequest } from './parse-native-requests.ts';

export interface VendorCompatibleRouteDependencies {
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

interface JimengInput extends NativeInput {
  readonly query: { readonly Action: string };
  /** Milliseconds since the request arrived. */
  readonly reply: NativeInput['reply'] & { readonly elapsedTime: number };
}

const DEFAULT_PAGE_SIZE = 30;
const MAX_PAGE_SIZE = 500;

/** The APIs of Kling and Jimeng as these vendors serve them: a program written for them changes only base URL and key. */
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
    const generation = { ...parseKlingRequest(body, operation, request.longTexts), externalId: externalIdOf(body) };
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
  const act = async ({ query: { Action }, body, caller, request, reply }: JimengInput) => {
    const ok = (data: object) => toJimengBody(10_000, 'Success', data, request.id, reply.elapsedTime);
    if (Action === 'CVSync2AsyncSubmitTask') {
      const generation = parseJimengRequest(body, request.longTexts);
      await announceEnd(channels, generation.model, reply);
      const { task } = await submitForToken(submitter, caller, generation, request);
      return ok({ task_id: task.public_id });
    }
    if (Action !== 'CVSync2AsyncGetResult')
      throw invalidRequest('Action must be CVSync2AsyncSubmitTask or CVSync2AsyncGetResult.', 'Action');
    if (typeof body.task_id !== 'string') throw invalidRequest('task_id is required.', 'task_id');
    return ok(toJimengTask(ofVendor(await reader.readForToken(caller, body.task_id), 'jimeng')));
  };
  routes.add(endpoints.jimengNative, act);
  routes.add(endpoints.jimengNativeWithoutSlash, act);
}

/** A vendor's API returns only the tasks of that vendor. */
function ofVendor(task: Task, vendor: Task['vendor']): Task {
  if (task.vendor !== vendor) throw new AppError('task_not_exist');
  return task;
}
