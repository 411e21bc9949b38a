import { randomUUID } from 'node:crypto';
import { type RawBuilder, sql } from 'kysely';
import { LRUCache } from 'lru-cache';
import { getOrCreateEntry, upToEntries } from '../platform/cache.ts';
import type { Clock } from '../platform/clock.ts';
import type { Database } from '../platform/db/database.ts';
import type { PubSub } from '../platform/db/pub-sub.ts';
import { evaluatedOnce, hasConcurrentWriters } from '../platform/db/sql.ts';
import type { Log } from '../platform/log.ts';
import type { Tables } from '../tables.ts';
import { accountKey } from '../upstreams/upstream.ts';
import type { PollResult, TaskPoller } from './poller.ts';
import type { Task } from './task-store.ts';

interface PollBackoffDependencies {
  readonly pubSub: Pick<PubSub, 'publish' | 'subscribe'>;
  readonly clock: Clock;
  readonly periodMs: number;
}

interface Backoff {
  /** Consecutive failed polls of this account. */
  readonly failures: number;
  /** Unix milliseconds. */
  readonly until: number;
}

/** The only task of an account whose polls have failed since the last success; `several` if there is more than one. */
type FailingTask = number | 'several';

/** Message from one process to the others about an account, that is, a channel with one of its credentials. */
interface BackoffMessage extends Backoff {
  readonly sender: string;
  readonly account: string;
}

const SIGNAL_CHANNEL = 'poll_backoff';
const FAILURES_BEFORE_BACKOFF = 5;
const MAX_BACKOFF_MS = 5 * 60_000;
/** An odd task is decided within a few polls, so its backoff stays short. */
const MAX_ODD_BACKOFF_PERIODS = 8;
const MAX_TASKS_REMEMBERED = 10_000;

/**
 * Accounts that back off because polls of several of their tasks failed in succession, and tasks that back off because
 * their own polls failed. A single failing task pauses only itself. All processes back off from an account together:
 * the process that meets the failures informs the others, and so does the one whose poll succeeds. A lost message costs
 * each process five more failed polls.
 */
export class PollBackoff {
  readonly #dependencies: PollBackoffDependencies;
  readonly #name = randomUUID();
  readonly #accounts = new Map<string, Backoff & { readonly failing: FailingTask }>();
  /** Consecutive failed or odd polls, by the task's `seq`. */
  readonly #tasks = new LRUCache<number, number>(upToEntries(MAX_TASKS_REMEMBERED));
  readonly #unsubscribe: () => void;

