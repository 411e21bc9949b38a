import { LRUCache } from 'lru-cache';
import { AppError } from '../platform/app-error.ts';
import { upToEntries } from '../platform/cache.ts';
import { type Database, DatabaseUnavailableError } from '../platform/db/database.ts';
import { hasConcurrentWriters } from '../platform/db/sql.ts';
import type { Log } from '../platform/log.ts';
import type { CallDetail, CallWork, Ledger, Payer, Reservation, Settlement, TokenUsage } from '../quota/ledger.ts';
import type { Tables } from '../tables.ts';
import type { JournaledEnd, SettlementJournal } from './settlement-journal.ts';

/**
 * Settlements are delayed by this to share a transaction, because no caller waits for them and each would otherwise
 * cost a disk write.
 */
const SETTLEMENT_DELAY_MS = 5;
/** A reservation waits one millisecond per this many calls in flight, so that others can join its batch. */
const CALLS_PER_DELAY_MS = 200;
const RETRIES_MS = [50, 500, 5_000, 30_000];
const LOGGED_ATTEMPT = 3;
/**
 * How long a recently refused account gets transactions of its
 * own, because its refusals would roll back the work of others.
 */
const ISOLATION_MS = 60_000;
/** How long calls of an account and token that needed a transaction skip the common statement. */
const APART_MS = 5_000;
const MAX_ACCOUNTS = 10_000;
/**
 * How long the common statement waits for row locks. Other processes hold them for a few milliseconds; a longer holder
 * must not delay every call.
 */
const SHARED_WAIT_MS = 50;

interface ChargeBatcherDependencies {
  readonly database: Database<Tables>;
  readonly quota: Pick<Ledger, 'reserveAll' | 'settleAll' | 'chargeCalls'>;
  readonly log: Log;
  readonly journal: SettlementJournal;
}

/**
 * Writes the money of model calls: one reservation before anything is sent and one settlement or refund afterwards,
 * whatever happens in between.
 *
 * Concurrent jobs are batched, which saves most of the cost of each. On SQLite they share a transaction; if one fails,
 * all are rolled back and repeated one by one. On PostgreSQL they share one statement (`Ledger.chargeCalls`), which
 * skips jobs that are not simple or whose rows are locked for long. The skipped jobs of one account and token share a
 * statement that waits for the locks, and then a transaction. Such a transaction must lock its rows in the same order
 * as a single one (plan, token, wallet), or two processes would deadlock. It therefore covers one token only, and
 * reservations, which lock the plan, go first.
 */
export class ChargeBatcher {
  readonly #dependencies: ChargeBatcherDependencies;
  readonly #isPostgres: boolean;
  readonly #shared: JobBatcher<CallWork>;
  /** PostgreSQL: jobs the shared queue could not do, by account and token. */
  readonly #own = new Map<string, JobBatcher<CallWork>>();
  readonly #apart = new LRUCache<string, true>({ ...upToEntries(MAX_ACCOUNTS), ttl: APART_MS });
  readonly #isolatedAccounts = new LRUCache<number, true>({ ...upToEntries(MAX_ACCOUNTS), ttl: ISOLATION_MS });
  /** Jobs that no common statement can do. */
  readonly #needsTransaction = new WeakSet<Job<CallWork>>();
  /** Number of calls in flight. */
  #openCalls = 0;
  /** Settlements in progress, and callbacks that wait until there are none. */
  #pendingSettlements = 0;
  readonly #idleWaiters: (() => void)[] = [];

