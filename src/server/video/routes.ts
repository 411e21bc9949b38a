import { defined } from '../../contract/objects.ts';
import * as ownVideoEndpoints from '../../contract/own-videos.ts';
import { quoteModelVideo } from '../../contract/own-videos.ts';
import { done, longList, ok, toLongPage } from '../../contract/responses.ts';
import { TASK_STATUS, type TaskStatus } from '../../contract/task-states.ts';
import { toSeconds } from '../../contract/time-units.ts';
import * as endpoints from '../../contract/video.ts';
import type { CredentialRevocationWatch } from '../accounts/credential-watch.ts';
import type { FindAuthors } from '../accounts/memberships.ts';
import type { Artifacts } from '../artifacts/module.ts';
import type { ChannelDirectory } from '../channels/directory.ts';
import { AppError, invalidRequest, notExistError } from '../platform/app-error.ts';
import type { Clock } from '../platform/clock.ts';
import {
  type AccountCaller,
  limitedAuthorOf,
  type ModelCaller,
  ownerOf,
  type RequestContext,
  type RouteRegistry,
} from '../platform/http/route-registry.ts';
import { answerHeadRequest, beginEventStream } from '../platform/http/streams.ts';
import { announceEnd } from '../platform/sunset-headers.ts';
import type { Json } from '../vendors/adapter.ts';
import type { VendorRegistry } from '../vendors/registry.ts';
import type { FavouriteStore } from './collections.ts';
import type { PlayLinks } from './content.ts';
import type { VideoDeletion } from './deletion.ts';
import { toDroppedHeader } from './dropped-fields.ts';
import { type TaskRenderer, toVideoRow } from './formats.ts';
import {
  type GenerationRequest,
  type GenerationRequestBody,
  parseGenerationRequest,
  type RequestImages,
  type RequestReader,
} from './generation-request.ts';
import { parseWait, type RefreshingTaskReader, type TaskFollower } from './poller.ts';
import { type PriceQuoteService, type SubmitService, submitForAccount, submitForToken } from './submit.ts';
import { isImportedEndedTask } from './tables.ts';
import type { TaskQueue } from './task-queue.ts';
import type { DurationStatistics } from './task-reports.ts';
import {
  type ShownTask,
  type SubmitResult,
  type Task,
  type TaskFilter,
  type TaskStore,
  toSearchTerms,
} from './task-store.ts';

const UNSUPPORTED_OPERATIONS = [
  [endpoints.createCharacter, 'videos.createCharacter'],
  [endpoints.getCharacter, 'videos.getCharacter'],
] as const;

interface VideoRouteDependencies {
  readonly channels: Pick<ChannelDirectory, 'retirement'>;
  readonly submitter: SubmitService;
  readonly quotes: PriceQuoteService;
  readonly reader: RefreshingTaskReader;
  readonly renderer: TaskRenderer;
  readonly store: TaskStore;
  readonly vendors: VendorRegistry;
  readonly videoDeletion: VideoDeletion;
  readonly queue: TaskQueue;
  readonly requests: RequestReader;
  readonly follower: TaskFollower;
  readonly credentialWatch: CredentialRevocationWatch;
}

/** Registers the video endpoints for `sk-` tokens and llm_tokens, in the unified and OpenAI's format. */
export function addVideoRoutes(routes: RouteRegistry, dependencies: VideoRouteDependencies): void {
  const { submitter, reader, renderer, channels, requests } = dependencies;
  routes.add(endpoints.submitGeneration, async ({ body, caller, request, reply }) => {
    const generation = await requests.read(body, caller, request, { needsModel: true });
    await announceEnd(channels, generation.model, reply);
    return renderer.submitted(await submitForToken(submitter, caller, generation, request));
  });
  const show = new VideoPresenter(dependencies);
  routes.add(endpoints.submitVideo, async ({ body, caller, request, reply }) => {
    const generation = await requests.read(body, caller, request);
    await announceEnd(channels, generation.model, reply);
    return show.submitted(await submitForToken(submitter, caller, generation, request), caller, request);
  });
  routes.add(quoteModelVideo, async ({ body, caller, request, reply }) => {
    const generation = await requests.read(body, caller, request);
    await announceEnd(channels, generation.model, reply);
    const addHeaders = request.setResponseHeaders.bind(request);
    return { object: 'video.quote' as const, ...(await dependencies.quotes.quote(caller, generation, addHeaders)) };
  });
  routes.add(endpoints.getGeneration, async ({ params, caller }) =>
    renderer.unified(await reader.readForQuery(caller, params.task_id)),
  );
  for (const [unsupported, operation] of UNSUPPORTED_OPERATIONS) {
    routes.add(unsupported, async () => {
      throw new AppError('operation_unsupported', { params: { operation } });
    });
  }
  addFollowRoutes(routes, dependencies, show);
  addChangeRoutes(routes, dependencies, show);
  addListRoute(routes, dependencies, show);
  addDeleteRoute(routes, dependencies);
  addCancelRoute(routes, dependencies, show);
  addRemixRoute(routes, dependencies, show);
}