  constructor(dependencies: PollBackoffDependencies) {
    this.#dependencies = dependencies;
    this.#unsubscribe = dependencies.pubSub.subscribe(SIGNAL_CHANNEL, (payload) =>
      this.#applyMessage(JSON.parse(payload)),
    );
  }

  /** Unix milliseconds until which an account is not polled; 0 for an account that may be polled. */
  until(account: string): number {
    return this.#accounts.get(account)?.until ?? 0;
  }

  /**
   * Records a poll that failed because of the account or the vendor and says nothing about the task.
   *
   * @param seq the task; undefined if the account could not be reached at all
   * @returns additional milliseconds, beyond the usual period, before the task is polled again
   */
  failed(account: string, seq: number | undefined): number {
    const { clock, periodMs } = this.#dependencies;
    const known = this.#accounts.get(account);
    const failures = (known?.failures ?? 0) + 1;
    const failing = seq !== undefined && (known?.failing ?? seq) === seq ? seq : 'several';
    const pauseMs = failing === 'several' ? backoffMs(failures, periodMs) : 0;
    const backoff = { failures, until: pauseMs === 0 ? 0 : clock.now() + pauseMs };
    this.#accounts.set(account, { ...backoff, failing });
    // Failures in between do not change the backoff, and up to a hundred of them may arrive at once.
    if (pauseMs > 0 && (failures % FAILURES_BEFORE_BACKOFF === 0 || known?.until === 0))
      this.#publish(account, backoff);
    return seq === undefined ? 0 : this.#pauseTask(seq, MAX_BACKOFF_MS);
  }

  /**
   * Records a response that proves the account reachable but is odd for this task alone.
   * @returns as `failed`
   */
  odd(account: string, seq: number): number {
    this.#reached(account);
    return this.#pauseTask(seq, MAX_ODD_BACKOFF_PERIODS * this.#dependencies.periodMs);
  }

  succeeded(account: string, seq: number): void {
    this.#tasks.delete(seq);
    this.#reached(account);
  }

  #reached(account: string): void {
    const known = this.#accounts.get(account);
    if (known === undefined || known.failures === 0) return;
    this.#accounts.delete(account);
    if (known.until > 0) this.#publish(account, { failures: 0, until: 0 });
  }

  #pauseTask(seq: number, maxMs: number): number {
    const failures = (this.#tasks.get(seq) ?? 0) + 1;
    this.#tasks.set(seq, failures);
    return Math.min(maxMs, backoffMs(failures, this.#dependencies.periodMs));
  }

  close(): void {
    this.#unsubscribe();
  }

  #publish(account: string, { failures, until }: Backoff): void {
    const message: BackoffMessage = { sender: this.#name, account, failures, until };
    this.#dependencies.pubSub.publish(SIGNAL_CHANNEL, JSON.stringify(message));
  }

  #applyMessage({ sender, account, failures, until }: BackoffMessage): void {
    if (sender === this.#name) return;
    const known = this.#accounts.get(account);
    if (failures === 0) this.#accounts.delete(account);
    else if (known === undefined || until > known.until)
      this.#accounts.set(account, { failures, until, failing: 'several' });
  }
}

/**
 * Backoff of an account or a task in milliseconds after a number of consecutive failures: none below five, then doubled
 * with every five.
 */
function backoffMs(failures: number, periodMs: number): number {
  if (failures < FAILURES_BEFORE_BACKOFF) return 0;
  const doublings = Math.min(10, Math.floor(failures / FAILURES_BEFORE_BACKOFF) - 1);
  return Math.min(MAX_BACKOFF_MS, periodMs * 2 ** doublings);
}

interface PollSchedulerDependencies {
  readonly store: Pick<
    PollStore,
    'claimDue' | 'scheduleSpread' | 'scheduleAt' | 'oldestDue' | 'spreadDue' | 'limitNextPoll'
  >;
  readonly poller: Pick<TaskPoller, 'poll' | 'deadlineOf'>;
  readonly backoffs: Pick<PollBackoff, 'until' | 'failed' | 'odd' | 'succeeded' | 'close'>;
  /** The processes on this database; undefined on a single-process database. */
  readonly processes?: Pick<PollingConcurrencyShare, 'start' | 'stop' | 'shareOf'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly periodMs: number;
  /** Concurrent polls per channel credential across all processes; default {@link MAX_POLLS_PER_CHANNEL}. */
  readonly maxPerChannel?: number;
}

interface AccountQueue {
  /** The account's key (`accountKey`). */
  readonly account: string;
  readonly waiting: Task[];
  running: number;
}

/** Concurrent polls per channel credential across all processes; further polls wait in a queue. */
export const MAX_POLLS_PER_CHANNEL = 96;
const CLAIM_BATCH = 500;
/**
 * Tasks claimed but not yet polled, across all processes. No process claims more than its share, so that work remains
 * for the others.
 */
const MAX_WAITING = 2_000;
/** Average interval between claims. Randomized, so that no process always finds due tasks first. */
const TICK_MS = 250;
/** A claim lasts two periods, and at least this long. Tasks claimed by a process that dies are due again afterwards. */
const MIN_LEASE_MS = 5_000;
/** No poll is scheduled further ahead than this plus a few periods. */
const MAX_DELAY_MS = 2 * MAX_BACKOFF_MS;
/** Tasks overdue by more than this were not polled at all: no process was running, or the database was unreachable. */
const OUTAGE_MS = 2_000;

/**
 * Polls every unfinished task once per period. Due tasks are claimed in batches and put into one queue per channel
 * credential. Each queue has a concurrency limit, of which every process has a share, so that a slow or failing channel
 * delays only its own tasks; a failing channel backs off exponentially. After an outage, overdue tasks are spread over
 * time, so that no vendor receives all their polls at once.
 */
export class PollScheduler {
  readonly #dependencies: PollSchedulerDependencies;
  readonly #spread: PollSpread;
  readonly #queues = new Map<string, AccountQueue>();
  readonly #stopping = new AbortController();
  #timer: NodeJS.Timeout | undefined;
  #claiming = false;
  #waiting = 0;
  /** Claims of the tasks that this process has claimed and not finished, by `seq`. */
  readonly #claims = new Map<number, Claim>();
  readonly #finished = new NextPollBatch();
  /** When due tasks were last claimed, by the monotonic clock; undefined before the first claim. */
  #lastClaimAt: number | undefined;

  constructor(dependencies: PollSchedulerDependencies) {
    this.#dependencies = dependencies;
    this.#spread = pollSpread(dependencies.periodMs);
  }

  start(): void {
    void this.#dependencies.processes?.start();
    const tickLater = (): void => {
      if (this.#stopping.signal.aborted) return;
      this.#timer = setTimeout(() => void this.tick().finally(tickLater), TICK_MS * (0.5 + Math.random()));
    };
    tickLater();
  }

  /** Claims due tasks and starts polling them. Safe to call at any time. */
  async tick(): Promise<void> {
    if (this.#claiming || this.#stopping.signal.aborted) return;
    this.#claiming = true;
    // Measured before the results of earlier polls are written: a process that writes many of them is busy, not paused.
    const pausedMs = performance.now() - (this.#lastClaimAt ?? Number.NEGATIVE_INFINITY);
    try {
      await this.#writeBack();
      if (pausedMs > OUTAGE_MS) await this.#spreadOverdue();
      await this.#claimDue();
    } catch (error) {
      this.#dependencies.log.error({ err: error }, 'due tasks could not be claimed');
    } finally {
      this.#claiming = false;
    }
  }

  /** Makes tasks due whose next poll is impossibly far ahead, as after the clock was set back. Called every minute. */
  async limitPollTimes(): Promise<void> {
    const { store, clock, periodMs } = this.#dependencies;
    const now = clock.now();
    await store.limitNextPoll(now, now + MAX_DELAY_MS + 4 * periodMs);
  }

  /** Resolves when no poll is waiting or running. For tests and a graceful shutdown. */
  async idle(): Promise<void> {
    while (this.#waiting > 0 || [...this.#queues.values()].some((queue) => queue.running > 0))
      await new Promise((resolve) => setTimeout(resolve, 5));
    await this.#writeBack();
  }

  async stop(): Promise<void> {
    clearTimeout(this.#timer);
    this.#stopping.abort();
    // Claimed but not polled: due again at once, for the next process.
    const unpolled = [...this.#queues.values()].flatMap((queue) => queue.waiting.splice(0));
    this.#waiting = 0;
    const now = this.#dependencies.clock.now();
    for (const { seq } of unpolled) this.#finish(seq, { kind: 'at', at: now });
    await this.idle();
    this.#dependencies.backoffs.close();
    await this.#dependencies.processes?.stop();
  }

  /**
   * Spreads overdue tasks over as long as they were overdue, at most one period. Together with the tasks that become
   * due in that time, vendors receive twice the usual rate; after a spread over a whole period, when nothing else is
   * due, the usual rate. A task whose new time comes while the rest is still being spread is polled right then:
   * spreading fifty thousand tasks takes seconds, and their polls would otherwise all follow at once.
   */
  async #spreadOverdue(): Promise<void> {
    const { store, clock, periodMs } = this.#dependencies;
    const now = clock.now();
    const overdueMs = now - ((await store.oldestDue()) ?? now);
    if (overdueMs <= OUTAGE_MS) return;
    const overMs = Math.min(overdueMs, periodMs);
    while (!this.#stopping.signal.aborted && (await store.spreadDue(now, clock.now(), overMs, this.#spread)))
      await this.#claimDue(now);
  }

  /** Claims due tasks; with `dueAfter`, only those that became due after that time. */
  async #claimDue(dueAfter?: number): Promise<void> {
    const { store, clock, periodMs } = this.#dependencies;
    while (this.#waiting < this.#shareOf(MAX_WAITING)) {
      const claimedAt = clock.now();
      const due = await store.claimDue(claimedAt, Math.max(2 * periodMs, MIN_LEASE_MS), CLAIM_BATCH, dueAfter);
      for (const task of due) this.#enqueue(task, { claimedAt, lease: task.next_poll_at ?? 0 });
      if (due.length < CLAIM_BATCH) break;
    }
    this.#lastClaimAt = performance.now();
  }

  #enqueue(task: Task, claim: Claim): void {
    // A task that outlasts its claim becomes due while it still waits or runs. Claimed again, it continues under the
    // new claim.
    const isQueued = this.#claims.has(task.seq);
    this.#claims.set(task.seq, claim);
    if (isQueued) return;
    const queue = this.#queueOf(task);
    queue.waiting.push(task);
    this.#waiting += 1;
    this.#drain(queue);
  }

  #queueOf(task: Task): AccountQueue {
    const account = accountKey(task.channel_id ?? 0, task.credential_id ?? 0);
    return getOrCreateEntry(this.#queues, account, () => ({ account, waiting: [], running: 0 }));
  }

  #drain(queue: AccountQueue): void {
    const { clock, poller, backoffs, maxPerChannel = MAX_POLLS_PER_CHANNEL } = this.#dependencies;
    while (queue.running < this.#shareOf(maxPerChannel)) {
      const task = queue.waiting.shift();
      if (task === undefined) return;
      this.#waiting -= 1;
      const now = clock.now();
      // A process that was paused must not poll a task that another process has claimed in the meantime.
      if (now >= (this.#claims.get(task.seq)?.lease ?? 0)) {
        this.#claims.delete(task.seq);
        continue;
      }
      // A channel's backoff must not delay a task's deadline, because the task's quota would stay reserved just as
      // long.
      const resumeAt = Math.min(backoffs.until(queue.account), poller.deadlineOf(task));
      if (now < resumeAt) {
        this.#finish(task.seq, { kind: 'at', at: resumeAt });
        continue;
      }
      queue.running += 1;
      void this.#poll(queue, task);
    }
  }

  async #poll(queue: AccountQueue, task: Task): Promise<void> {
    const { poller, log } = this.#dependencies;
    try {
      const result = await poller.poll(task, this.#stopping.signal);
      const pauseMs = this.#recordResult(result, queue.account, task.seq);
      if (result === 'ended') this.#claims.delete(task.seq);
      else this.#finish(task.seq, this.#nextPoll(task, pauseMs));
    } catch (error) {
      log.error({ err: error, taskId: task.id }, 'a poll result could not be stored');
      this.#finish(task.seq, { kind: 'period' });
    } finally {
      queue.running -= 1;
      this.#drain(queue);
    }
  }

  /** @returns additional milliseconds, beyond a period, before the task is polled again */
  #recordResult(result: PollResult, account: string, seq: number): number {
    const { backoffs } = this.#dependencies;
    if (result === 'failed') return backoffs.failed(account, seq);
    if (result === 'unreachable') return backoffs.failed(account, undefined);
    if (result === 'odd') return backoffs.odd(account, seq);
    backoffs.succeeded(account, seq);
    return 0;
  }

  #nextPoll(task: Task, pauseMs: number): NextPoll {
    const { clock, poller, periodMs } = this.#dependencies;
    if (pauseMs === 0) return { kind: 'period' };
    return {
      kind: 'at',
      at: Math.min(clock.now() + periodMs + pauseMs, Math.max(clock.now(), poller.deadlineOf(task))),
    };
  }

  #shareOf(max: number): number {
    return this.#dependencies.processes?.shareOf(max) ?? max;
  }

  #finish(seq: number, next: NextPoll): void {
    const claim = this.#claims.get(seq);
    this.#claims.delete(seq);
    if (claim !== undefined) this.#finished.add(seq, claim, next);
  }

  async #writeBack(): Promise<void> {
    const { store, clock } = this.#dependencies;
    await this.#finished.writeTo(store, { now: clock.now(), spread: this.#spread });
  }
}

