import * as endpoints from '../../contract/video.ts';
import { quoteModelVideo } from '../../contract/video-quotes.ts';
import type { ChannelDirectory } from '../channels/directory.ts';
import { AppError, invalidRequest } from '../platform/app-error.ts';
import type { ModelCaller, RequestContext } from '../platform/http/request-context.ts';
import type { RouteRegistry } from '../platform/http/route-registry.ts';
import { announceEnd } from '../platform/sunset-headers.ts';
import type { Json } from '../vendors/adapter.ts';
import type { VendorRegistry } from '../vendors/registry.ts';
import type { VideoDeletion } from './deliver/video-deletion.ts';
import type { TaskRenderer } from './formats/task-renderer.ts';
import type { RefreshingTaskReader } from './poll/refreshing-task-reader.ts';
import type { PriceQuoteService } from './price-quote-service.ts';
import {
  type GenerationRequest,
  type GenerationRequestBody,
  parseGenerationRequest,
} from './submit/generation-request.ts';
import { submitForToken } from './submit/submit-for-token-or-account.ts';
import type { SubmitService } from './submit/submit-service.ts';
import type { SubmitResult } from './submit/submitted-task-and-vendor-response.ts';
import type { Task, TaskStore } from './task-store.ts';

/** The default model of OpenAI's client. */
const DEFAULT_MODEL = 'sora-2';

const UNSUPPORTED_OPERATIONS = [
  [endpoints.editVideo, 'videos.edit'],
  [endpoints.extendVideo, 'videos.extend'],
  [endpoints.createCharacter, 'videos.createCharacter'],
  [endpoints.getCharacter, 'videos.getCharacter'],
] as const;

export interface VideoRouteDependencies {
  readonly channels: Pick<ChannelDirectory, 'retirement'>;
  readonly submitter: SubmitService;
  readonly quotes: PriceQuoteService;
  readonly reader: RefreshingTaskReader;
  readonly renderer: TaskRenderer;
  readonly store: TaskStore;
  readonly vendors: VendorRegistry;
  readonly videoDeletion: VideoDeletion;
}

/** Videos for `sk-` tokens and llm_tokens, in the unified and in OpenAI's format. */
export function addVideoRoutes(routes: RouteRegistry, dependencies: VideoRouteDependencies): void {
  const { submitter, reader, renderer, channels } = dependencies;

  routes.add(endpoints.submitGeneration, async ({ body, caller, request, reply }) => {
    const generation = parseGenerationRequest(body as GenerationRequestBody, request, undefined);
    await announceEnd(channels, generation.model, reply);
    return renderer.submitted(await submitForToken(submitter, caller, generation, request));
  });
  const show = new VideoPresenter(dependencies);
  routes.add(endpoints.submitVideo, async ({ body, caller, request, reply }) => {
    const generation = parseGenerationRequest(body as GenerationRequestBody, request, DEFAULT_MODEL);
    await announceEnd(channels, generation.model, reply);
    return show.submitted(await submitForToken(submitter, caller, generation, request), caller, request);
  });
  routes.add(quoteModelVideo, async ({ body, caller, request, reply }) => {
    const generation = parseGenerationRequest(body as GenerationRequestBody, request, DEFAULT_MODEL);
    await announceEnd(channels, generation.model, reply);
    const addHeaders = request.setResponseHeaders.bind(request);
    return { object: 'video.quote' as const, ...(await dependencies.quotes.quote(caller, generation, addHeaders)) };
  });
  routes.add(endpoints.getGeneration, async ({ params, caller }) =>
    renderer.unified(await reader.readForQuery(caller, params.task_id)),
  );
  routes.add(endpoints.getVideo, async ({ params, caller, request }) => {
    const task = await reader.readForQuery(caller, params.task_id);
    return request.isOpenAiSdk ? show.complete(task) : renderer.video(task);
  });
  for (const [unsupported, operation] of UNSUPPORTED_OPERATIONS) {
    routes.add(unsupported, async () => {
      throw new AppError('operation_unsupported', { params: { operation } });
    });
  }
  addListRoute(routes, dependencies, show);
  addDeleteRoute(routes, dependencies);
  addRemixRoute(routes, dependencies, show);
}

