import { LRUCache } from 'lru-cache';
import { isObject } from '../../../contract/is-object.ts';
import { isTerminal } from '../../../contract/task-states.ts';
import { AppError } from '../../platform/app-error.ts';
import { upToEntries } from '../../platform/cache.ts';
import type { Clock } from '../../platform/clock.ts';
import type { ModelCaller } from '../../platform/http/request-context.ts';
import type { UrlRefresher } from '../deliver/url-refresher.ts';
import type { Task, TaskStore } from '../task-store.ts';
import type { VideoUpstreams } from '../video-upstream-types.ts';
import type { TaskPoller } from './task-poller.ts';

/** Tasks of vendors with `refreshOnQuery` are polled when their owner reads them, but no more often than this. */
const MIN_REFRESH_INTERVAL_MS = 1_000;
/** And by the scheduler when nobody has read them for this long. */
export const UNREAD_POLL_INTERVAL_MS = 60_000;
const MAX_REFRESHES_REMEMBERED = 10_000;

export interface TaskReaderDependencies {
  readonly store: TaskStore;
  readonly poller: TaskPoller;
  readonly urlRefresher: UrlRefresher;
  readonly upstreams: VideoUpstreams;
  readonly clock: Clock;
  /** Aborted when the service stops. */
  readonly stopping: AbortSignal;
}

/** Reads tasks for their owners; a task of another token does not exist for the caller. */
export class RefreshingTaskReader {
  readonly #dependencies: TaskReaderDependencies;
  readonly #refreshes = new LRUCache<string, { readonly startedAt: number; readonly done: Promise<void> }>(
    upToEntries(MAX_REFRESHES_REMEMBERED),
  );

  constructor(dependencies: TaskReaderDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * The task in its latest state.
   * @throws AppError `task_not_exist`
   */
  readForToken(caller: Pick<ModelCaller, 'tokenId'>, publicId: string): Promise<Task> {
    return this.#read(caller, publicId, new AppError('task_not_exist'));
  }

  /** The same for the contract's queries, where a missing task has its code as the message, whatever the language. */
  readForQuery(caller: Pick<ModelCaller, 'tokenId'>, publicId: string): Promise<Task> {
    return this.#read(caller, publicId, new AppError('task_not_exist', { message: 'task_not_exist' }));
  }

  async #read({ tokenId }: Pick<ModelCaller, 'tokenId'>, publicId: string, missing: AppError): Promise<Task> {
    const task = await this.#dependencies.store.findForToken(publicId, tokenId);
    if (task === undefined) throw missing;
    return this.withCurrentState(task);
  }

  /** The task after whatever a read of it triggers: a poll for some vendors, a fresh URL for a finished video whose URL expired. */
  async withCurrentState(task: Task): Promise<Task> {
    const { urlRefresher, upstreams, store } = this.#dependencies;
    if (isTerminal(task.status)) return urlRefresher.withFreshUrl(task);
    const { refreshOnQuery = false, passthrough = false } = upstreams.adapterOf(task);
    if (task.handle === null || !(refreshOnQuery || (passthrough && endedAtSubmit(task)))) return task;
    await this.#refresh(task, refreshOnQuery);
    return (await store.findById(task.id)) ?? task;
  }

  /** Polls once per task and interval; concurrent readers share the poll. */
  #refresh(task: Task, isPolledByReads: boolean): Promise<void> {
    const { clock, poller, store, stopping } = this.#dependencies;
    const now = clock.now();
    const last = this.#refreshes.get(task.id);
    if (last !== undefined && now - last.startedAt < MIN_REFRESH_INTERVAL_MS) return last.done;
    const done = poller
      .poll(task, stopping)
      .then(() => (isPolledByReads ? store.defer(task.seq, now + UNREAD_POLL_INTERVAL_MS) : undefined));
    this.#refreshes.set(task.id, { startedAt: now, done });
    return done;
  }
}

/** Whether a vendor answered the submit with a finished video: its content is there before the scheduler has polled once. */
function endedAtSubmit({ status, data }: Task): boolean {
  if (status !== 'SUBMITTED') return false;
  const answer: unknown = JSON.parse(data);
  return isObject(answer) && /^(completed?|succe(ss|eded|ed)|finished|done)$/i.test(String(answer.status));
}
