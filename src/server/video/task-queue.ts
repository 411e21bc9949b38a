import { setTimeout as sleep } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import { ERRORS, type ErrorCode } from '../../contract/error-codes.ts';
import { defined } from '../../contract/objects.ts';
import { HOUR_MS } from '../../contract/time-units.ts';
import type { Channel, ChannelDirectory, ResolvedModel } from '../channels/directory.ts';
import type { FindPlanTerms } from '../plans/plan-store.ts';
import { AppError, isAppError } from '../platform/app-error.ts';
import { upToEntries } from '../platform/cache.ts';
import type { Clock } from '../platform/clock.ts';
import { workOnEach } from '../platform/concurrency.ts';
import type { Database } from '../platform/db/database.ts';
import type { Log } from '../platform/log.ts';
import type { Tables, Trx } from '../tables.ts';
import type { VideoRequest } from '../vendors/adapter.ts';
import type { VendorRegistry } from '../vendors/registry.ts';
import {
  type AttemptRunner,
  type ChannelTaskLimitStore,
  DEFAULT_QUEUED_TASKS,
  servingChannels,
  type TaskLimitStore,
  type TaskLimits,
} from './attempts.ts';
import type { InputResolver } from './input-resolver.ts';
import {
  fromHeldRequest,
  type HeldRequest,
  type Lane,
  type LaneGroup,
  type NewQueuedTask,
  type OpenTasks,
  type QueuedTask,
  TaskQueueStore,
} from './queue-store.ts';
import { NO_TOKEN } from './tables.ts';
import type { TaskCompletion } from './task-completion.ts';
import {
  type Failure,
  isWaiting,
  type QueuePosition,
  type ShownTask,
  type Task,
  type TaskStore,
} from './task-store.ts';

interface TaskQueueDependencies {
  readonly database: Database<Tables>;
  readonly store: TaskStore;
  readonly channels: Pick<ChannelDirectory, 'model' | 'candidates' | 'prospects' | 'byId'>;
  readonly vendors: VendorRegistry;
  readonly slots: ChannelTaskLimitStore;
  readonly limits: TaskLimitStore;
  readonly inputs: Pick<InputResolver, 'renew'>;
  readonly attempts: Pick<AttemptRunner, 'run'>;
  readonly completion: TaskCompletion;
  readonly findPlanTerms: FindPlanTerms;
  readonly clock: Clock;
  readonly log: Log;
  readonly syncPeriodMs: number;
}

/** Period of the sweep over all lanes; ends of videos in this process are noticed immediately. */
const SWEEP_MS = 1_000;
/** Waiting videos that this process submits at a time. */
const MAX_SUBMITS = 32;
/** Minimum delay before a video is retried after its vendor had no capacity. */
const RETRY_MS = 15_000;
/** Delay before a video is tried again whose files cannot be read, as while their disk is not mounted. */
const INPUT_RETRY_MS = 60_000;
/** Delay before a video is tried again that no channel serves, or whose account is disabled. */
const HELD_RETRY_MS = 10_000;
/** Maximum wait; after it a video fails and is refunded. */
const MAX_WAIT_MS = 7 * 24 * 3_600_000;
const MAX_EXPIRED_AT_ONCE = 1_000;
/** Maximum total size of the requests of an account's waiting videos. */
const MAX_BYTES = 1024 ** 3;
const FULL_RETRY_SECONDS = 30;
/** Maximum age of a forecast that is shown. */
const FORECAST_MS = 2_000;
const MAX_FORECASTS = 200;

const MODEL_REMOVED: Failure = {
  cause: 'model_unavailable',
  message: 'the model was removed',
  code: 'model_not_found',
};
const ACCOUNT_DELETED: Failure = { cause: 'cancelled', message: 'its account was deleted', code: 'cancelled' };
const KEY_REVOKED: Failure = { cause: 'cancelled', message: 'its API key was revoked', code: 'cancelled' };

/** A waiting video with the data for its start. */
interface Startable {
  readonly task: Task;
  readonly model: ResolvedModel;
  readonly candidates: readonly Channel[];
  /** The value of `queued_tasks.channels` from now on. */
  readonly group: string;
  readonly remixOf: Task | undefined;
  readonly limits: TaskLimits;
}