/** Videos as OpenAI's own clients read them: its complete object, where every other client gets the contract's. */
class VideoPresenter {
  readonly #dependencies: Pick<VideoRouteDependencies, 'store' | 'renderer'>;
  constructor(dependencies: Pick<VideoRouteDependencies, 'store' | 'renderer'>) {
    this.#dependencies = dependencies;
  }

  async complete(task: Task): Promise<Json> {
    const { store, renderer } = this.#dependencies;
    const origin = task.remixed_from === null ? undefined : await store.findById(task.remixed_from);
    return renderer.complete(task, origin?.public_id);
  }

  async submitted(submitted: SubmitResult, { tokenId }: ModelCaller, { isOpenAiSdk }: RequestContext): Promise<Json> {
    const { store, renderer } = this.#dependencies;
    const task = isOpenAiSdk ? await store.findForToken(submitted.task.public_id, tokenId) : undefined;
    return task === undefined ? renderer.submitted(submitted) : this.complete(task);
  }
}

function addListRoute(
  routes: RouteRegistry,
  { store, renderer }: VideoRouteDependencies,
  show: Pick<VideoPresenter, 'complete'>,
): void {
  routes.add(endpoints.listVideos, async ({ query, caller, request }) => {
    const limit = Number(query.limit ?? '20');
    if (!/^\d{1,3}$/.test(query.limit ?? '20') || limit < 1 || limit > 100)
      throw invalidRequest('limit must be from 1 to 100.', 'limit');
    const order = query.order ?? 'desc';
    if (order !== 'asc' && order !== 'desc') throw invalidRequest('order must be asc or desc.', 'order');
    const found = await store.listForToken(caller.tokenId, query.after, limit, order);
    const page = found.slice(0, limit);
    return {
      object: 'list' as const,
      data: request.isOpenAiSdk
        ? await Promise.all(page.map((task) => show.complete(task)))
        : page.map((task) => renderer.listItem(task)),
      first_id: page[0]?.public_id ?? null,
      last_id: page.at(-1)?.public_id ?? null,
      has_more: found.length > limit,
    };
  });
}

function addDeleteRoute(routes: RouteRegistry, { reader, videoDeletion }: VideoRouteDependencies): void {
  routes.add(endpoints.deleteVideo, async ({ params, caller }) => {
    const task = await reader.readForToken(caller, params.task_id);
    await videoDeletion.delete(task);
    return { id: task.public_id, object: 'video.deleted' as const, deleted: true as const };
  });
}

function addRemixRoute(
  routes: RouteRegistry,
  { submitter, reader, vendors }: VideoRouteDependencies,
  show: Pick<VideoPresenter, 'submitted'>,
): void {
  routes.add(endpoints.remixVideo, async ({ params, body, caller, request }) => {
    const prompt = body.prompt?.trim() ?? '';
    if (prompt === '') throw invalidRequest('prompt is required.', 'prompt');
    const original = await reader.readForToken(caller, params.task_id);
    if (vendors.get(original.vendor).remix === undefined || original.status !== 'SUCCESS')
      throw new AppError('remix_unsupported');
    const generation = { ...toRemixRequest(original, prompt), callbackUrl: body.callback_url || undefined };
    return show.submitted(await submitForToken(submitter, caller, generation, request, original), caller, request);
  });
}

/** A remix has the length and size of its original. Both are part of its stored body, for a remix of the remix. */
function toRemixRequest(original: Task, prompt: string): GenerationRequest {
  const { duration, seconds: text, size } = JSON.parse(original.request) as GenerationRequestBody;
  const given = duration ?? text;
  const seconds = given === undefined ? undefined : Number(given);
  // JSON leaves out what is undefined.
  return {
    model: original.model,
    prompt,
    images: [],
    seconds,
    size,
    metadata: {},
    body: { prompt, duration: seconds, size },
  };
}
