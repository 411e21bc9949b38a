import { setTimeout as sleep } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import { defined, isObject } from '../../contract/objects.ts';
import { isTerminal } from '../../contract/task-states.ts';
import type { CallOutcome, ChannelDirectory } from '../channels/directory.ts';
import { AppError, invalidRequest, isAppError } from '../platform/app-error.ts';
import { upToEntries } from '../platform/cache.ts';
import type { Clock } from '../platform/clock.ts';
import { KeyedCounter } from '../platform/concurrency.ts';
import { type Database, DatabaseUnavailableError } from '../platform/db/database.ts';
import type { ModelCaller } from '../platform/http/route-registry.ts';
import type { Log } from '../platform/log.ts';
import { BadVideoError, beginsLikePage, VideoCheck } from '../platform/media.ts';
import { OutboundError } from '../platform/outbound/outbound.ts';
import type { Tracing } from '../platform/tracing/tracing.ts';
import type { Tables } from '../tables.ts';
import { PollFailed, toAccountIds, type VendorError } from '../upstreams/upstream.ts';
import type { QueryOutcome } from '../vendors/adapter.ts';
import type { TaskCompletion } from './task-completion.ts';
import type { TaskQueue } from './task-queue.ts';
import {
  type Failure,
  isWaiting,
  progressOf,
  type ShownTask,
  type Task,
  type TaskChange,
  type TaskStore,
  toFailure,
  truncateBase64,
  type VideoUpstream,
  type VideoUpstreams,
  videoSpanOptions,
} from './task-store.ts';
import type { UrlRefresher, VendorFiles } from './vendor-files.ts';

interface TaskPollerDependencies {
  readonly database: Database<Tables>;
  readonly store: TaskStore;
  readonly channels: Pick<ChannelDirectory, 'report'>;
  readonly upstreams: VideoUpstreams;
  readonly completion: TaskCompletion;
  readonly results: Pick<ResultCheck, 'check'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly tracing: Tracing;
  readonly syncPeriodMs: number;
  readonly ambiguousTtlMs: number;
  readonly taskTimeoutMs: number;
  /** Time after its submit during which a vendor may not know a task yet. */
  readonly submitVisibilityMs: number;
  /** Lets a video wait again that its vendor never received; returns false if it did not wait before. */
  readonly retryLost: (task: Task) => Promise<boolean>;
  /** Stops the job of a task that was given up here, where its vendor can. */
  readonly stopJob: (task: Task) => void;
}

/** Consecutive odd polls that fail a task once its submit must be visible. */
const ODD_POLLS_TO_FAIL = 3;
/** Odd polls closer together than this fraction of a period count once. */
const ODD_POLL_GAP = 1 / 4;

/**
 * - `changed`: something was written; `same`: nothing new; `ended`: no more polls
 * - `odd`: a response that decides nothing and concerns this task alone
 * - `failed`: the account or the vendor refused the poll; `unreachable`: there was no response
 */
export type PollResult = 'changed' | 'same' | 'odd' | 'failed' | 'unreachable' | 'ended';