const KEEP_ALIVE_MS = 15_000;

/** Registers the endpoints that read one video, now or until it has ended. */
function addFollowRoutes(
  routes: RouteRegistry,
  { reader, follower, credentialWatch }: Pick<VideoRouteDependencies, 'reader' | 'follower' | 'credentialWatch'>,
  show: VideoPresenter,
): void {
  routes.add(endpoints.getVideo, async ({ params, query, caller, request }) => {
    const waitMs = parseWait(query.wait);
    return show.task(await follower.wait(caller, params.task_id, waitMs, request.disconnected), request);
  });
  routes.add(endpoints.streamVideo, async ({ params, caller, request, reply }) => {
    const first = await reader.readForQuery(caller, params.task_id);
    if (answerHeadRequest(reply)) return reply;
    follower.assertCapacity(caller);
    const { raw } = reply;
    const ended = beginEventStream(reply, {
      disconnected: request.disconnected,
      watchAccess: (onEnd) => credentialWatch.watch(caller, onEnd),
    });
    const keepAlive = setInterval(() => raw.write(': keep-alive\n\n'), KEEP_ALIVE_MS).unref();
    const send = async (): Promise<void> => {
      for await (const task of follower.follow(caller, first, ended)) {
        const video = await show.task(task, request);
        raw.write(`event: video.${(video as { readonly status: string }).status}\ndata: ${JSON.stringify(video)}\n\n`);
      }
    };
    // The status has already been sent, so no error response is possible; the client reconnects.
    await send().catch((error: unknown) => {
      request.log.warn({ err: error, requestId: request.id }, 'the events of a video ended early');
    });
    clearInterval(keepAlive);
    raw.end();
    return reply;
  });
}

/** Renders videos for OpenAI's own clients as OpenAI's complete object, for every other client as the contract's. */
class VideoPresenter {
  readonly #dependencies: Pick<VideoRouteDependencies, 'store' | 'renderer'>;
  constructor(dependencies: Pick<VideoRouteDependencies, 'store' | 'renderer'>) {
    this.#dependencies = dependencies;
  }

  /** The object that the client of a request expects. */
  task(task: ShownTask, { isOpenAiSdk }: RequestContext): Promise<Json> {
    return isOpenAiSdk ? this.complete(task) : this.plain(task);
  }

  async complete(task: ShownTask): Promise<Json> {
    const { store, renderer } = this.#dependencies;
    const origin = task.remixed_from === null ? undefined : await store.findById(task.remixed_from);
    return renderer.complete(task, origin?.public_id);
  }

  /** The contract's object; a child of an edit or extension names its parent. */
  async plain(task: ShownTask): Promise<Json> {
    const { store, renderer } = this.#dependencies;
    const isChange = task.action === 'edit' || task.action === 'extend';
    const source = isChange && task.remixed_from !== null ? await store.findById(task.remixed_from) : undefined;
    return renderer.video(task, source?.public_id);
  }

  async submitted(submitted: SubmitResult, { tokenId }: ModelCaller, { isOpenAiSdk }: RequestContext): Promise<Json> {
    const { store, renderer } = this.#dependencies;
    const task = isOpenAiSdk ? await store.findForToken(submitted.task.public_id, tokenId) : undefined;
    return task === undefined
      ? renderer.submitted(submitted)
      : this.complete(defined({ ...task, queue: submitted.queue }));
  }
}

