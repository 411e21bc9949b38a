import { LRUCache } from 'lru-cache';
import { upToEntries } from '../../platform/cache.ts';
import type { Clock } from '../../platform/clock.ts';
import { SingleFlight } from '../../platform/concurrency.ts';
import type { Log } from '../../platform/log.ts';
import { OutboundError } from '../../platform/outbound/outbound.ts';
import { PollFailed } from '../../upstreams/vendor-errors.ts';
import type { Task, TaskStore } from '../task-store.ts';
import { truncateBase64 } from '../truncate-base64.ts';
import type { VideoUpstream, VideoUpstreams } from '../video-upstream-types.ts';

export interface UrlRefresherDependencies {
  readonly store: TaskStore;
  readonly upstreams: VideoUpstreams;
  readonly clock: Clock;
  readonly log: Log;
  /** Aborted when the service stops. */
  readonly stopping: AbortSignal;
}

/** `gone`: the vendor no longer has the video. `failed`: the vendor could not be polled. */
export type UrlRefreshResult = Task | 'gone' | 'failed';

/** A reader of the task waits no longer than this for a fresh URL. */
const READER_WAIT_MS = 3_000;
const MAX_TASKS_REMEMBERED = 10_000;

/**
 * Signed URLs of finished videos expire while the vendor still has the video: the vendor is polled again and the fresh URL
 * stored, so that neither the task nor the next download has the expired one. State and quota never change here.
 */
export class UrlRefresher {
  readonly #dependencies: UrlRefresherDependencies;
  readonly #refreshes = new SingleFlight<UrlRefreshResult>();
  /** When the vendor of a task was last polled for a URL, Unix milliseconds by task id. */
  readonly #refreshedAt = new LRUCache<string, number>(upToEntries(MAX_TASKS_REMEMBERED));

  constructor(dependencies: UrlRefresherDependencies) {
    this.#dependencies = dependencies;
  }

  /** Polls the vendor now; concurrent calls for one task share the poll. */
  refresh(task: Task): Promise<UrlRefreshResult> {
    return this.#refreshes.run(task.id, () => this.#refresh(task));
  }

  /** The task, with a fresh URL where the vendor's URLs are known to have expired by now. */
  async withFreshUrl(task: Task): Promise<Task> {
    const { upstreams, clock } = this.#dependencies;
    const lifetime = upstreams.adapterOf(task).artifactUrlLifetimeMs;
    if (lifetime === undefined || task.status !== 'SUCCESS') return task;
    const now = clock.now();
    if (now - Math.max(task.finish_time, this.#refreshedAt.get(task.id) ?? 0) < lifetime) return task;
    this.#refreshedAt.set(task.id, now);
    const timeout = new Promise<'failed'>((resolve) => setTimeout(resolve, READER_WAIT_MS, 'failed').unref());
    const refreshed = await Promise.race([this.refresh(task), timeout]);
    return typeof refreshed === 'string' ? task : refreshed;
  }

  async #refresh(task: Task): Promise<UrlRefreshResult> {
    const { upstreams, log } = this.#dependencies;
    const upstream = await upstreams.find(task);
    if (upstream === undefined || task.handle === null) return 'gone';
    try {
      return await this.#query(task, upstream, task.handle);
    } catch (error) {
      if (!(error instanceof PollFailed) && !(error instanceof OutboundError)) throw error;
      log.warn({ err: error, taskId: task.id }, 'the URL of a video could not be refreshed');
      return 'failed';
    }
  }

  async #query(task: Task, upstream: VideoUpstream, storedHandle: string): Promise<UrlRefreshResult> {
    const { store, clock, stopping } = this.#dependencies;
    const outcome = await upstream.call(stopping, (adapter, handle, context) => adapter.query(handle, context));
    if (outcome.state !== 'SUCCESS' || outcome.artifact === undefined)
      return outcome.state === 'FAILURE' ? 'gone' : 'failed';
    const fresh = {
      artifact: JSON.stringify(outcome.artifact),
      data: JSON.stringify(truncateBase64(outcome.raw)),
      handle: outcome.handle === undefined ? storedHandle : JSON.stringify(outcome.handle),
    };
    this.#refreshedAt.set(task.id, clock.now());
    if (fresh.artifact !== task.artifact || fresh.handle !== storedHandle) await store.updateArtifact(task.id, fresh);
    return { ...task, ...fresh };
  }
}