/** Polls the vendor of one task once and applies the result. */
export class TaskPoller {
  readonly #dependencies: TaskPollerDependencies;
  constructor(dependencies: TaskPollerDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * When a task is ended regardless of its vendor, Unix milliseconds: `ambiguousTtlMs` after its submit while the vendor
   * has not confirmed it, otherwise after `taskTimeoutMs`. The time that a video waited for a slot does not count.
   */
  deadlineOf(task: Pick<Task, 'created_at' | 'submit_time' | 'handle'>): number {
    const { ambiguousTtlMs, taskTimeoutMs } = this.#dependencies;
    return (task.submit_time || task.created_at) + (task.handle === null ? ambiguousTtlMs : taskTimeoutMs);
  }

  async poll(task: Task, signal: AbortSignal): Promise<PollResult> {
    const { upstreams, completion, clock, log } = this.#dependencies;
    if (isTerminal(task.status)) return 'ended';
    const isOverdue = clock.now() >= this.deadlineOf(task);
    const upstream = await upstreams.find(task);
    if (upstream === undefined) {
      await completion.fail(task, {
        cause: 'channel_removed',
        message: 'the channel that held this task was removed',
        code: 'channel_removed',
      });
      return 'ended';
    }
    if (!upstream.isConfirmed) return this.#recoverLostSubmit(task, upstream, isOverdue, signal);
    const result = await this.#query(task, upstream, signal).catch((error: unknown) => {
      // A result that can never be stored must not keep the quota reserved beyond the deadline.
      if (!isOverdue || error instanceof DatabaseUnavailableError) throw error;
      log.error({ err: error, taskId: task.id }, 'a poll result could not be stored');
      return 'failed' as const;
    });
    // The vendor has just been polled once more, so a video that finished in time is never lost to the deadline.
    return result !== 'ended' && isOverdue ? this.#giveUp(task, OVERDUE) : result;
  }

  /** Fails a task whose job may still run, and be billed without a result. */
  async #giveUp(task: Task, failure: Failure): Promise<PollResult> {
    const { completion, stopJob } = this.#dependencies;
    if (await completion.fail(task, failure)) stopJob(task);
    return 'ended';
  }

  async #query(task: Task, upstream: VideoUpstream, signal: AbortSignal): Promise<PollResult> {
    const { channels, tracing } = this.#dependencies;
    let outcome: QueryOutcome;
    const startedAt = performance.now();
    const report = (result: Pick<CallOutcome, 'outcome' | 'message' | 'code'>): void =>
      channels.report({
        ...toAccountIds(upstream.account),
        model: task.model,
        taskSeq: task.seq,
        operation: 'poll',
        durationMs: performance.now() - startedAt,
        ...result,
      });
    try {
      outcome = await tracing.trace(videoSpanOptions('poll', task), () =>
        upstream.call(signal, (adapter, handle, context) => adapter.query(handle, context)),
      );
    } catch (error) {
      if (signal.aborted) return 'failed';
      if (error instanceof PollFailed || error instanceof OutboundError) report(toOutcome(error));
      return this.#afterFailedQuery(task, error);
    }
    report({ outcome: 'ok' });
    return isOddOutcome(outcome)
      ? this.#afterOddOutcome(task, outcome)
      : this.#afterOutcome(task, await this.#dependencies.results.check(task, outcome, signal));
  }

  async #afterFailedQuery(task: Task, error: unknown): Promise<PollResult> {
    const { log } = this.#dependencies;
    const result = resultOf(error);
    if (!(error instanceof PollFailed) && !(error instanceof OutboundError))
      log.error({ err: error, taskId: task.id }, 'a poll failed by a fault of the adapter');
    else if (result === 'odd' && (await this.#isDecided(task))) return this.#giveUp(task, toOddFailure(error));
    return result;
  }

  /** The vendor does not know the task, or returned a status that is not known here. */
  async #afterOddOutcome(task: Task, outcome: QueryOutcome): Promise<PollResult> {
    const { state } = outcome;
    this.#dependencies.log.warn(
      { taskId: task.id, vendor: task.vendor, state },
      'the vendor gave an odd answer about a task',
    );
    // A vendor that reports success knows the task; only its file may be late.
    const isKnown = outcome.error?.cause === 'no_result';
    if (await this.#isDecided(task, isKnown))
      return state === 'UNKNOWN' ? this.#giveUp(task, UNKNOWN_STATUS) : this.applyOutcome(task, outcome);
    if (state === 'UNKNOWN') await this.applyOutcome(task, outcome);
    return 'odd';
  }

  /** `outcome` is undefined while the check of the file has no result; the next poll checks again. */
  async #afterOutcome(task: Task, outcome: QueryOutcome | undefined): Promise<PollResult> {
    const result = outcome === undefined ? 'same' : await this.applyOutcome(task, outcome);
    if (result === 'same' && task.poll_failures > 0) await this.#dependencies.store.clearOddPolls(task.id);
    return result;
  }

  /**
   * Counts an odd poll. A vendor may need time before it knows a task it has accepted, and a single odd response in
   * between proves nothing. It takes several in a row, counted in the database, so that restarts and other processes
   * continue the count.
   * @param isKnown the vendor knows the task, so the time that its submit may be invisible is not waited for
   * @returns whether the count ends the task
   */
  async #isDecided(task: Task, isKnown = false): Promise<boolean> {
    const { store, clock, syncPeriodMs, submitVisibilityMs } = this.#dependencies;
    const now = clock.now();
    if (!isKnown && now < (task.submit_time || task.created_at) + submitVisibilityMs) return false;
    const count = await store.countOddPoll(task, now, syncPeriodMs * ODD_POLL_GAP);
    return count !== undefined && count >= ODD_POLLS_TO_FAIL;
  }

  /** Writes the result of a poll, unless nothing changed. */
  async applyOutcome(task: Task, outcome: QueryOutcome): Promise<PollResult> {
    const progress = progressOf(outcome.state, outcome.progress);
    const ended = isTerminal(outcome.state);
    if (!ended && outcome.state === task.status && progress === task.progress && outcome.handle === undefined)
      return 'same';
    const change: TaskChange = {
      status: outcome.state,
      progress: Math.max(progress, ended ? 100 : Math.min(task.progress, 99)),
      data: JSON.stringify(truncateBase64(outcome.raw)),
      handle: outcome.handle === undefined ? undefined : JSON.stringify(outcome.handle),
      artifact: outcome.artifact === undefined ? undefined : JSON.stringify(outcome.artifact),
      ...(outcome.state === 'FAILURE' && { failure: toFailure(outcome.error) }),
    };
    const applied = await this.#dependencies.completion.apply(task, change);
    return ended ? 'ended' : applied ? 'changed' : 'same';
  }

  /**
   * Handles a submit whose response was lost: searches the vendor by our own id where supported. After the deadline a
   * video that the vendor does not know waits again if it waited before; any other fails.
   */
  async #recoverLostSubmit(
    task: Task,
    upstream: VideoUpstream,
    isOverdue: boolean,
    signal: AbortSignal,
  ): Promise<PollResult> {
    const { store, database, clock, completion, syncPeriodMs, log, retryLost } = this.#dependencies;
    const hint = JSON.parse(task.find_task_hint ?? 'null');
    let isUnknownThere = false;
    try {
      const handle = await upstream.call(signal, async (adapter, _, context) => {
        const sentAtMs = task.submit_time || task.created_at;
        const found = await adapter.findTask?.({ taskId: task.id, hint, sentAtMs }, context);
        isUnknownThere = adapter.findTask !== undefined && found === undefined;
        return found;
      });
      if (handle !== undefined) {
        const now = clock.now();
        await store.markAccepted(database.kysely, {
          id: task.id,
          attempt: task.attempt,
          public_id: task.public_id,
          handle: JSON.stringify(handle),
          data: task.data,
          now,
          next: now + syncPeriodMs,
        });
        return 'changed';
      }
    } catch (error) {
      log.warn({ err: error, taskId: task.id }, 'a lost submit could not be searched at its vendor');
      if (!isOverdue) return resultOf(error);
    }
    if (!isOverdue) return 'same';
    if (isUnknownThere && (await retryLost(task))) return 'ended';
    const failure = {
      cause: 'unconfirmed',
      message: 'the vendor never confirmed this task',
      code: 'unconfirmed',
    } as const;
    // The answer to a slow submit may have come while the vendor was asked.
    return (await completion.fail(task, failure, { whileUnconfirmed: true })) ? 'ended' : 'same';
  }
}

