import { randomUUID } from 'node:crypto';
import { type RawBuilder, sql } from 'kysely';
import { LRUCache } from 'lru-cache';
import { upToEntries } from '../platform/cache.ts';
import type { Clock } from '../platform/clock.ts';
import type { Database } from '../platform/db/database.ts';
import type { PubSub } from '../platform/db/pub-sub.ts';
import { hasConcurrentWriters } from '../platform/db/sql.ts';
import type { Log } from '../platform/log.ts';
import type { Tables } from '../tables.ts';
import { accountKey } from '../upstreams/upstream.ts';
import type { PollResult, TaskPoller } from './poller.ts';
import type { Task } from './task-store.ts';

interface PollBackoffPerCredentialDependencies {
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

/** The only task of an account whose polls have failed since the last success; `several` where there are more. */
type FailingTask = number | 'several';

/** What one process tells the others of an account: a channel with one of its credentials. */
interface BackoffMessage extends Backoff {
  readonly sender: string;
  readonly account: string;
}

const SIGNAL_CHANNEL = 'poll_backoff';
const FAILURES_BEFORE_BACKOFF = 5;
const MAX_BACKOFF_MS = 5 * 60_000;
/** An odd task is decided within a few polls, so its pauses stay short. */
const MAX_ODD_BACKOFF_PERIODS = 8;
const MAX_TASKS_REMEMBERED = 10_000;

/**
 * Accounts that are not polled for a while, because polls of several of their tasks failed in succession, and tasks whose own polls did.
 * A single failing task pauses only itself. All processes hold back from an account together: the one that meets the failures informs
 * the others, and so does the one whose poll succeeds. A lost message costs each process five more failed polls.
 */
export class PollBackoffPerCredential {
  readonly #dependencies: PollBackoffPerCredentialDependencies;
  readonly #name = randomUUID();
  readonly #accounts = new Map<string, Backoff & { readonly failing: FailingTask }>();
  /** Consecutive failed or odd polls, by `seq` of the task. */
  readonly #tasks = new LRUCache<number, number>(upToEntries(MAX_TASKS_REMEMBERED));
  readonly #unsubscribe: () => void;

  constructor(dependencies: PollBackoffPerCredentialDependencies) {
    this.#dependencies = dependencies;
    this.#unsubscribe = dependencies.pubSub.subscribe(SIGNAL_CHANNEL, (payload) => this.#learn(JSON.parse(payload)));
  }

  /** Until when an account is not polled, Unix milliseconds; 0 for one that may be. */
  until(account: string): number {
    return this.#accounts.get(account)?.until ?? 0;
  }

  /**
   * A poll that says nothing about its task, by the fault of the account or the vendor.
   *
   * @param seq the task; undefined where the account could not be reached at all
   * @returns for how many milliseconds beyond the usual period the task is not polled
   */
  failed(account: string, seq: number | undefined): number {
    const { clock, periodMs } = this.#dependencies;
    const known = this.#accounts.get(account);
    const failures = (known?.failures ?? 0) + 1;
    const failing = seq !== undefined && (known?.failing ?? seq) === seq ? seq : 'several';
    const pauseMs = failing === 'several' ? backoffMs(failures, periodMs) : 0;
    const backoff = { failures, until: pauseMs === 0 ? 0 : clock.now() + pauseMs };
    this.#accounts.set(account, { ...backoff, failing });
    // Failures in between say what is known already, and there may be a hundred of them at once.
    if (pauseMs > 0 && (failures % FAILURES_BEFORE_BACKOFF === 0 || known?.until === 0)) this.#tell(account, backoff);
    return seq === undefined ? 0 : this.#pauseTask(seq, MAX_BACKOFF_MS);
  }

  /** An answer that shows that the account can be reached, and is odd for this task alone. @returns as `failed` */
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
    if (known.until > 0) this.#tell(account, { failures: 0, until: 0 });
  }