/** Rows per statement: some milliseconds on SQLite, during which nothing else is written. */
const ROWS_PER_WRITE = 500;

/** SQL of the times at which tasks are polled. */
export class PollStore {
  readonly #database: Database<Tables>;
  constructor(database: Database<Tables>) {
    this.#database = database;
  }

  /**
   * Claims due tasks for this process by moving their next poll one lease ahead; exactly one process claims a row. If
   * the process dies, its tasks are due again when the lease ends, which is their `next_poll_at`. Claims only tasks
   * that became due after `dueAfter`.
   */
  async claimDue(now: number, leaseMs: number, limit: number, dueAfter = -1): Promise<Task[]> {
    return this.#database.transaction((trx) =>
      trx
        .with(evaluatedOnce('due'), (from) =>
          from
            .selectFrom('tasks')
            .select('seq')
            .where('next_poll_at', '>', dueAfter)
            .where('next_poll_at', '<=', now)
            .orderBy('next_poll_at')
            .limit(limit)
            .forUpdate()
            .skipLocked(),
        )
        .updateTable('tasks')
        .set({ next_poll_at: now + leaseMs })
        .where('seq', 'in', ({ selectFrom }) => selectFrom('due').select('due.seq'))
        .returningAll()
        .execute(),
    );
  }

  /**
   * Schedules tasks claimed until `lease`, each at its own offset within the period, at or after `earliest`. A task
   * whose claim has ended may be claimed by another process, so its next poll is not changed.
   */
  async scheduleSpread(seqs: readonly number[], lease: number, earliest: number, spread: PollSpread): Promise<void> {
    await this.#schedule(seqs, lease, nextSpreadTime(earliest, spread));
  }

  /** As `scheduleSpread`, with one time for all tasks. */
  async scheduleAt(seqs: readonly number[], lease: number, at: number): Promise<void> {
    await this.#schedule(seqs, lease, at);
  }

  async #schedule(seqs: readonly number[], lease: number, next_poll_at: number | RawBuilder<number>): Promise<void> {
    for (let start = 0; start < seqs.length; start += ROWS_PER_WRITE)
      await this.#database.kysely
        .updateTable('tasks')
        .set({ next_poll_at })
        .where('seq', 'in', seqs.slice(start, start + ROWS_PER_WRITE))
        .where('next_poll_at', '=', lease)
        .execute();
  }

  /** Due time of the task that has waited longest; undefined if none is unfinished. */
  async oldestDue(): Promise<number | undefined> {
    const row = await this.#database.kysely
      .selectFrom('tasks')
      .select('next_poll_at')
      .where('next_poll_at', 'is not', null)
      .orderBy('next_poll_at')
      .limit(1)
      .executeTakeFirst();
    return row?.next_poll_at ?? undefined;
  }

  /**
   * Spreads some of the tasks that were due at `dueAt` over the time from `now`. Over a whole period, each task gets
   * its own offset, so that its next poll is one period later.
   * @returns whether more such tasks may remain
   */
  async spreadDue(dueAt: number, now: number, overMs: number, spread: PollSpread): Promise<boolean> {
    const { periodMs, step } = spread;
    // At least one millisecond ahead, so that no row is selected twice.
    const earliest = now + 1;
    const next_poll_at =
      overMs === periodMs
        ? nextSpreadTime(earliest, spread)
        : sql<number>`${earliest} + (seq * ${sql.lit(step)}) % ${sql.lit(periodMs)} * ${overMs} / ${sql.lit(periodMs)}`;
    const { numUpdatedRows } = await this.#database.kysely
      .with(evaluatedOnce('due'), (from) =>
        from
          .selectFrom('tasks')
          .select('seq')
          .where('next_poll_at', '<=', dueAt)
          .orderBy('next_poll_at')
          .limit(ROWS_PER_WRITE)
          .forUpdate()
          .skipLocked(),
      )
      .updateTable('tasks')
      .set({ next_poll_at })
      .where('seq', 'in', ({ selectFrom }) => selectFrom('due').select('due.seq'))
      .executeTakeFirst();
    return Number(numUpdatedRows) === ROWS_PER_WRITE;
  }

  /**
   * Makes tasks due whose next poll is after `latest`, which is later than any scheduled time: the clock was set back.
   */
  async limitNextPoll(now: number, latest: number): Promise<void> {
    await this.#database.kysely
      .updateTable('tasks')
      .set({ next_poll_at: now })
      .where('next_poll_at', '>', latest)
      .execute();
  }
}