const toOutcome = (error: PollFailed | OutboundError): Pick<CallOutcome, 'outcome' | 'message' | 'code'> =>
  resultOf(error) === 'unreachable'
    ? { outcome: 'unreachable', message: error.message }
    : error instanceof OutboundError || error.error === undefined || error.isOdd
      ? { outcome: 'other', message: error.message }
      : { outcome: error.error.reason, message: error.message, code: error.error.code };

/** Classifies a poll that threw: whether the error concerns the task, the account, or the connection. */
function resultOf(error: unknown): 'odd' | 'failed' | 'unreachable' {
  if (error instanceof PollFailed) return error.isOdd ? 'odd' : 'failed';
  // A status line arrived, so the vendor is reachable; the body was interrupted, or had a coding that was never
  // requested.
  if (error instanceof OutboundError) return error.phase === 'body' ? 'odd' : 'unreachable';
  return 'odd';
}

/**
 * A vendor that does not know a task, a status unknown here, or success before the address of the file is known: a
 * single one decides nothing.
 */
const isOddOutcome = ({ state, error }: QueryOutcome): boolean =>
  state === 'UNKNOWN' || (state === 'FAILURE' && (error?.reason === 'missing' || error?.cause === 'no_result'));

const OVERDUE: Failure = { cause: 'timeout', message: 'the task did not finish in time', code: 'timeout' };
const UNKNOWN_STATUS: Failure = {
  cause: 'vendor_trouble',
  message: 'the vendor kept reporting a status that is not known',
  code: 'unknown_status',
};