function addListRoute(
  routes: RouteRegistry,
  { store, renderer, queue }: VideoRouteDependencies,
  show: Pick<VideoPresenter, 'complete'>,
): void {
  routes.add(endpoints.listVideos, async ({ query, caller, request }) => {
    const limit = Number(query.limit ?? '20');
    if (!/^\d{1,3}$/.test(query.limit ?? '20') || limit < 1 || limit > 100)
      throw invalidRequest('limit must be from 1 to 100.', 'limit');
    const order = query.order ?? 'desc';
    if (order !== 'asc' && order !== 'desc') throw invalidRequest('order must be asc or desc.', 'order');
    const found = await store.listForToken(caller.tokenId, query.after, limit, order);
    const page = await queue.withPositions(found.slice(0, limit));
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

/** Registers the endpoint that cancels a video while it waits for its start. */
function addCancelRoute(
  routes: RouteRegistry,
  { reader, queue }: Pick<VideoRouteDependencies, 'reader' | 'queue'>,
  show: VideoPresenter,
): void {
  routes.add(endpoints.cancelVideo, async ({ params, caller, request }) => {
    const task = await reader.readForToken(caller, params.task_id);
    await cancelWaiting(queue, task);
    return show.task(await reader.readForToken(caller, params.task_id), request);
  });
}

/** @throws AppError `task_not_waiting` */
async function cancelWaiting(queue: Pick<TaskQueue, 'cancel'>, task: Task): Promise<void> {
  if (!(await queue.cancel(task))) throw new AppError('task_not_waiting', { params: { status: task.status } });
}

const REMIX_FIELDS: ReadonlySet<string> = new Set(Object.keys(endpoints.remixVideo.body.properties));

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
    const unused = Object.entries(body).filter(([name, value]) => value !== null && !REMIX_FIELDS.has(name));
    request.setResponseHeaders(toDroppedHeader(unused.map(([name]) => name)));
    return show.submitted(await submitForToken(submitter, caller, generation, request, original), caller, request);
  });
}

/** OpenAI's edits and extensions, which name the video in a field of their own. */
function addChangeRoutes(
  routes: RouteRegistry,
  dependencies: VideoRouteDependencies,
  show: Pick<VideoPresenter, 'submitted'>,
): void {
  const { submitter, requests, channels } = dependencies;
  for (const [change, operation] of [
    [endpoints.editVideo, 'edit'],
    [endpoints.extendVideo, 'extend'],
  ] as const)
    routes.add(change, async ({ body, caller, request, reply }) => {
      const generation = await requests.readChange(operation, body, caller, request);
      await announceEnd(channels, generation.model, reply);
      return show.submitted(await submitForToken(submitter, caller, generation, request), caller, request);
    });
}

/** A remix has the length and size of its original. Both are part of its stored body, for a remix of the remix. */
function toRemixRequest(original: Task, prompt: string): GenerationRequest {
  const { duration, seconds: text, size } = JSON.parse(original.request) as GenerationRequestBody;
  const given = duration ?? text;
  const seconds = given === undefined ? undefined : Number(given);
  // JSON omits undefined members.
  return {
    model: original.model,
    prompt,
    seconds,
    size,
    metadata: {},
    body: { prompt, duration: seconds, size },
  };
}

interface ConsoleVideoRouteDependencies {
  readonly durations: DurationStatistics;
  readonly channels: Pick<ChannelDirectory, 'listModels' | 'retirement'>;
  readonly store: TaskStore;
  readonly submitter: SubmitService;
  readonly quotes: PriceQuoteService;
  readonly videoDeletion: VideoDeletion;
  readonly queue: Pick<TaskQueue, 'cancel'>;
}

/** Registers the submit endpoints of the console, which act on the account itself, without a token and its limits. */
export function addConsoleVideoRoutes(
  routes: RouteRegistry,
  { store, submitter, quotes, videoDeletion, queue, durations, channels }: ConsoleVideoRouteDependencies,
): void {
  const parse = (body: unknown, request: RequestImages) =>
    parseGenerationRequest(body as GenerationRequestBody, request, undefined);

  routes.add(ownVideoEndpoints.submitOwnVideo, async ({ body, caller, request, reply }) => {
    const generation = parse(body, request);
    await announceEnd(channels, generation.model, reply);
    const { task } = await submitForAccount(submitter, ownerOf(caller), generation, request);
    return ok({ task_id: task.public_id });
  });

  routes.add(ownVideoEndpoints.quoteVideo, async ({ body, caller, request }) =>
    ok(await quotes.quote({ ...ownerOf(caller), models: [] }, parse(body, request))),
  );

  routes.add(ownVideoEndpoints.listGenerationTimes, async () => {
    const models = (await channels.listModels()).filter(({ kind }) => kind === 'video').map(({ id }) => id);
    return ok([...(await durations.read(models))]);
  });

  routes.add(ownVideoEndpoints.cancelOwnVideo, async ({ params, caller }) => {
    const task = await store.findForUser(params.task_id, caller.userId);
    if (task === undefined) throw notExistError('task');
    assertMayEnd(task, caller);
    await cancelWaiting(queue, task);
    return done();
  });

  routes.add(ownVideoEndpoints.deleteOwnVideo, async ({ params, caller }) => {
    const task = await store.findForUser(params.task_id, caller.userId);
    if (task === undefined) throw notExistError('task');
    assertMayEnd(task, caller);
    await videoDeletion.delete(task);
    return done();
  });
}