/** SQL of a task's next poll: its own offset within the period, at or after `earliest`. */
const nextSpreadTime = (earliest: number, { periodMs, step }: PollSpread): RawBuilder<number> => sql<number>`
  ${earliest} + ((seq * ${sql.lit(step)}) % ${sql.lit(periodMs)} + ${sql.lit(periodMs - (earliest % periodMs))}) % ${sql.lit(periodMs)}`;

/** The next poll of a claimed task: one period later, or at a given time. */
type NextPoll = { readonly kind: 'period' } | { readonly kind: 'at'; readonly at: number };

/** A claim of tasks: when it was made, and the end of its lease, which identifies it. Unix milliseconds. */
interface Claim {
  readonly claimedAt: number;
  readonly lease: number;
}

interface Group {
  readonly claim: Claim;
  readonly next: NextPoll;
  readonly seqs: number[];
}

/** Times are rounded up to this, so that thousands of postponed polls need few writes. */
const ROUNDING_MS = 250;

/** Tasks whose polls are finished, batched so that thousands of them need few writes. */
class NextPollBatch {
  #groups = new Map<string, Group>();

  add(seq: number, claim: Claim, next: NextPoll): void {
    const rounded = next.kind === 'period' ? next : { ...next, at: Math.ceil(next.at / ROUNDING_MS) * ROUNDING_MS };
    const key = rounded.kind === 'period' ? `${claim.lease}` : `${claim.lease} ${rounded.at}`;
    getOrCreateEntry(this.#groups, key, () => ({ claim, next: rounded, seqs: [] })).seqs.push(seq);
  }

  /** Writes the next poll times and clears the batch. */
  async writeTo(
    store: Pick<PollStore, 'scheduleSpread' | 'scheduleAt'>,
    { now, spread }: { readonly now: number; readonly spread: PollSpread },
  ): Promise<void> {
    const groups = this.#groups;
    this.#groups = new Map();
    for (const { claim, next, seqs } of groups.values()) {
      if (next.kind === 'at') await store.scheduleAt(seqs, claim.lease, next.at);
      else {
        // Between half a period and one and a half periods after the claim: a task polled late keeps its offset within
        // the period, a task without an offset gets one.
        const earliest = Math.max(now, claim.claimedAt + Math.ceil(spread.periodMs / 2));
        await store.scheduleSpread(seqs, claim.lease, earliest, spread);
      }
    }
  }
}

/** Spread of polls within a period: each task has its own offset, which distributes any number of tasks evenly. */
interface PollSpread {
  readonly periodMs: number;
  /** The offset of a task is its number times this, modulo the period. */
  readonly step: number;
}

const GOLDEN_SECTION = 0.618;

/**
 * The offsets for a period. Multiples of the golden ratio modulo 1 leave gaps of at most three sizes (three-gap
 * theorem), so tasks with consecutive numbers, submitted at once, spread over the whole period. A step coprime to the
 * period reaches every millisecond of it.
 */
function pollSpread(periodMs: number): PollSpread {
  let step = Math.max(1, Math.round(periodMs * GOLDEN_SECTION));
  while (greatestCommonDivisor(step, periodMs) > 1) step += 1;
  return { periodMs, step };
}

function greatestCommonDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestCommonDivisor(b, a % b);
}