/** Failure of a task whose polls were unreadable, or were refused because of the task itself. */
function toOddFailure(error: PollFailed | OutboundError): Failure {
  const reported = error instanceof PollFailed ? error.error : undefined;
  const isReason = reported?.reason === 'policy' || reported?.reason === 'missing' || reported?.cause !== undefined;
  if (reported !== undefined && isReason) return toFailure(reported);
  return { cause: 'vendor_trouble', message: error.message, code: reported?.code || 'unreadable_answer' };
}

/** Tasks of vendors with `refreshOnQuery` are polled when their owner reads them, at most once per interval. */
const MIN_REFRESH_INTERVAL_MS = 1_000;
/** Such tasks are also polled by the scheduler when unread for this long. */
const UNREAD_POLL_INTERVAL_MS = 60_000;
const MAX_REFRESHES_REMEMBERED = 10_000;

interface TaskReaderDependencies {
  readonly store: TaskStore;
  readonly poller: TaskPoller;
  readonly urlRefresher: UrlRefresher;
  readonly upstreams: VideoUpstreams;
  readonly queue: Pick<TaskQueue, 'positionOf'>;
  readonly clock: Clock;
  /** Aborted when the service stops. */
  readonly stopping: AbortSignal;
}

/** Reads tasks for their owners. A caller cannot see tasks of another token: they are reported as not existing. */
export class RefreshingTaskReader {
  readonly #dependencies: TaskReaderDependencies;
  readonly #refreshes = new LRUCache<string, { readonly startedAt: number; readonly done: Promise<void> }>(
    upToEntries(MAX_REFRESHES_REMEMBERED),
  );

  constructor(dependencies: TaskReaderDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Returns the task in its latest state.
   * @throws AppError `task_not_exist`
   */
  readForToken(caller: Pick<ModelCaller, 'tokenId'>, publicId: string): Promise<ShownTask> {
    return this.#read(caller, publicId, new AppError('task_not_exist'));
  }

  /**
   * As `readForToken`, for the contract's queries: the message of a missing task is its code, whatever the language.
   */
  readForQuery(caller: Pick<ModelCaller, 'tokenId'>, publicId: string): Promise<ShownTask> {
    return this.#read(caller, publicId, new AppError('task_not_exist', { message: 'task_not_exist' }));
  }

  async #read({ tokenId }: Pick<ModelCaller, 'tokenId'>, publicId: string, missing: AppError): Promise<ShownTask> {
    const task = await this.#dependencies.store.findForToken(publicId, tokenId);
    if (task === undefined) throw missing;
    return this.withCurrentState(task);
  }

  /**
   * Returns the task after refreshing it: a poll for some vendors, a fresh URL for a finished video whose URL expired,
   * the position of one that waits.
   */
  async withCurrentState(task: Task): Promise<ShownTask> {
    const { urlRefresher, upstreams, store, queue } = this.#dependencies;
    if (isWaiting(task)) return defined({ ...task, queue: await queue.positionOf(task) });
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
      .then(() => (isPolledByReads ? store.defer(task.seq, now + UNREAD_POLL_INTERVAL_MS) : undefined))
      // As when another process holds the row for long: the reader gets the stored state.
      .catch((error: unknown) => {
        if (!(error instanceof DatabaseUnavailableError)) throw error;
      });
    this.#refreshes.set(task.id, { startedAt: now, done });
    return done;
  }
}

