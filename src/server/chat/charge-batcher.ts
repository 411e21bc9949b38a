import { LRUCache } from 'lru-cache';
import { AppError } from '../platform/app-error.ts';
import { upToEntries } from '../platform/cache.ts';
import { type Database, DatabaseUnavailableError, RowsLockedError } from '../platform/db/database.ts';
import { hasConcurrentWriters } from '../platform/db/sql.ts';
import type { Log } from '../platform/log.ts';
import type { CallDetail, Ledger, Payer, Reservation, Settlement, TokenUsage } from '../quota/ledger.ts';
import type { Tables, Trx } from '../tables.ts';
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
const MAX_ACCOUNTS = 10_000;
/**
 * How long the shared transaction waits for row locks. The batch of another process holds them for some milliseconds,
 * on a busy machine some tens; a longer holder must not delay every call.
 */
const SHARED_WAIT_MS = 200;

/** One step of a model call. */
type CallWork = { readonly reservation: Reservation } | { readonly settlement: Settlement; readonly payer: Payer };

interface ChargeBatcherDependencies {
  readonly database: Database<Tables>;
  readonly quota: Pick<Ledger, 'charge'>;
  readonly log: Log;
  readonly journal: SettlementJournal;
}

/**
 * Writes the money of model calls: one reservation before anything is sent and one settlement or refund afterwards,
 * whatever happens in between.
 *
 * Concurrent jobs share a transaction, which saves most of the cost of each. If it fails, because an account cannot pay
 * or its rows are locked for long, the jobs of each account share one, and if that fails too, each job has its own.
 */
export class ChargeBatcher {
  readonly #dependencies: ChargeBatcherDependencies;
  readonly #isPostgres: boolean;
  readonly #shared: JobBatcher<CallWork>;
  /** Jobs whose shared transaction failed, by account; later jobs of these accounts join them. */
  readonly #own = new Map<number, JobBatcher<CallWork>>();
  readonly #isolatedAccounts = new LRUCache<number, true>({ ...upToEntries(MAX_ACCOUNTS), ttl: ISOLATION_MS });
  /** Number of calls in flight. */
  #openCalls = 0;
  /** Settlements in progress, and callbacks that wait until there are none. */
  #pendingSettlements = 0;
  readonly #idleWaiters: (() => void)[] = [];

  constructor(parts: ChargeBatcherDependencies) {
    this.#dependencies = parts;
    this.#isPostgres = hasConcurrentWriters(parts.database.kysely);
    this.#shared = this.#openQueue((jobs) =>
      this.#isPostgres ? this.#writeShared(jobs) : this.#writeUntilDecided(jobs),
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
      else await this.#write([{ reservation }], { onDecided }).then(() => this.#isolatedAccounts.delete(userId));
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
    return (this.#own.get(payerOf(work)) ?? this.#shared).add(work, waitMs, onDecided);
  }

  #ownQueue(userId: number): JobBatcher<CallWork> {
    const known = this.#own.get(userId);
    if (known !== undefined) return known;
    const queue = this.#openQueue(async (jobs) => {
      await this.#writeOwn(jobs);
      if (queue.hasNone) this.#own.delete(userId);
    });
    this.#own.set(userId, queue);
    return queue;
  }

  /** Does the jobs of all accounts in one transaction, or passes them on to the queues of their accounts. */
  async #writeShared(jobs: readonly Job<CallWork>[], onDecided?: () => void): Promise<void> {
    try {
      await this.#write(worksOf(jobs), { onDecided, lockTimeoutMs: SHARED_WAIT_MS });
      for (const job of jobs) job.resolve();
    } catch (error) {
      if (isFinal(jobs, error) && !(error instanceof RowsLockedError)) for (const job of jobs) job.reject(error);
      else for (const job of jobs) this.#ownQueue(payerOf(job.work)).push(job, 0);
    }
  }

  /** SQLite: the next batch does not wait for the flush of this one, so that its calls reach their upstreams. */
  async #writeUntilDecided(jobs: readonly Job<CallWork>[]): Promise<void> {
    const decided = Promise.withResolvers<void>();
    const onDecided = (): void => {
      for (const job of jobs) job.onDecided?.();
      decided.resolve();
    };
    void this.#writeShared(jobs, onDecided).finally(decided.resolve);
    await decided.promise;
  }

  /** Does the jobs of one account in one transaction, or each in its own. */
  async #writeOwn(jobs: readonly Job<CallWork>[]): Promise<void> {
    try {
      await this.#write(worksOf(jobs));
      for (const job of jobs) job.resolve();
    } catch (error) {
      if (isFinal(jobs, error)) for (const job of jobs) job.reject(error);
      else await Promise.all(jobs.map((job) => this.#write([job.work]).then(job.resolve, job.reject)));
    }
  }

  /** @param onDecided SQLite: called when every statement has succeeded */
  async #write(
    batch: readonly CallWork[],
    { onDecided, lockTimeoutMs }: { readonly onDecided?: () => void; readonly lockTimeoutMs?: number } = {},
  ): Promise<void> {
    const { quota, database } = this.#dependencies;
    const reservations = batch.flatMap((work) => ('reservation' in work ? work.reservation : []));
    const settlements = batch.flatMap((work) => ('settlement' in work ? work.settlement : []));
    const charge = async (trx: Trx): Promise<void> => {
      await quota.charge(trx, { reservations, settlements });
      if (!this.#isPostgres) onDecided?.();
    };
    await database.transaction(charge, { lockTimeoutMs, avoidsScans: true });
  }
}

const worksOf = (jobs: readonly Job<CallWork>[]): CallWork[] => jobs.map(({ work }) => work);

const payerOf = (work: CallWork): number => ('reservation' in work ? work.reservation : work.payer).userId;

/** Whether smaller transactions would fail too; without a database, jobs to retry are batched again instead. */
const isFinal = (jobs: readonly Job<CallWork>[], error: unknown): boolean =>
  jobs.length === 1 || error instanceof DatabaseUnavailableError;

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
