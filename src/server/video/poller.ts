import { LRUCache } from 'lru-cache';
import { isObject } from '../../contract/objects.ts';
import { isTerminal } from '../../contract/task-states.ts';
import type { CallOutcome, ChannelDirectory } from '../channels/directory.ts';
import { AppError, isAppError } from '../platform/app-error.ts';
import { upToEntries } from '../platform/cache.ts';
import type { Clock } from '../platform/clock.ts';
import { type Database, DatabaseUnavailableError } from '../platform/db/database.ts';
import type { ModelCaller } from '../platform/http/request-context.ts';
import type { Log } from '../platform/log.ts';
import { BadVideoError, beginsLikePage, VideoCheck } from '../platform/media.ts';
import { OutboundError } from '../platform/outbound/outbound.ts';
import type { Tracing } from '../platform/tracing/tracing.ts';
import type { Tables } from '../tables.ts';
import { toChannelAndCredentialIds } from '../upstreams/upstream.ts';
import { PollFailed, type VendorError } from '../upstreams/vendor-errors.ts';
import type { QueryOutcome } from '../vendors/adapter.ts';
import { type TaskCompletion, videoSpanOptions } from './task-completion.ts';
import {
  type Failure,
  progressOf,
  type Task,
  type TaskChange,
  type TaskStore,
  toFailure,
  truncateBase64,
  type VideoUpstream,
  type VideoUpstreams,
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
  /** How long after its submit a vendor may not know a task yet. */
  readonly submitVisibilityMs: number;
}

/** Odd polls in a row that end a task once its submit must be visible. */
const ODD_POLLS_TO_FAIL = 3;
/** Odd polls closer together than this part of a period count once. */
const ODD_POLL_GAP = 1 / 4;

/**
 * - `changed`: something was written; `same`: nothing new; `ended`: no more polls
 * - `odd`: an answer that decides nothing and concerns this task alone
 * - `failed`: the account or the vendor refused the poll; `unreachable`: there was no answer
 */
export type PollResult = 'changed' | 'same' | 'odd' | 'failed' | 'unreachable' | 'ended';

/** Polls the vendor of one task, once, and applies the result. */
export class TaskPoller {
  readonly #dependencies: TaskPollerDependencies;
  constructor(dependencies: TaskPollerDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * When a task ends whatever its vendor says, Unix milliseconds: `ambiguousTtlMs` after its creation while the vendor has not
   * confirmed it, `taskTimeoutMs` otherwise.
   */
  deadlineOf(task: Pick<Task, 'created_at' | 'handle'>): number {
    const { ambiguousTtlMs, taskTimeoutMs } = this.#dependencies;
    return task.created_at + (task.handle === null ? ambiguousTtlMs : taskTimeoutMs);
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
      // A result that can never be stored must not keep the reserved quota beyond the deadline.
      if (!isOverdue || error instanceof DatabaseUnavailableError) throw error;
      log.error({ err: error, taskId: task.id }, 'a poll result could not be stored');
      return 'failed' as const;
    });
    // The vendor has just been polled once more, so a video that finished in time is never lost to the deadline.
    if (result !== 'ended' && isOverdue) {
      await completion.fail(task, { cause: 'timeout', message: 'the task did not finish in time', code: 'timeout' });
      return 'ended';
    }
    return result;
  }

  async #query(task: Task, upstream: VideoUpstream, signal: AbortSignal): Promise<PollResult> {
    const { channels, tracing } = this.#dependencies;
    let outcome: QueryOutcome;
    const startedAt = performance.now();
    const report = (news: Pick<CallOutcome, 'outcome' | 'message' | 'code'>): void =>
      channels.report({
        ...toChannelAndCredentialIds(upstream.account),
        model: task.model,
        taskSeq: task.seq,
        operation: 'poll',
        durationMs: performance.now() - startedAt,
        ...news,
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
    const { log, completion } = this.#dependencies;
    const result = resultOf(error);
    if (!(error instanceof PollFailed) && !(error instanceof OutboundError))
      log.error({ err: error, taskId: task.id }, 'a poll failed by a fault of the adapter');
    else if (result === 'odd' && (await this.#isDecided(task))) {
      await completion.fail(task, toOddFailure(error));
      return 'ended';
    }
    return result;
  }

  /** A vendor that does not know the task, or a status that is not known here. */
  async #afterOddOutcome(task: Task, outcome: QueryOutcome): Promise<PollResult> {
    const { state, raw } = outcome;
    this.#dependencies.log.warn(
      { taskId: task.id, vendor: task.vendor, state },
      'the vendor gave an odd answer about a task',
    );
    if (await this.#isDecided(task))
      return this.applyOutcome(task, state === 'UNKNOWN' ? { state: 'FAILURE', error: UNKNOWN_STATUS, raw } : outcome);
    if (state === 'UNKNOWN') await this.applyOutcome(task, outcome);
    return 'odd';
  }

  /** `outcome` is undefined while the check of the file has no result: the next poll asks again. */
  async #afterOutcome(task: Task, outcome: QueryOutcome | undefined): Promise<PollResult> {
    const result = outcome === undefined ? 'same' : await this.applyOutcome(task, outcome);
    if (result === 'same' && task.poll_failures > 0) await this.#dependencies.store.clearOddPolls(task.id);
    return result;
  }

  /**
   * Counts an odd poll. A vendor may need some time until it knows what it has accepted, and one odd answer in between is no verdict:
   * it takes several in a row, counted in the database, so that restarts and other processes continue the count.
   * @returns whether they end the task
   */
  async #isDecided(task: Task): Promise<boolean> {
    const { store, clock, syncPeriodMs, submitVisibilityMs } = this.#dependencies;
    const now = clock.now();
    if (now < (task.submit_time || task.created_at) + submitVisibilityMs) return false;
    const count = await store.countOddPoll(task, now, syncPeriodMs * ODD_POLL_GAP);
    return count !== undefined && count >= ODD_POLLS_TO_FAIL;
  }

  /** Writes the result of a poll; writes nothing where nothing changed. */
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

  /** A submit whose response was lost: searched by our own id where the vendor can, failed after the deadline otherwise. */
  async #recoverLostSubmit(
    task: Task,
    upstream: VideoUpstream,
    isOverdue: boolean,
    signal: AbortSignal,
  ): Promise<PollResult> {
    const { store, database, clock, completion, syncPeriodMs, log } = this.#dependencies;
    const hint = JSON.parse(task.find_task_hint ?? 'null');
    try {
      const handle = await upstream.call(signal, async (adapter, _, context) =>
        adapter.findTask?.({ taskId: task.id, hint }, context),
      );
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
    await completion.fail(task, {
      cause: 'unconfirmed',
      message: 'the vendor never confirmed this task',
      code: 'unconfirmed',
    });
    return 'ended';
  }
}