  #pauseTask(seq: number, maxMs: number): number {
    const failures = (this.#tasks.get(seq) ?? 0) + 1;
    this.#tasks.set(seq, failures);
    return Math.min(maxMs, backoffMs(failures, this.#dependencies.periodMs));
  }

  close(): void {
    this.#unsubscribe();
  }

  #tell(account: string, { failures, until }: Backoff): void {
    const message: BackoffMessage = { sender: this.#name, account, failures, until };
    this.#dependencies.pubSub.publish(SIGNAL_CHANNEL, JSON.stringify(message));
  }

  #learn({ sender, account, failures, until }: BackoffMessage): void {
    if (sender === this.#name) return;
    const known = this.#accounts.get(account);
    if (failures === 0) this.#accounts.delete(account);
    else if (known === undefined || until > known.until)
      this.#accounts.set(account, { failures, until, failing: 'several' });
  }
}

/** Milliseconds an account or a task is not polled after so many consecutive failures: nothing below five, then doubling with every five. */
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
  readonly backoffs: Pick<PollBackoffPerCredential, 'until' | 'failed' | 'odd' | 'succeeded' | 'close'>;
  /** The processes on this database; undefined where there is one. */
  readonly processes?: Pick<PollingConcurrencyShare, 'start' | 'stop' | 'shareOf'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly periodMs: number;
  /** Concurrent polls per credential of a channel over all processes; default {@link MAX_POLLS_PER_CHANNEL}. */
  readonly maxPerChannel?: number;
}

interface AccountQueue {
  /** Its key (`accountKey`). */
  readonly account: string;
  readonly waiting: Task[];
  running: number;
}

/** Concurrent polls per credential of a channel over all processes; further ones wait in a queue. */
export const MAX_POLLS_PER_CHANNEL = 96;
const CLAIM_BATCH = 500;
/** Tasks claimed and not yet polled, over all processes; none claims beyond its share, so that the others have something to do. */
const MAX_WAITING = 2_000;
/** Between claims, on average. Random, so that no process is always the first to find what has become due. */
const TICK_MS = 250;
/** A claim lasts two periods, and never less than this. Tasks claimed by a process that dies are due again afterwards. */
const MIN_LEASE_MS = 5_000;
/** No poll is scheduled further ahead than this and a few periods. */
const MAX_DELAY_MS = 2 * MAX_BACKOFF_MS;
/** What has been due for longer than this has been left: no process was running, or none had the database. */
const LEFT_MS = 2_000;

/**
 * Polls every unfinished task once a period. Due tasks are claimed in batches and put into one queue per credential of a channel with a bound on
 * concurrency, of which each process has a share, so that a slow or failing channel delays only its own tasks; a failing
 * channel backs off exponentially. After a pause, what was left meanwhile is spread, so that no vendor gets it at once.
 */
export class PollScheduler {
  readonly #dependencies: PollSchedulerDependencies;
  readonly #spread: PollSpread;
  readonly #queues = new Map<string, AccountQueue>();
  readonly #stopping = new AbortController();
  #timer: NodeJS.Timeout | undefined;
  #claiming = false;
  #waiting = 0;
  /** Claims of the tasks claimed here and not finished, by `seq`. */
  readonly #claims = new Map<number, Claim>();
  readonly #finished = new NextPollBatch();
  /** When due tasks were last claimed, by the monotonic clock; undefined before the first time. */
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