interface PollingConcurrencyShareDependencies {
  readonly store: Pick<PollingProcessStore, 'renew' | 'remove'>;
  readonly pubSub: Pick<PubSub, 'publish' | 'subscribe'>;
  readonly clock: Clock;
  readonly log: Log;
}

const SHARE_CHANNEL = 'pollers';
const RENEW_INTERVAL_MS = 5_000;
/** A process that was killed or paused still counts for this long. */
const ALIVE_MS = 15_000;

/**
 * The processes that poll vendors on one database, and this process's share of their common limits. A process that
 * starts or stops notifies the others. Polls in flight beyond a share that has shrunk are finished, not aborted.
 */
export class PollingConcurrencyShare {
  readonly #dependencies: PollingConcurrencyShareDependencies;
  readonly #name = randomUUID();
  #count = 1;
  #rank = 0;
  #timer: NodeJS.Timeout | undefined;
  #unsubscribe: (() => void) | undefined;
  #renewing: Promise<void> | undefined;

  constructor(dependencies: PollingConcurrencyShareDependencies) {
    this.#dependencies = dependencies;
  }

  get count(): number {
    return this.#count;
  }

  /** Registers this process. Resolves when its share is known and the others have been notified. */
  async start(): Promise<void> {
    const renew = (): void => void this.renew();
    this.#unsubscribe = this.#dependencies.pubSub.subscribe(SHARE_CHANNEL, renew, renew);
    this.#timer = setInterval(renew, RENEW_INTERVAL_MS).unref();
    await this.renew();
    this.#dependencies.pubSub.publish(SHARE_CHANNEL, '');
  }