const toOutcome = (error: PollFailed | OutboundError): Pick<CallOutcome, 'outcome' | 'message' | 'code'> =>
  resultOf(error) === 'unreachable'
    ? { outcome: 'unreachable', message: error.message }
    : error instanceof OutboundError || error.error === undefined || error.isOdd
      ? { outcome: 'other', message: error.message }
      : { outcome: error.error.reason, message: error.message, code: error.error.code };

/** What a poll that threw says, and about whom. */
function resultOf(error: unknown): 'odd' | 'failed' | 'unreachable' {
  if (error instanceof PollFailed) return error.isOdd ? 'odd' : 'failed';
  // A status line came, so the vendor can be reached; the body broke, or had a coding that nobody asked for.
  if (error instanceof OutboundError) return error.phase === 'body' ? 'odd' : 'unreachable';
  return 'odd';
}

/** A vendor that does not know a task, or a status that is not known here: a single one decides nothing. */
const isOddOutcome = ({ state, error }: QueryOutcome): boolean =>
  state === 'UNKNOWN' || (state === 'FAILURE' && error?.reason === 'missing');

const UNKNOWN_STATUS: VendorError = {
  reason: 'other',
  cause: 'vendor_trouble',
  retryable: false,
  httpStatus: 200,
  code: 'unknown_status',
  message: 'the vendor kept reporting a status that is not known',
};

/** Why a task ends whose polls could not be read, or were refused for its own sake. */
function toOddFailure(error: PollFailed | OutboundError): Failure {
  const told = error instanceof PollFailed ? error.error : undefined;
  const isReason = told?.reason === 'policy' || told?.reason === 'missing' || told?.cause !== undefined;
  if (told !== undefined && isReason) return toFailure(told);
  return { cause: 'vendor_trouble', message: error.message, code: told?.code || 'unreadable_answer' };
}

/** Tasks of vendors with `refreshOnQuery` are polled when their owner reads them, but no more often than this. */
const MIN_REFRESH_INTERVAL_MS = 1_000;
/** And by the scheduler when nobody has read them for this long. */
const UNREAD_POLL_INTERVAL_MS = 60_000;
const MAX_REFRESHES_REMEMBERED = 10_000;

interface TaskReaderDependencies {
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

interface ResultCheckDependencies {
  readonly vendorFiles: Pick<VendorFiles, 'openAsPolled'>;
  readonly log: Log;
}

/**
 * `playable`: a video, as far as its first bytes show. `unknown`: the file could not be read to where that shows. `page`: a
 * text or nothing in its place. `unplayable`: something else, or a whole file without what a player needs.
 */
type Finding = 'playable' | 'unknown' | 'page' | 'unplayable';

/** Polls in a row that have to find the same before the task fails: a host may answer with a page for a moment. */
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
/** A file whose index comes last has to be read up to there; of a longer one the copy finds out. */
const MAX_BYTES = 32 * 1024 ** 2;
const MAX_TASKS_REMEMBERED = 10_000;

/**
 * Looks at the file of a video that its vendor calls finished, before anybody is charged for it: a task whose file can never be
 * played fails and is refunded like any other. The count of odd polls is kept in memory, since losing it costs a few more polls.
 */
export class ResultCheck {
  readonly #dependencies: ResultCheckDependencies;
  readonly #oddPolls = new LRUCache<string, number>(upToEntries(MAX_TASKS_REMEMBERED));

  constructor(dependencies: ResultCheckDependencies) {
    this.#dependencies = dependencies;
  }

  /** @returns the outcome to apply; undefined: the next poll decides */
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

/** Reads no further than to where the bytes show a video. @throws BadVideoError */
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