  /** Claims what is due and starts polling; safe to call at any time. */
  async tick(): Promise<void> {
    if (this.#claiming || this.#stopping.signal.aborted) return;
    this.#claiming = true;
    // Before the results of earlier polls are written: a process with many of them is busy, and was not paused.
    const pausedMs = performance.now() - (this.#lastClaimAt ?? Number.NEGATIVE_INFINITY);
    try {
      await this.#writeBack();
      if (pausedMs > LEFT_MS) await this.#spreadWhatWasLeft();
      await this.#claimDue();
    } catch (error) {
      this.#dependencies.log.error({ err: error }, 'due tasks could not be claimed');
    } finally {
      this.#claiming = false;
    }
  }

  /** Makes tasks due that are scheduled impossibly far ahead, as after a clock was set back; called every minute. */
  async limitPollTimes(): Promise<void> {
    const { store, clock, periodMs } = this.#dependencies;
    const now = clock.now();
    await store.limitNextPoll(now, now + MAX_DELAY_MS + 4 * periodMs);
  }

  /** Resolves when no poll is waiting or running; for tests and an orderly stop. */
  async idle(): Promise<void> {
    while (this.#waiting > 0 || [...this.#queues.values()].some((queue) => queue.running > 0))
      await new Promise((resolve) => setTimeout(resolve, 5));
    await this.#writeBack();
  }

  async stop(): Promise<void> {
    clearTimeout(this.#timer);
    this.#stopping.abort();
    // Claimed and not polled: due again at once, for the next process.
    const unpolled = [...this.#queues.values()].flatMap((queue) => queue.waiting.splice(0));
    this.#waiting = 0;
    const now = this.#dependencies.clock.now();
    for (const { seq } of unpolled) this.#finish(seq, { kind: 'at', at: now });
    await this.idle();
    this.#dependencies.backoffs.close();
    await this.#dependencies.processes?.stop();
  }

  /**
   * Over as long as it was left, a period at most: together with what is due by then, vendors get twice the usual rate, and the usual one after a
   * whole period, when nothing else is due. What has its new time while the rest is still being spread is polled then: fifty thousand take
   * seconds, and it would come at once afterwards.
   */
  async #spreadWhatWasLeft(): Promise<void> {
    const { store, clock, periodMs } = this.#dependencies;
    const now = clock.now();
    const leftMs = now - ((await store.oldestDue()) ?? now);
    if (leftMs <= LEFT_MS) return;
    const overMs = Math.min(leftMs, periodMs);
    while (!this.#stopping.signal.aborted && (await store.spreadDue(now, clock.now(), overMs, this.#spread)))
      await this.#claimDue(now);
  }

  /** Claims what is due; only what became due after `dueAfter`, where it is given. */
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
    // A task that outlasts its claim becomes due while it still waits or runs; claimed again, it continues under the new claim.
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
    const known = this.#queues.get(account);
    if (known !== undefined) return known;
    const queue: AccountQueue = { account, waiting: [], running: 0 };
    this.#queues.set(account, queue);
    return queue;
  }

  #drain(queue: AccountQueue): void {
    const { clock, poller, backoffs, maxPerChannel = MAX_POLLS_PER_CHANNEL } = this.#dependencies;
    while (queue.running < this.#shareOf(maxPerChannel)) {
      const task = queue.waiting.shift();
      if (task === undefined) return;
      this.#waiting -= 1;
      const now = clock.now();
      // A process that was paused must not poll what another has claimed meanwhile.
      if (now >= (this.#claims.get(task.seq)?.lease ?? 0)) {
        this.#claims.delete(task.seq);
        continue;
      }
      // A channel's backoff never delays a task's deadline: its quota would stay reserved for as long.
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
      const pauseMs = this.#learn(result, queue.account, task.seq);
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

  /** @returns for how long beyond a period the task is not polled */
  #learn(result: PollResult, account: string, seq: number): number {
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

/** Rows of one statement: some milliseconds on SQLite, during which nothing else is written. */
const ROWS_PER_WRITE = 500;

/** SQL of the times at which tasks are polled. */
export class PollStore {
  readonly #database: Database<Tables>;
  constructor(database: Database<Tables>) {
    this.#database = database;
  }

  /**
   * Claims due tasks for this process by moving their next poll one lease ahead; exactly one process claims a row. Tasks of a
   * process that dies are due again when the lease ends, which is their `next_poll_at`. Only those are claimed that became due after `dueAfter`.
   */
  async claimDue(now: number, leaseMs: number, limit: number, dueAfter = -1): Promise<Task[]> {
    return this.#database.transaction(async (trx) => {
      const due = trx
        .selectFrom('tasks')
        .select('seq')
        .where('next_poll_at', '>', dueAfter)
        .where('next_poll_at', '<=', now)
        .orderBy('next_poll_at')
        .limit(limit)
        .forUpdate()
        .skipLocked();
      return trx
        .updateTable('tasks')
        .set({ next_poll_at: now + leaseMs })
        .where('seq', 'in', due)
        .returningAll()
        .execute();
    });
  }

  /**
   * Schedules tasks claimed until `lease`, each for its own time within the period, at or after `earliest`. A task whose claim has ended meanwhile may be claimed by
   * another process: its next poll is not changed.
   */
  async scheduleSpread(seqs: readonly number[], lease: number, earliest: number, spread: PollSpread): Promise<void> {
    await this.#schedule(seqs, lease, nextSpreadTime(earliest, spread));
  }

  /** The same at one time for all. */
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

  /** When the task that has waited longest was due; undefined when none is unfinished. */
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
   * Spreads some of what was due at `dueAt` over the time from `now` on; over a period, each task at its own time within it, so that its next
   * poll is a period later. @returns whether there may be more of it
   */
  async spreadDue(dueAt: number, now: number, overMs: number, spread: PollSpread): Promise<boolean> {
    const { periodMs, step } = spread;
    // At least a millisecond ahead, so that no row is met twice.
    const earliest = now + 1;
    const next_poll_at =
      overMs === periodMs
        ? nextSpreadTime(earliest, spread)
        : sql<number>`${earliest} + (seq * ${sql.lit(step)}) % ${sql.lit(periodMs)} * ${overMs} / ${sql.lit(periodMs)}`;
    const due = this.#database.kysely
      .selectFrom('tasks')
      .select('seq')
      .where('next_poll_at', '<=', dueAt)
      .orderBy('next_poll_at')
      .limit(ROWS_PER_WRITE)
      .forUpdate()
      .skipLocked();
    const { numUpdatedRows } = await this.#database.kysely
      .updateTable('tasks')
      .set({ next_poll_at })
      .where('seq', 'in', due)
      .executeTakeFirst();
    return Number(numUpdatedRows) === ROWS_PER_WRITE;
  }

  /** Makes tasks due whose next poll is after `latest`, later than any is scheduled: the clock was set back. */
  async limitNextPoll(now: number, latest: number): Promise<void> {
    await this.#database.kysely
      .updateTable('tasks')
      .set({ next_poll_at: now })
      .where('next_poll_at', '>', latest)
      .execute();
  }
}

/** The next poll of a task at its own time within the period, at or after `earliest`; in SQL. */
const nextSpreadTime = (earliest: number, { periodMs, step }: PollSpread): RawBuilder<number> => sql<number>`
  ${earliest} + ((seq * ${sql.lit(step)}) % ${sql.lit(periodMs)} + ${sql.lit(periodMs - (earliest % periodMs))}) % ${sql.lit(periodMs)}`;

/** What becomes of a claimed task: polled again a period later, or at a time of its own. */
type NextPoll = { readonly kind: 'period' } | { readonly kind: 'at'; readonly at: number };

/** A claim of tasks: when it was made and until when it lasts, which identifies it. Unix milliseconds. */
interface Claim {
  readonly claimedAt: number;
  readonly lease: number;
}

interface Group {
  readonly claim: Claim;
  readonly next: NextPoll;
  readonly seqs: number[];
}

/** Times are rounded up to this, so that thousands of polls that were put off take few writes. */
const ROUNDING_MS = 250;

/** Tasks whose polls are over, gathered so that thousands of them take few writes. */
class NextPollBatch {
  #groups = new Map<string, Group>();

  add(seq: number, claim: Claim, next: NextPoll): void {
    const rounded = next.kind === 'period' ? next : { ...next, at: Math.ceil(next.at / ROUNDING_MS) * ROUNDING_MS };
    const key = rounded.kind === 'period' ? `${claim.lease}` : `${claim.lease} ${rounded.at}`;
    const known = this.#groups.get(key);
    if (known === undefined) this.#groups.set(key, { claim, next: rounded, seqs: [seq] });
    else known.seqs.push(seq);
  }

  /** Writes when they are polled next, and begins anew. */
  async writeTo(
    store: Pick<PollStore, 'scheduleSpread' | 'scheduleAt'>,
    { now, spread }: { readonly now: number; readonly spread: PollSpread },
  ): Promise<void> {
    const groups = this.#groups;
    this.#groups = new Map();
    for (const { claim, next, seqs } of groups.values()) {
      if (next.kind === 'at') await store.scheduleAt(seqs, claim.lease, next.at);
      else {
        // Between half a period and one and a half from the claim: a task polled late keeps its time within the period, one without gets its own.
        const earliest = Math.max(now, claim.claimedAt + Math.ceil(spread.periodMs / 2));
        await store.scheduleSpread(seqs, claim.lease, earliest, spread);
      }
    }
  }
}

/** When tasks are polled within a period: each at an offset of its own, which spreads any number of them evenly over it. */
interface PollSpread {
  readonly periodMs: number;
  /** The offset of a task is its number times this, modulo the period. */
  readonly step: number;
}

const GOLDEN_SECTION = 0.618;

/**
 * The offsets of a period. Multiples of the golden section modulo 1 leave gaps of at most three sizes between them (three-gap theorem), so
 * that tasks with consecutive numbers, submitted at once, spread over the whole period; a step without a common divisor with the
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
/** A process that is killed or paused counts for so long. */
const ALIVE_MS = 15_000;

/**
 * The processes that poll vendors on one database, and the share of this one in what all of them together may do at once. A process that
 * comes or goes tells the others; what is under way beyond a share that has become smaller is finished, not cut off.
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

  /** Counts this process; resolves when its share is known and the others have been told. */
  async start(): Promise<void> {
    const renew = (): void => void this.renew();
    this.#unsubscribe = this.#dependencies.pubSub.subscribe(SHARE_CHANNEL, renew, renew);
    this.#timer = setInterval(renew, RENEW_INTERVAL_MS).unref();
    await this.renew();
    this.#dependencies.pubSub.publish(SHARE_CHANNEL, '');
  }

  /** How many of `max` this process may do at once: the shares of all add up to `max`, and none is below 1. */
  shareOf(max: number): number {
    const share = Math.floor(max / this.#count) + (this.#rank < max % this.#count ? 1 : 0);
    return Math.max(1, share);
  }

  /** Says that this process is alive and counts the others; while the database is away, the last count stays. */
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

  /** Counts a process as alive for `aliveMs`. @returns how many are, and how many of them have a smaller name */
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

/** The scheduler of one process, which knows of the other processes where there may be some. */
export function makePollScheduler({ database, pubSub, ...dependencies }: PollingDependencies): PollScheduler {
  const { clock, log, periodMs } = dependencies;
  return new PollScheduler({
    ...dependencies,
    store: new PollStore(database),
    backoffs: new PollBackoffPerCredential({ pubSub, clock, periodMs }),
    processes: hasConcurrentWriters(database.kysely)
      ? new PollingConcurrencyShare({ store: new PollingProcessStore(database), pubSub, clock, log })
      : undefined,
  });
}