/**
 * Whether the vendor answered the submit with a finished video, whose content is available before the first scheduled
 * poll.
 */
function endedAtSubmit({ status, data }: Task): boolean {
  if (status !== 'SUBMITTED') return false;
  const response: unknown = JSON.parse(data);
  return isObject(response) && /^(completed?|succe(ss|eded|ed)|finished|done)$/i.test(String(response.status));
}

interface ResultCheckDependencies {
  readonly vendorFiles: Pick<VendorFiles, 'openAsPolled'>;
  readonly log: Log;
}

/**
 * `playable`: a video, judging by its first bytes. `unknown`: the file could not be read far enough. `page`: text, or
 * nothing, instead of a file. `unplayable`: another kind of file, or a whole file without the parts a player needs.
 */
type Finding = 'playable' | 'unknown' | 'page' | 'unplayable';

/** Consecutive polls with the same finding after which the task fails: a host may serve a page for a short time. */
const LIMITS: Readonly<Partial<Record<Finding, number>>> = { page: 10, unplayable: 3 };
const TIMEOUT_MS = 10_000;
const UNPLAYABLE: VendorError = {
  reason: 'other',
  cause: 'no_result',
  retryable: false,
  httpStatus: 200,
  code: 'unplayable_video',
  message: 'the vendor reported success, but its file is not a playable video',
};
/**
 * A file whose index is at its end must be read up to there; if it is longer than this, the copy detects the problem.
 */
const MAX_BYTES = 32 * 1024 ** 2;
const MAX_TASKS_REMEMBERED = 10_000;

/**
 * Checks the file of a video that its vendor reports as finished, before the account is charged: a task whose file can
 * never be played fails and is refunded. The count of findings is kept in memory, because losing it only costs a few
 * more polls.
 */
export class ResultCheck {
  readonly #dependencies: ResultCheckDependencies;
  readonly #oddPolls = new LRUCache<string, number>(upToEntries(MAX_TASKS_REMEMBERED));

  constructor(dependencies: ResultCheckDependencies) {
    this.#dependencies = dependencies;
  }

  /** @returns the outcome to apply; undefined if the next poll decides */
  async check(task: Task, outcome: QueryOutcome, signal: AbortSignal): Promise<QueryOutcome | undefined> {
    if (outcome.state !== 'SUCCESS' || outcome.artifact === undefined) return outcome;
    const finding = await this.#inspect(task, outcome, signal);
    const limit = LIMITS[finding];
    const oddPolls = (this.#oddPolls.get(task.id) ?? 0) + 1;
    if (limit !== undefined && oddPolls < limit) {
      this.#oddPolls.set(task.id, oddPolls);
      return undefined;
    }
    this.#oddPolls.delete(task.id);
    if (limit === undefined) return outcome;
    return { state: 'FAILURE', error: UNPLAYABLE, raw: outcome.raw };
  }

  async #inspect(task: Task, { artifact, handle, raw }: QueryOutcome, signal: AbortSignal): Promise<Finding> {
    const finished: Task = {
      ...task,
      status: 'SUCCESS',
      artifact: JSON.stringify(artifact),
      data: JSON.stringify(truncateBase64(raw)),
      handle: handle === undefined ? task.handle : JSON.stringify(handle),
    };
    const request = { signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]), readAheadBytes: 0 };
    try {
      const { status, body } = await this.#dependencies.vendorFiles.openAsPolled(finished, request);
      try {
        return status === 200 ? await inspectBody(body) : 'unknown';
      } finally {
        body.destroy();
      }
    } catch (error) {
      if (error instanceof BadVideoError && !error.isCut) {
        this.#dependencies.log.warn({ err: error, taskId: task.id }, 'the file of a finished video is not playable');
        return 'unplayable';
      }
      if (!(error instanceof BadVideoError) && !(error instanceof OutboundError) && !isAppError(error))
        this.#dependencies.log.warn({ err: error, taskId: task.id }, 'the file of a finished video could not be read');
      return 'unknown';
    }
  }
}