interface OwnerRouteDependencies {
  readonly store: TaskStore;
  readonly reader: RefreshingTaskReader;
  readonly playLinks: PlayLinks;
  readonly artifacts: Pick<Artifacts, 'findExpiry' | 'findWithPoster' | 'storedFiles'>;
  readonly queue: TaskQueue;
  readonly credentialWatch: CredentialRevocationWatch;
  readonly findAuthors: FindAuthors;
  readonly vendors: VendorRegistry;
  readonly clock: Clock;
}

/** Registers the endpoints for an account's own videos, whichever token submitted them. */
export function addOwnerVideoRoutes(
  routes: RouteRegistry,
  { store, reader, playLinks, artifacts, queue, credentialWatch, findAuthors, vendors, clock }: OwnerRouteDependencies,
): void {
  const linkTo = (task: Task, caller: AccountCaller): string =>
    task.status === 'SUCCESS' ? playLinks.create(task.public_id, credentialWatch.referenceOf(caller), clock.now()) : '';
  /** Links to the posters of those tasks that have one. */
  const findPosters = async (tasks: readonly Task[], caller: AccountCaller) => {
    const finished = tasks.filter(({ status }) => status === 'SUCCESS');
    const stored = await artifacts.findWithPoster(finished.map(({ id }) => id));
    return (task: Task): string =>
      stored.has(task.id) || (task.status === 'SUCCESS' && vendors.get(task.vendor).hasCover === true)
        ? `${linkTo(task, caller)}&variant=thumbnail`
        : '';
  };

  /** Members who submitted videos of an organization. */
  const findSubmitters = async (tasks: readonly Task[]) => {
    const authorOf = await findAuthors(tasks.filter(({ actor_id: id }) => id !== null));
    return (task: Task) => defined({ submitted_by: task.actor_id === null ? undefined : authorOf(task).submitted_by });
  };

  routes.add(endpoints.listOwnVideos, async ({ query, caller }) => {
    const filter = {
      ...toTaskFilter(query),
      ...defined({ searchedActorId: searchedActorOf(caller) }),
      userId: caller.userId,
    };
    const { rows: tasks, ...page } = await store.page(filter, toLongPage(query));
    const rows = await queue.withPositions(tasks);
    const [posterOf, submitterOf, sourceOf] = await Promise.all([
      findPosters(rows, caller),
      findSubmitters(rows),
      findSources(store, rows, caller),
    ]);
    return longList(
      rows.map((task) => ({
        ...toVideoRow(hidePrompt(task, caller), posterOf(task)),
        ...submitterOf(task),
        play_url: linkTo(task, caller),
        source: sourceOf(task),
      })),
      page,
    );
  });

  routes.add(endpoints.getOwnVideo, async ({ params, caller }) => {
    const found = await store.findForUser(params.task_id, caller.userId);
    if (found === undefined) throw notExistError('task');
    const task = await reader.withCurrentState(found);
    const shown = hidePrompt(task, caller);
    const [expiry, provenance, posterOf, sourceOf, children, submitterOf] = await Promise.all([
      artifacts.findExpiry(task.id),
      artifacts.storedFiles.findProvenance(task.id),
      findPosters([task], caller),
      findSources(store, [task], caller),
      task.status === 'SUCCESS' ? store.findChildren(task) : [],
      findSubmitters([task]),
    ]);
    return ok({
      ...toVideoRow(shown, posterOf(task)),
      ...submitterOf(task),
      start_time: toSeconds(task.start_time),
      refunded: task.status === 'FAILURE' && !isImportedEndedTask(task),
      play_url: linkTo(task, caller),
      stored: expiry !== undefined,
      stored_until: toSeconds(expiry ?? 0),
      provenance: provenance ?? null,
      source: sourceOf(task),
      children: children.map((child) => toRelative(hidePrompt(child, caller), child)),
      request: JSON.parse(shown.request),
    });
  });
}