/** Order and forecasts of a group, cached for a moment. */
interface LaneForecast {
  readonly at: number;
  readonly positions: ReadonlyMap<string, number>;
  readonly starts: readonly StartForecast[];
}

/**
 * Holds videos whose key, account or channels are full, and starts each when there is room: by turn, plan level and
 * time (see {@link TaskQueueStore.insert}). A start is one transaction, on one process at a time, that takes the video
 * out of its lane, gives it a channel and counts it; only then is it sent, as a submit that did not wait.
 */
export class TaskQueue {
  readonly #dependencies: TaskQueueDependencies;
  readonly #queued: TaskQueueStore;
  readonly #submits = new Set<Promise<void>>();
  readonly #forecasts = new LRUCache<string, LaneForecast>(upToEntries(MAX_FORECASTS));
  readonly #stopping = new AbortController();
  /** Lanes in which a slot may have become free. */
  readonly #woken = new Set<Lane>();
  /** Whether a video may wait; false until one was found. */
  #isUsed = false;
  #sweeps: Promise<void> | undefined;
  #pump: Promise<void> | undefined;

  constructor(dependencies: TaskQueueDependencies) {
    this.#dependencies = dependencies;
    this.#queued = new TaskQueueStore(dependencies.database);
    dependencies.completion.onEnded((task) => this.wake(task));
  }

  /** Starts waiting videos until `stop`. */
  start(): void {
    this.#sweeps = this.#sweepUntilStopped();
  }

  /** Waits for the submits in progress. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#sweeps;
    await this.#pump;
    await Promise.all(this.#submits);
  }

  /** The lane in which a new video has to wait behind others, if any. */
  findWaiting(task: Pick<Task, 'vendor' | 'user_id' | 'token_id'>): Promise<Lane | undefined> {
    return this.#queued.findWaiting(lanesOf(task));
  }

  /**
   * Adds a video in the transaction that stores its task.
   * @throws AppError `queue_full`
   */
  async hold(trx: Trx, task: NewQueuedTask, request: HeldRequest, { account, key }: TaskLimits): Promise<void> {
    const { user_id: userId, token_id: tokenId } = task;
    const limit = account.queued ?? DEFAULT_QUEUED_TASKS;
    await this.#queued.lockAccount(trx, userId);
    const use = await this.#queued.waitingOf(trx, userId);
    if (use.count >= limit) throw queueFull(limit);
    if (use.bytes > MAX_BYTES) throw queueFull(use.count);
    if (key.queued !== undefined && tokenId !== NO_TOKEN) {
      const { count } = await this.#queued.waitingOf(trx, userId, tokenId);
      if (count >= key.queued) throw queueFull(key.queued);
    }
    await this.#queued.insert(trx, task, request);
    this.#isUsed = true;
  }