  constructor(parts: ChargeBatcherDependencies) {
    this.#dependencies = parts;
    this.#isPostgres = hasConcurrentWriters(parts.database.kysely);
    this.#shared = this.#openQueue((jobs) =>
      this.#isPostgres ? this.#chargeTogether(jobs) : this.#transactUntilDecided(jobs),
    );
  }

  /**
   * Durable when it resolves.
   * @param onDecided called once the quota is reserved and only the flush is left, at most once and not in all cases
   * @throws AppError `quota_not_enough`
   */
  async reserve(reservation: Reservation, onDecided?: () => void): Promise<void> {
    const { userId, ref } = reservation;
    this.#openCalls++;
    try {
      if (!this.#isolatedAccounts.has(userId)) await this.#enqueue({ reservation }, 0, onDecided);
      else await this.#write([{ reservation }], onDecided).then(() => this.#isolatedAccounts.delete(userId));
    } catch (error) {
      if (error instanceof AppError) {
        this.#openCalls--;
        this.#isolatedAccounts.set(userId, true);
      }
      // If the result of the commit was lost, the reservation may exist although no call would settle it: refund it.
      else void this.refund(reservation, ref);
      throw error;
    }
  }

  /** Settles an account's reservation at its cost. Never throws, and callers do not wait for it. */
  settle(payer: Payer, ref: string, cost: number, use: TokenUsage, detail?: CallDetail): void {
    const end = { ref, cost, usage: use, detail };
    const journaled = this.#dependencies.journal.close(end);
    this.track(this.#writeWithRetries(payer, end, journaled, SETTLEMENT_DELAY_MS));
  }

  /**
   * Releases an account's reservation. Never rejects.
   * @returns a promise that resolves when the refund is durable, or was abandoned
   */
  refund(payer: Payer, ref: string, detail?: CallDetail): Promise<void> {
    const end = { ref, detail };
    const journaled = this.#dependencies.journal.close(end);
    const work = this.#writeWithRetries(payer, end, journaled, 0);
    this.track(work);
    return work;
  }

  /** Makes `idle` wait for work that leads to a settlement or refund. */
  track(work: Promise<void>): void {
    this.#pendingSettlements++;
    const done = (): void => {
      this.#pendingSettlements--;
      if (this.#pendingSettlements === 0) for (const tell of this.#idleWaiters.splice(0)) tell();
    };
    work.then(done, done);
  }

  /** Resolves when every pending settlement and refund is on disk, or was abandoned. */
  async idle(): Promise<void> {
    while (this.#pendingSettlements > 0) await new Promise<void>((resolve) => this.#idleWaiters.push(resolve));
  }

  /** Retries as long as the process lives; work it cannot complete stays in the journal. */
  async #writeWithRetries(
    payer: Payer,
    end: Settlement,
    journaled: JournaledEnd | undefined,
    delayMs: number,
  ): Promise<void> {
    this.#openCalls--;
    const { journal, log } = this.#dependencies;
    for (let attempt = 0; ; attempt++) {
      try {
        await this.#enqueue({ settlement: end, payer }, delayMs);
        journal.settled(journaled);
        return;
      } catch (error) {
        if (error instanceof AppError || error instanceof TypeError) {
          journal.settled(journaled);
          log.error({ err: error, ref: end.ref }, 'a model call could not be settled');
          return;
        }
        if (attempt === LOGGED_ATTEMPT) log.error({ err: error, ref: end.ref }, 'a settlement waits for the database');
        const waitMs = RETRIES_MS[Math.min(attempt, RETRIES_MS.length - 1)];
        await new Promise((resolve) => setTimeout(resolve, waitMs).unref());
      }
    }
  }

  #openQueue(write: (jobs: readonly Job<CallWork>[]) => Promise<void>): JobBatcher<CallWork> {
    return new JobBatcher(write, () => Math.floor(this.#openCalls / CALLS_PER_DELAY_MS));
  }

  #enqueue(work: CallWork, waitMs: number, onDecided?: () => void): Promise<void> {
    if (!this.#isPostgres) return this.#shared.add(work, waitMs, onDecided);
    const key = keyOf(work);
    const own = this.#apart.has(key) ? this.#ownQueue(key) : this.#own.get(key);
    return (own ?? this.#shared).add(work, waitMs);
  }

  #ownQueue(key: string): JobBatcher<CallWork> {
    const known = this.#own.get(key);
    if (known !== undefined) return known;
    const queue = this.#openQueue(async (jobs) => {
      await this.#transact(this.#apart.has(key) ? jobs : await this.#chargeOwn(jobs));
      if (queue.hasNone) this.#own.delete(key);
    });
    this.#own.set(key, queue);
    return queue;
  }

  /** Does all jobs in one statement; the jobs it skips wait for a statement or a transaction of their account. */
  async #chargeTogether(jobs: readonly Job<CallWork>[]): Promise<void> {
    try {
      const outcomes = await this.#dependencies.quota.chargeCalls(worksOf(jobs), SHARED_WAIT_MS);
      for (const [index, job] of jobs.entries()) {
        if (outcomes[index] === 'done') {
          job.resolve();
          continue;
        }
        const key = keyOf(job.work);
        if (outcomes[index] === 'apart') this.#needsTransaction.add(job);
        if (outcomes[index] === 'apart' && 'reservation' in job.work) this.#apart.set(key, true);
        this.#ownQueue(key).push(job, 0);
      }
    } catch (error) {
      for (const job of this.#rejectIfUnavailable(jobs, error)) this.#ownQueue(keyOf(job.work)).push(job, 0);
    }
  }

  /**
   * Does one account's jobs in one statement that waits for its rows.
   * @returns the jobs left to do
   */
  async #chargeOwn(jobs: readonly Job<CallWork>[]): Promise<readonly Job<CallWork>[]> {
    const [apart, simple] = [[], []] as [Job<CallWork>[], Job<CallWork>[]];
    for (const job of jobs) (this.#needsTransaction.has(job) ? apart : simple).push(job);
    if (simple.length === 0) return apart;
    try {
      const outcomes = await this.#dependencies.quota.chargeCalls(worksOf(simple), 0);
      for (const [index, job] of simple.entries()) {
        if (outcomes[index] === 'done') job.resolve();
        else apart.push(job);
      }
      return apart;
    } catch (error) {
      return [...apart, ...this.#rejectIfUnavailable(simple, error)];
    }
  }

  /**
   * Without a database jobs are not retried one by one: those that must be retried are batched again. After any other
   * error each job needs a transaction.
   */
  #rejectIfUnavailable(jobs: readonly Job<CallWork>[], error: unknown): readonly Job<CallWork>[] {
    for (const job of jobs) {
      if (error instanceof DatabaseUnavailableError) job.reject(error);
      else this.#needsTransaction.add(job);
    }
    return error instanceof DatabaseUnavailableError ? [] : jobs;
  }

  /** SQLite: the next batch does not wait for the flush of this one, so that its calls reach their upstreams. */
  async #transactUntilDecided(jobs: readonly Job<CallWork>[]): Promise<void> {
    const decided = Promise.withResolvers<void>();
    const onDecided = (): void => {
      for (const job of jobs) job.onDecided?.();
      decided.resolve();
    };
    void this.#transact(jobs, onDecided).finally(decided.resolve);
    await decided.promise;
  }

  /** Does all jobs in one transaction, or each in its own if one of them fails. */
  async #transact(jobs: readonly Job<CallWork>[], onDecided?: () => void): Promise<void> {
    if (jobs.length === 0) return;
    try {
      await this.#write(worksOf(jobs), onDecided);
      for (const job of jobs) job.resolve();
    } catch (error) {
      if (jobs.length === 1 || error instanceof DatabaseUnavailableError) for (const job of jobs) job.reject(error);
      else await Promise.all(jobs.map((job) => this.#write([job.work]).then(job.resolve, job.reject)));
    }
  }

  /** @param onDecided called when every statement has succeeded */
  async #write(batch: readonly CallWork[], onDecided?: () => void): Promise<void> {
    const { quota, database } = this.#dependencies;
    const reservations = batch.flatMap((work) => ('reservation' in work ? work.reservation : []));
    const settlements = batch.flatMap((work) => ('settlement' in work ? work.settlement : []));
    await database.transaction(async (trx) => {
      // With one shared queue no row lock is awaited, so settlements go first: the quota they release can be reserved
      // again at once.
      if (!this.#isPostgres) await quota.settleAll(trx, settlements);
      await quota.reserveAll(trx, reservations);
      if (this.#isPostgres) await quota.settleAll(trx, settlements);
      else onDecided?.();
    });
  }
}

const worksOf = (jobs: readonly Job<CallWork>[]): CallWork[] => jobs.map(({ work }) => work);

function keyOf(work: CallWork): string {
  const { userId, tokenId } = 'reservation' in work ? work.reservation : work.payer;
  return `${userId} ${tokenId}`;
}

/** A queued piece of work and the callbacks of its caller. */
interface Job<W> {
  readonly work: W;
  readonly onDecided?: (() => void) | undefined;
  resolve(): void;
  reject(error: unknown): void;
}

/** A larger batch would delay each of its jobs too long. */
const MAX_BATCH_SIZE = 128;
const MAX_DELAY_MS = 5;

/** Collects jobs into batches: those that arrive while a batch is written form the next one. */
class JobBatcher<W> {
  readonly #write: (jobs: readonly Job<W>[]) => Promise<void>;
  readonly #minDelayMs: () => number;
  readonly #jobs: Job<W>[] = [];
  #busy = false;
  #timer: NodeJS.Timeout | undefined;

  /**
   * @param write settles every job of a batch, perhaps after it resolves, and never rejects
   * @param minDelayMs minimum time a batch waits for more jobs
   */
  constructor(write: (jobs: readonly Job<W>[]) => Promise<void>, minDelayMs: () => number) {
    this.#write = write;
    this.#minDelayMs = minDelayMs;
  }

  /** Whether no job is queued; a batch may still be in the process of being written. */
  get hasNone(): boolean {
    return this.#jobs.length === 0;
  }

  /** @param waitMs how long the job may wait for others to share its batch */
  add(work: W, waitMs: number, onDecided?: () => void): Promise<void> {
    return new Promise((resolve, reject) => this.push({ work, onDecided, resolve, reject }, waitMs));
  }

  push(job: Job<W>, waitMs: number): void {
    this.#jobs.push(job);
    if (this.#busy) return;
    if (waitMs === 0) void this.#drain();
    else this.#timer ??= setTimeout(() => void this.#drain(), waitMs);
  }

  async #drain(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#busy = true;
    while (this.#jobs.length > 0) {
      await this.#collect();
      await this.#write(this.#jobs.splice(0, MAX_BATCH_SIZE));
    }
    this.#busy = false;
  }

  /**
   * Waits as long as every turn of the event loop adds jobs, at least for the requested delay and at most for 5 ms.
   */
  async #collect(): Promise<void> {
    const begunAt = performance.now();
    const minDelayMs = Math.min(MAX_DELAY_MS, this.#minDelayMs());
    if (minDelayMs > 0) await new Promise((resolve) => setTimeout(resolve, minDelayMs));
    for (let before = 0; this.#jobs.length > before && performance.now() - begunAt < MAX_DELAY_MS; ) {
      before = this.#jobs.length;
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
}