/** Members of an organization cancel and delete their own videos, owners and admins every video. @throws forbidden */
function assertMayEnd({ actor_id }: Pick<Task, 'actor_id'>, caller: AccountCaller): void {
  const author = limitedAuthorOf(caller);
  if (author !== undefined && actor_id !== author) throw new AppError('forbidden');
}

/** Whether a caller may see the prompt of a video: members of an organization see their own. */
const seesPromptOf = ({ member }: AccountCaller, { actor_id }: Pick<Task, 'actor_id'>): boolean =>
  member === undefined || member.seesPrompts || actor_id === member.userId;

/** Removes from a video what reveals its prompt, unless the caller may see it. */
const hidePrompt = <T extends Task>(task: T, caller: AccountCaller): T =>
  seesPromptOf(caller, task) ? task : { ...task, prompt: '', request: '{}', fail_reason: '' };

/** The only member whose prompts a search covers; undefined: all members. */
const searchedActorOf = ({ member }: AccountCaller): number | undefined =>
  member === undefined || member.seesPrompts ? undefined : member.userId;

/** The videos of the account from which videos were made. */
async function findSources(store: Pick<TaskStore, 'findMany'>, tasks: readonly Task[], caller: AccountCaller) {
  const found = await store.findMany(tasks.flatMap(({ remixed_from: id }) => id ?? []));
  const shown = found.filter(({ user_id, deleted }) => user_id === caller.userId && deleted === 0);
  const byId = new Map(shown.map((task) => [task.id, hidePrompt(task, caller)]));
  return (task: Task) => {
    const source = byId.get(task.remixed_from ?? '');
    return source === undefined ? null : toRelative(source, task);
  };
}

/** @param made the video that was derived from the other one */
const toRelative = ({ public_id, prompt, status }: Task, { action }: Task) => ({
  task_id: public_id,
  operation: (action === 'edit' || action === 'extend' ? action : 'remix') as 'edit' | 'extend' | 'remix',
  prompt,
  status,
});

/**
 * The filters of a list; empty ones are ignored.
 * @throws AppError `invalid_request`
 */
function toTaskFilter(query: {
  readonly status?: string;
  readonly model?: string;
  readonly from?: string;
  readonly to?: string;
  readonly q?: string;
  readonly favourite?: string;
  readonly collection?: string;
}): TaskFilter {
  const searchTerms = toSearchTerms(query.q ?? '');
  return {
    status: toStatus(query.status),
    model: query.model || undefined,
    from: toMilliseconds(query.from, 'from'),
    to: toMilliseconds(query.to, 'to'),
    searchTerms: searchTerms.length === 0 ? undefined : searchTerms,
    favourite: query.favourite === 'true',
    collectionId: query.collection ? Number(query.collection) : undefined,
  };
}

function toStatus(text: string | undefined): TaskStatus | undefined {
  if (text === undefined || text === '') return undefined;
  const status = text.toUpperCase();
  if (!Object.hasOwn(TASK_STATUS, status))
    throw invalidRequest(`status must be one of ${Object.keys(TASK_STATUS).join(', ')}.`, 'status');
  return status as TaskStatus;
}

function toMilliseconds(unixSeconds: string | undefined, name: string): number | undefined {
  if (unixSeconds === undefined || unixSeconds === '') return undefined;
  if (!/^\d{1,12}$/.test(unixSeconds)) throw invalidRequest(`${name} must be a time in Unix seconds.`, name);
  return Number(unixSeconds) * 1000;
}

interface FavouriteRouteDependencies {
  readonly store: TaskStore;
  readonly favourites: FavouriteStore;
}

/** Registers the endpoints for an account's favourites among its own videos. */
export function addFavouriteRoutes(routes: RouteRegistry, { store, favourites }: FavouriteRouteDependencies): void {
  const own = async (taskId: string, userId: number): Promise<Task> => {
    const task = await store.findForUser(taskId, userId);
    if (task === undefined) throw notExistError('task');
    return task;
  };
  routes.add(ownVideoEndpoints.listFavourites, async ({ caller }) => ok(await favourites.listPublicIds(caller.userId)));
  routes.add(ownVideoEndpoints.addFavourite, async ({ params, caller }) => {
    await favourites.add(await own(params.task_id, caller.userId));
    return done();
  });
  routes.add(ownVideoEndpoints.removeFavourite, async ({ params, caller }) => {
    await favourites.remove(await own(params.task_id, caller.userId));
    return done();
  });
}