  /**
   * This process's share of `max` concurrent operations. The shares of all processes add up to `max`, but none is below
   * 1.
   */
  shareOf(max: number): number {
    const share = Math.floor(max / this.#count) + (this.#rank < max % this.#count ? 1 : 0);
    return Math.max(1, share);
  }

  /**
   * Renews this process's registration and counts the others. While the database is unavailable, the last count stays.
   */
  renew(): Promise<void> {
    const { store, clock, log } = this.#dependencies;
    this.#renewing ??= store
      .renew(this.#name, clock.now(), ALIVE_MS)
      .then(
        ({ count, rank }) => {
          this.#count = Math.max(1, count);
          this.#rank = rank;
        },
        (error: unknown) => log.warn({ err: error }, 'the processes that poll could not be counted'),
      )
      .finally(() => {
        this.#renewing = undefined;
      });
    return this.#renewing;
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    this.#unsubscribe?.();
    await this.#renewing;
    const { store, pubSub, log } = this.#dependencies;
    await store.remove(this.#name).catch((error: unknown) => log.debug({ err: error }, 'the process stays counted'));
    pubSub.publish(SHARE_CHANNEL, '');
  }
}

/** SQL of the processes that poll. */
export class PollingProcessStore {
  readonly #database: Database<Tables>;
  constructor(database: Database<Tables>) {
    this.#database = database;
  }

  /**
   * Registers a process as alive for `aliveMs`.
   * @returns the number of live processes, and how many of them have a smaller name
   */
  async renew(name: string, now: number, aliveMs: number): Promise<{ readonly count: number; readonly rank: number }> {
    const { kysely } = this.#database;
    await kysely
      .insertInto('pollers')
      .values({ name, alive_until: now + aliveMs })
      .onConflict((conflict) => conflict.column('name').doUpdateSet({ alive_until: now + aliveMs }))
      .execute();
    await kysely.deleteFrom('pollers').where('alive_until', '<=', now).execute();
    const rows = await kysely.selectFrom('pollers').select('name').execute();
    return { count: rows.length, rank: rows.filter((row) => row.name < name).length };
  }

  async remove(name: string): Promise<void> {
    await this.#database.kysely.deleteFrom('pollers').where('name', '=', name).execute();
  }
}

interface PollingDependencies extends Omit<PollSchedulerDependencies, 'store' | 'backoffs' | 'processes'> {
  readonly database: Database<Tables>;
  readonly pubSub: Pick<PubSub, 'publish' | 'subscribe'>;
}

/** Creates the scheduler of one process; it coordinates with other processes where the database permits several. */
export function makePollScheduler({ database, pubSub, ...dependencies }: PollingDependencies): PollScheduler {
  const { clock, log, periodMs } = dependencies;
  return new PollScheduler({
    ...dependencies,
    store: new PollStore(database),
    backoffs: new PollBackoff({ pubSub, clock, periodMs }),
    processes: hasConcurrentWriters(database.kysely)
      ? new PollingConcurrencyShare({ store: new PollingProcessStore(database), pubSub, clock, log })
      : undefined,
  });
}