  /** Rechecks the lanes that the end or the submit of a video may have unblocked. */
  wake(task: Pick<Task, 'vendor' | 'user_id' | 'token_id'>): void {
    if (!this.#isUsed || this.#stopping.signal.aborted) return;
    for (const lane of lanesOf(task)) this.#woken.add(lane);
    this.#pump ??= this.#startWoken().finally(() => {
      this.#pump = undefined;
    });
  }

  /**
   * Ends a waiting video with a full refund.
   * @returns false if it no longer waits
   */
  async cancel(task: Task): Promise<boolean> {
    const failure = { cause: 'cancelled', message: 'cancelled before it started', code: 'cancelled' } as const;
    if (!isWaiting(task) || !(await this.#dependencies.completion.failWaiting(task, failure))) return false;
    await this.#queued.removeEnded(task.id);
    return true;
  }

  /**
   * Lets a video wait again, as the first of its lane, whose process died before its vendor received it.
   * @returns false if it did not wait before, or has moved on
   */
  async retryLost(task: Task): Promise<boolean> {
    const { database, clock } = this.#dependencies;
    const { id, channel_id: channelId, user_id, token_id, vendor, model, created_at } = task;
    const stored = channelId === null ? undefined : await this.#queued.readRequest(id);
    if (channelId === null || stored === undefined) return false;
    // A change that carries its source's bytes may be served by another vendor than the source.
    const isHolder = task.action === 'remix' || fromHeldRequest(stored).sourceHandle !== undefined;
    const channels = channelsKey([{ id: channelId }], isHolder);
    const queued = {
      task_id: id,
      user_id,
      token_id,
      vendor,
      model,
      lane: laneOf('vendor', task),
      channels,
      created_at,
    };
    const isWaitingAgain = await database.transaction(async (trx) => {
      if (!(await this.#queued.hasRequest(trx, id))) return false;
      if (!(await this.#queued.stop(trx, id, task.attempt, clock.now()))) return false;
      await this.#queued.putFirst(trx, queued);
      return true;
    });
    if (isWaitingAgain) {
      this.#isUsed = true;
      this.wake(task);
    }
    return isWaitingAgain;
  }

  /** Positions and forecasts of the tasks that wait, by id. */
  async positionsOf(
    tasks: readonly Pick<Task, 'id' | 'status' | 'next_poll_at'>[],
  ): Promise<ReadonlyMap<string, QueuePosition>> {
    const ids = tasks.filter(isWaiting).map(({ id }) => id);
    const found = new Map<string, QueuePosition>();
    if (ids.length === 0) return found;
    for (const queued of await this.#queued.findAll(ids)) {
      const { positions, starts } = await this.#forecast(queued);
      const index = positions.get(queued.task_id) ?? positions.size;
      const { p50, p90 } = starts[index] ?? starts.at(-1) ?? { p50: 0, p90: 0 };
      found.set(queued.task_id, {
        position: index + 1,
        starts_in_seconds: { p50: Math.ceil(p50 / 1_000), p90: Math.ceil(p90 / 1_000) },
      });
    }
    return found;
  }

  /** Tasks with the positions of those that wait. */
  async withPositions(tasks: readonly Task[]): Promise<readonly ShownTask[]> {
    const positions = await this.positionsOf(tasks);
    return tasks.map((task) => defined({ ...task, queue: positions.get(task.id) }));
  }

  /** The position of one task; undefined if it does not wait. */
  async positionOf(task: Pick<Task, 'id' | 'status' | 'next_poll_at'>): Promise<QueuePosition | undefined> {
    return (await this.positionsOf([task])).get(task.id);
  }

  /** Fails videos that have waited too long and removes leftovers of killed processes. Called every minute. */
  async maintain(): Promise<void> {
    const { completion, store, clock } = this.#dependencies;
    const end = async (id: string, message: string): Promise<void> => {
      const task = await store.findById(id);
      if (task !== undefined) await completion.failWaiting(task, { cause: 'timeout', message, code: 'timeout' });
      await this.#queued.removeEnded(id);
    };
    const now = clock.now();
    const expired = await this.#queued.waitingSince(now - MAX_WAIT_MS, MAX_EXPIRED_AT_ONCE);
    const lost = await this.#queued.withoutPlace(now - HOUR_MS, MAX_EXPIRED_AT_ONCE);
    await workOnEach(
      [
        ...expired.map((id) => () => end(id, 'it waited for a week')),
        ...lost.map((id) => () => end(id, 'it lost its place in the queue')),
        () => this.#queued.deleteLeftovers(),
      ],
      (step) => step(),
    );
  }

  /** Waiting videos by vendor, and since when the oldest waits, for the metrics. */
  figures(): ReturnType<TaskQueueStore['countByVendor']> {
    return this.#queued.countByVendor();
  }

  /** Waiting videos by model and limit, the longest wait first. Times are Unix milliseconds. */
  async waiting() {
    return (await this.#queued.countByModel()).map(({ channels, ...row }) => ({ ...row, channelIds: idsOf(channels) }));
  }

  async #sweepUntilStopped(): Promise<void> {
    const { signal } = this.#stopping;
    const { clock, log } = this.#dependencies;
    while (!signal.aborted) {
      await sleep(SWEEP_MS, undefined, { signal, ref: false }).catch(() => {});
      if (signal.aborted) return;
      try {
        this.#isUsed = !(await this.#queued.isEmpty());
        if (this.#isUsed && (await this.#queued.claimSweep(clock.now(), SWEEP_MS))) await this.#drain();
      } catch (error) {
        log.warn({ err: error }, 'waiting videos could not be started');
      }
    }
  }

  async #startWoken(): Promise<void> {
    while (this.#woken.size > 0) {
      const lanes = [...this.#woken];
      this.#woken.clear();
      try {
        await this.#drain(lanes);
      } catch (error) {
        // The next sweep tries again.
        this.#dependencies.log.warn({ err: error }, 'waiting videos could not be started');
      }
    }
  }

  /** Starts the videos of these lanes, or of all, until no slot is free. */
  async #drain(lanes?: readonly Lane[]): Promise<void> {
    const groups = Map.groupBy(await this.#queued.groups(lanes), ({ lane }) => lane);
    for (const ofLane of groups.values()) await this.#drainLane(ofLane);
  }

  /** Groups of a lane may share channels, so the first video of all groups is started first. */
  async #drainLane(groups: readonly LaneGroup[]): Promise<void> {
    let open = groups;
    while (open.length > 0 && !this.#stopping.signal.aborted) {
      if (this.#submits.size >= MAX_SUBMITS) await Promise.race(this.#submits);
      const now = this.#dependencies.clock.now();
      const heads = await Promise.all(open.map((group) => this.#queued.head(group, now)));
      const [first] = heads.filter((head) => head !== undefined).toSorted(compareTurns);
      if (first === undefined) return;
      if ((await this.#startNext(first)) === 'blocked')
        open = open.filter(({ channels }) => channels !== first.channels);
    }
  }

  /** Starts the video, moves it to the lane of the limit that blocks it, or leaves it. */
  async #startNext(head: QueuedTask): Promise<'started' | 'moved' | 'blocked'> {
    const startable = await this.#prepare(head).catch((error: unknown) => {
      // Set aside, so that no other video waits behind it; without a database that fails as well.
      this.#dependencies.log.error({ err: error, taskId: head.task_id }, 'a waiting video cannot be started for now');
      return undefined;
    });
    if (startable === 'ended') return 'moved';
    const { database, clock } = this.#dependencies;
    if (startable === undefined) {
      await database.transaction(async (trx) => {
        await this.#queued.lockStarts(trx);
        await this.#queued.setAside(trx, head, clock.now() + HELD_RETRY_MS);
      });
      return 'moved';
    }
    const outcome = await database.transaction(async (trx) => {
      await this.#queued.lockStarts(trx);
      const current = await this.#queued.head(head, clock.now(), trx);
      if (current?.id !== head.id) return 'moved';
      return this.#startInTransaction(trx, head, startable);
    });
    if (typeof outcome === 'string') return outcome;
    this.#submit(head, startable, outcome.channel);
    return 'started';
  }

  async #startInTransaction(
    trx: Trx,
    head: QueuedTask,
    { candidates, group, limits }: Startable,
  ): Promise<'moved' | 'blocked' | { readonly channel: Channel }> {
    const { slots, limits: counts, clock, syncPeriodMs } = this.#dependencies;
    const channel = await firstWithRoom(trx, slots, candidates);
    const caller = { userId: head.user_id, tokenId: head.token_id };
    const exceeded = channel === undefined ? 'vendor' : await counts.findExceeded(trx, caller, limits);
    if (channel === undefined || exceeded !== undefined) {
      const lane = laneOf(exceeded ?? 'vendor', head);
      if (lane === head.lane && group === head.channels) return 'blocked';
      await this.#queued.move(trx, head, lane, group);
      return 'moved';
    }
    const now = clock.now();
    if (!(await this.#queued.take(trx, head))) return 'moved';
    const isStarted = await this.#queued.start(trx, head.task_id, channel, { now, nextPollAt: now + syncPeriodMs });
    return isStarted ? { channel } : 'moved';
  }

  /**
   * @returns `ended` if the task is gone, or its account, key or model is; undefined if its account is disabled or no
   *   channel can serve it now
   */
  async #prepare(head: QueuedTask): Promise<Startable | 'ended' | undefined> {
    const { store, channels, vendors, findPlanTerms, limits } = this.#dependencies;
    const task = await store.findById(head.task_id);
    if (task === undefined || !isWaiting(task)) {
      await this.#queued.removeEnded(head.task_id);
      return 'ended';
    }
    const caller = await this.#queued.callerState(task);
    if (caller === 'deleted') return this.#end(task, ACCOUNT_DELETED);
    if (caller === 'revoked') return this.#end(task, KEY_REVOKED);
    const model = await servedModel(channels, task.model);
    if (model === undefined || model.vendor !== task.vendor) return this.#end(task, MODEL_REMOVED);
    if (caller === 'disabled') return undefined;
    const plan = await findPlanTerms(task.user_id, model);
    const original = task.remixed_from === null ? undefined : await store.findById(task.remixed_from);
    const holder = head.channels.startsWith('=') ? original : undefined;
    const serving = await servingChannels(channels, model, plan?.channels, holder);
    const known = new Set(idsOf(head.channels));
    // Where some channels cannot send the request, only those can that were found at the submit.
    const isChosen = vendors.get(task.vendor).assertSendable !== undefined;
    const candidates = isChosen ? serving.filter(({ id }) => known.has(id)) : serving;
    if (candidates.length === 0) return undefined;
    const remixOf = task.action === 'remix' ? original : undefined;
    const group = groupOf(head, candidates);
    const keyLimits = await limits.keyLimits(task.token_id);
    const own = await limits.limitsOf({ userId: task.user_id, limits: keyLimits }, plan);
    return { task, model, candidates, group, remixOf, limits: own };
  }

  /** Fails a waiting video that can never start. */
  async #end(task: Task, failure: Failure): Promise<'ended'> {
    await this.#dependencies.completion.failWaiting(task, failure);
    await this.#queued.removeEnded(task.id);
    return 'ended';
  }

  /** Sends a video that has just been started. */
  #submit(head: QueuedTask, startable: Startable, channel: Channel): void {
    const { log } = this.#dependencies;
    const submit = this.#send(head, startable, channel)
      .catch((error: unknown) => {
        // An AppError is a response to a caller. No caller waits for this submit, and its task has already ended.
        if (!isAppError(error)) log.error({ err: error, taskId: head.task_id }, 'a waiting video could not be sent');
      })
      .finally(() => {
        this.#submits.delete(submit);
        this.wake(startable.task);
      });
    this.#submits.add(submit);
  }

  async #send(head: QueuedTask, { task, model, candidates, remixOf }: Startable, channel: Channel): Promise<void> {
    const { vendors, attempts, inputs, store, log } = this.#dependencies;
    const adapter = vendors.get(task.vendor);
    const stored = await this.#queued.readRequest(task.id);
    const started = await store.findById(task.id);
    if (stored === undefined || started === undefined) throw new Error('the request of a waiting video is gone');
    const owner = { userId: task.user_id, tokenId: task.token_id === NO_TOKEN ? undefined : task.token_id };
    const putBack = (attempt: number, retryAfterMs = 0): Promise<boolean> => this.#putBack(head, attempt, retryAfterMs);
    let request: VideoRequest;
    try {
      request = await inputs.renew(fromHeldRequest(stored), owner, adapter);
    } catch (error) {
      if (isAppError(error) && !isTemporary(error)) return this.#failStarted(started, error);
      log.warn({ err: error, taskId: task.id }, 'the files of a waiting video cannot be read for now');
      // Nothing was sent.
      await putBack(started.attempt, INPUT_RETRY_MS);
      return;
    }
    try {
      const others = candidates.slice(candidates.indexOf(channel));
      const job = { task: started, request, adapter, model, candidates: others, remixOf, putBack };
      const { task: sent } = await attempts.run(job);
      if (sent.handle !== null) await this.#queued.deleteRequest(task.id);
    } catch (error) {
      if (!isAppError(error)) throw error;
      await this.#failStarted(started, error);
    }
  }

  /** A no-op where the attempts have already failed the task, or another process sends it again. */
  async #failStarted(started: Task, { message, code }: AppError): Promise<void> {
    const { completion, store } = this.#dependencies;
    await completion.fail(started, { cause: 'request_invalid', message, code });
    const current = await store.findById(started.id);
    if (current?.status !== 'NOT_START') await this.#queued.deleteRequest(started.id);
  }

  /** Lets a video wait again at its position because its vendor had no room. */
  #putBack(head: QueuedTask, attempt: number, retryAfterMs: number): Promise<boolean> {
    const { database, clock } = this.#dependencies;
    const now = clock.now();
    return database.transaction(async (trx) => {
      if (!(await this.#queued.stop(trx, head.task_id, attempt, now))) return false;
      const lane = head.lane.startsWith('held:') ? laneOf('vendor', head) : head.lane;
      await this.#queued.putBack(trx, { ...head, lane }, now + Math.max(RETRY_MS, retryAfterMs));
      return true;
    });
  }

  async #forecast(group: QueuedTask): Promise<LaneForecast> {
    const key = `${group.lane} ${group.channels}`;
    const now = this.#dependencies.clock.now();
    const known = this.#forecasts.get(key);
    if (known !== undefined && now - known.at < FORECAST_MS && known.positions.has(group.task_id)) return known;
    const order = await this.#queued.order(group);
    const { slots, open } = await this.#slotsOfLane(group);
    const running = await this.#queued.running(open, now);
    const starts = forecastStarts({
      slots: slots ?? Math.max(1, running.ages.length),
      ...running,
      waiting: order.length,
    });
    const fresh = { at: now, positions: new Map(order.map((id, index) => [id, index])), starts };
    this.#forecasts.set(key, fresh);
    return fresh;
  }

  /** The number of slots that a lane's videos share, undefined where unknown, and the tasks that occupy them. */
  async #slotsOfLane(group: QueuedTask): Promise<{ readonly slots: number | undefined; readonly open: OpenTasks }> {
    const { channels, limits, findPlanTerms } = this.#dependencies;
    const { user_id: userId, token_id: tokenId } = group;
    if (/^(?:vendor|held):/.test(group.lane)) {
      const ids = new Set(idsOf(group.channels));
      const model = await servedModel(channels, group.model);
      const serving = model === undefined ? [] : await channels.prospects(model, ids);
      const bounds = serving.map(({ maxConcurrentTasks }) => maxConcurrentTasks ?? 0);
      const slots = bounds.reduce((sum, bound) => sum + bound, 0);
      return { slots: slots === 0 ? undefined : slots, open: { channelIds: [...ids] } };
    }
    const keyLimits = await limits.keyLimits(tokenId);
    const { account, key } = await limits.limitsOf({ userId, limits: keyLimits }, await findPlanTerms(userId));
    return group.lane.startsWith('key:')
      ? { slots: key.concurrent, open: { tokenId } }
      : { slots: account.concurrent, open: { userId } };
  }
}

/** Undefined for a model that was removed, or that its vendor has retired without a substitute. */
const servedModel = (channels: Pick<ChannelDirectory, 'model'>, id: string): Promise<ResolvedModel | undefined> =>
  channels.model(id).catch((error: unknown) => {
    if (isAppError(error, 'model_not_found')) return undefined;
    throw error;
  });

const isTemporary = ({ code }: AppError): boolean => ERRORS[code as ErrorCode].retryable === true;

const lanesOf = (task: Pick<Task, 'vendor' | 'user_id' | 'token_id'>): Lane[] =>
  (['key', 'account', 'vendor'] as const).map((kind) => laneOf(kind, task));

/** The lane of a task that waits for a slot of its key, its account or its vendor. */
export const laneOf = (
  kind: 'key' | 'account' | 'vendor',
  task: { readonly vendor: string; readonly user_id: number; readonly token_id: number },
): Lane =>
  kind === 'key' ? `key:${task.token_id}` : kind === 'account' ? `account:${task.user_id}` : `vendor:${task.vendor}`;

/** The value of `queued_tasks.channels`; `=` marks the one channel that holds the original of a remix or a change. */
export const channelsKey = (candidates: readonly Pick<Channel, 'id'>[], isHolder = false): string =>
  (isHolder ? '=' : '') + [...new Set(candidates.map(({ id }) => id))].toSorted((one, other) => one - other).join(',');

/** A channel that is unavailable for a while changes nothing; one that has been added does. */
function groupOf({ channels }: QueuedTask, candidates: readonly Channel[]): string {
  const known = new Set(idsOf(channels));
  return candidates.every(({ id }) => known.has(id)) ? channels : channelsKey(candidates);
}

const idsOf = (channels: string): number[] => channels.replace('=', '').split(',').map(Number);

const compareTurns = (one: QueuedTask, other: QueuedTask): number =>
  one.turn - other.turn || other.level - one.level || one.id - other.id;

const queueFull = (limit: number): AppError =>
  new AppError('queue_full', { params: { limit: String(limit) }, retryAfterSeconds: FULL_RETRY_SECONDS });

/** Acquires a slot on the first channel that has one. */
async function firstWithRoom(
  trx: Trx,
  slots: ChannelTaskLimitStore,
  candidates: readonly Channel[],
): Promise<Channel | undefined> {
  for (const channel of candidates) if (await slots.take(trx, channel)) return channel;
  return undefined;
}

/** Input of the forecast for the waiting videos of a lane. All times are in milliseconds. */
export interface LaneState {
  /** Videos that may run at once. */
  readonly slots: number;
  /** How long each running video has been running. */
  readonly ages: readonly number[];
  /** How long recent videos ran, from start to end; empty where none is known. */
  readonly durations: readonly number[];
  /** Number of waiting videos to forecast, the first to start first. */
  readonly waiting: number;
}

/** Milliseconds until the start of a waiting video: half start earlier than `p50`, nine in ten earlier than `p90`. */
interface StartForecast {
  readonly p50: number;
  readonly p90: number;
}

const RUNS = 200;
/** Starts that are simulated; later ones follow from the rate at which slots become free. */
const SIMULATED = 300;
/** Assumed where no video has ended yet, in milliseconds: the range of the vendors' documented times. */
const UNKNOWN_DURATIONS = [30, 60, 90, 120, 180, 300].map((seconds) => seconds * 1_000);
/** Normal quantile of 0.9. */
const Z90 = 1.2816;

/**
 * Forecasts the starts of a lane's waiting videos, in order. Simulates the lane {@link RUNS} times with durations drawn
 * from those observed; each run draws its own sample of them first, so that few observations give a wide forecast.
 *
 * @param random uniform numbers in [0, 1)
 */
export function forecastStarts(state: LaneState, random: () => number = Math.random): readonly StartForecast[] {
  const simulated = Math.min(state.waiting, SIMULATED);
  if (simulated === 0) return [];
  const durations = state.durations.length > 0 ? state.durations : UNKNOWN_DURATIONS;
  const starts: number[][] = Array.from({ length: simulated }, () => []);
  for (let run = 0; run < RUNS; run++) {
    const sample = durations.map(() => pick(durations, random));
    const running = state.ages.slice(0, state.slots).map((age) => remaining(sample, age, random));
    const free = Array.from({ length: Math.min(state.slots - running.length, simulated) }, () => 0);
    // Ends of the videos in the slots, the earliest first; no start waits for a later one.
    const ends = [...free, ...running.toSorted((one, other) => one - other)].slice(0, simulated);
    for (const times of starts) {
      const at = ends.shift() ?? 0;
      times.push(at);
      const end = at + pick(sample, random);
      const index = ends.findIndex((other) => other > end);
      ends.splice(index === -1 ? ends.length : index, 0, end);
    }
  }
  const forecasts = starts.map(toForecast);
  return [...forecasts, ...extrapolate(forecasts, durations, state)];
}

const pick = (values: readonly number[], random: () => number): number =>
  values[Math.floor(random() * values.length)] ?? 0;

/** The rest of a video that has run for `age`: a longer duration of the sample, or half as long again. */
function remaining(sample: readonly number[], age: number, random: () => number): number {
  const longer = sample.filter((duration) => duration > age);
  return longer.length === 0 ? (age / 2) * random() : pick(longer, random) - age;
}

function toForecast(times: number[]): StartForecast {
  const sorted = times.toSorted((one, other) => one - other);
  const quantile = (share: number): number =>
    sorted[Math.min(sorted.length - 1, Math.ceil(share * sorted.length))] ?? 0;
  return { p50: quantile(0.5), p90: quantile(0.9) };
}

/** Starts beyond the simulated ones: a sum of many durations is close to normal. */
function extrapolate(
  forecasts: readonly StartForecast[],
  durations: readonly number[],
  { slots, waiting }: LaneState,
): StartForecast[] {
  const last = forecasts.at(-1);
  if (last === undefined) return [];
  const mean = durations.reduce((sum, each) => sum + each, 0) / durations.length;
  const variance = durations.reduce((sum, each) => sum + (each - mean) ** 2, 0) / durations.length;
  const spread = last.p90 - last.p50;
  return Array.from({ length: waiting - forecasts.length }, (_, index) => {
    const more = index + 1;
    const p50 = last.p50 + (more * mean) / slots;
    // The mean itself is only known from the sample, which widens the forecast in proportion to the distance.
    const own = (Z90 ** 2 * more * variance) / slots ** 2;
    const uncertain = (Z90 * (more / slots)) ** 2 * (variance / durations.length);
    return { p50, p90: p50 + Math.sqrt(spread ** 2 + own + uncertain) };
  });
}