/**
 * Reads only until the bytes show a video.
 * @throws BadVideoError
 */
async function inspectBody(body: AsyncIterable<Buffer>): Promise<Finding> {
  const check = new VideoCheck();
  let first = Buffer.alloc(0);
  let bytes = 0;
  for await (const chunk of body) {
    if (check.mimeType === undefined) {
      first = Buffer.concat([first, chunk]);
      if (beginsLikePage(first)) return 'page';
    }
    check.push(chunk);
    if (check.isVideo) return 'playable';
    bytes += chunk.length;
    if (bytes > MAX_BYTES) return 'unknown';
  }
  if (first.length === 0) return 'page';
  check.end();
  return 'playable';
}

/** Seconds that `?wait=` may ask for. */
const MAX_WAIT_SECONDS = 60;
/** Requests of one key that may wait for videos at a time, in this process. */
const MAX_PER_KEY = 20;
/** How often a followed task is read; any process may have changed it. */
const READ_MS = 1_000;

/** Reads `?wait=` as milliseconds. @throws AppError `invalid_request` */
export function parseWait(text: string | undefined): number {
  if (text === undefined) return 0;
  if (!/^\d{1,2}$/.test(text) || Number(text) > MAX_WAIT_SECONDS)
    throw invalidRequest(`wait must be from 0 to ${MAX_WAIT_SECONDS}.`, 'wait');
  return Number(text) * 1_000;
}

/** Follows tasks for callers who wait for them, a bounded number per key. */
export class TaskFollower {
  readonly #reader: RefreshingTaskReader;
  readonly #followed = new KeyedCounter<number>();
  readonly #closing = new AbortController();

  constructor(reader: RefreshingTaskReader) {
    this.#reader = reader;
  }

  /**
   * The task once it has ended, or in its state after `waitMs`.
   * @throws AppError `task_not_exist`, `too_many_streams`
   */
  async wait(caller: ModelCaller, publicId: string, waitMs: number, signal: AbortSignal): Promise<Task> {
    const first = await this.#reader.readForQuery(caller, publicId);
    if (waitMs === 0 || isTerminal(first.status)) return first;
    const time = AbortSignal.timeout(waitMs);
    let last = first;
    for await (const task of this.follow(caller, first, AbortSignal.any([signal, time]))) last = task;
    return last;
  }

  /** Ends all waits now, so that a stop of the process does not take as long as they would. */
  close(): void {
    this.#closing.abort();
  }

  /**
   * The task now and after each change of its state or progress, until it has ended or the signal is aborted.
   * @throws AppError `too_many_streams` before the first one
   */
  async *follow(caller: ModelCaller, first: Task, ended: AbortSignal): AsyncGenerator<Task> {
    const { tokenId } = caller;
    const signal = AbortSignal.any([ended, this.#closing.signal]);
    this.assertCapacity(caller);
    this.#followed.add(tokenId, 1);
    try {
      let last: Task | undefined;
      for (let task = first; ; task = await this.#reader.readForQuery(caller, first.public_id)) {
        if (last?.status !== task.status || last.progress !== task.progress) yield task;
        last = task;
        if (isTerminal(task.status)) return;
        await sleep(READ_MS, undefined, { signal }).catch(() => {});
        if (signal.aborted) return;
      }
    } finally {
      this.#followed.add(tokenId, -1);
    }
  }

  /** @throws AppError `too_many_streams` if the key follows as many as it may */
  assertCapacity({ tokenId }: ModelCaller): void {
    if (this.#followed.of(tokenId) >= MAX_PER_KEY) throw new AppError('too_many_streams', { retryAfterSeconds: 10 });
  }
}
