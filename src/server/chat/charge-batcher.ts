import { LRUCache } from 'lru-cache';
import type { Database } from '../platform/db/database.ts';
import { DatabaseUnavailableError } from '../platform/db/database-errors.ts';
import { hasConcurrentWriters } from '../platform/db/dialect.ts';
import { AppError } from '../platform/errors.ts';
import type { Log } from '../platform/log.ts';
import type { CallDetail, Ledger, Reservation, Settlement, TokenUsage } from '../quota/ledger.ts';
import type { Tables } from '../tables.ts';
import type { SettlementJournal } from './settlement-journal.ts';

/** Whose money it is, and by which token it is spent. */
export type Payer = Pick<Reservation, 'userId' | 'tokenId'>;

interface LedgerWork {
  readonly reservation?: Reservation;
  readonly settlement?: Settlement;
}

interface QueuedWork extends LedgerWork {
  resolve(): void;
  reject(error: unknown): void;
}

/** A larger batch would delay each of its calls too long. */
const MAX_BATCH_SIZE = 128;
/** No caller waits for a settlement, so it is delayed to share a transaction: alone it would cost a disk write of its own. */
const SETTLEMENT_DELAY_MS = 5;
/** A reservation waits one millisecond per this many calls in progress, so that others can join its transaction. */
const CALLS_PER_DELAY_MS = 200;
const MAX_DELAY_MS = 5;
const RETRIES_MS = [50, 500, 5_000, 30_000];
const LOGGED_ATTEMPT = 3;
/** A recently refused account gets its own transactions for this long, as its refusals would roll back the work of others. */
const ISOLATION_MS = 60_000;
const MAX_ISOLATED_ACCOUNTS = 10_000;
/** SQLite has one writer anyway, so everybody shares its queue. */
const SHARED_QUEUE_KEY = '';

interface Queue {
  readonly jobs: QueuedWork[];
  busy: boolean;
  timer: NodeJS.Timeout | undefined;
}

export interface ChargeBatcherDependencies {
  readonly database: Database<Tables>;
  readonly quota: Ledger;
  readonly log: Log;
  readonly journal: SettlementJournal;
}

/**
 * The money of model calls: one reservation before anything is sent, one end afterwards, whatever happens between.
 *
 * Pieces of work that wait at the same time share a transaction, which saves most of the cost of each: on SQLite all of
 * them, on PostgreSQL those of one account and token, which would wait for each other at its wallet. One that fails undoes
 * them all, so all are then done again one by one. A single reservation is written without delay.
 *
 * On PostgreSQL a shared transaction must take its rows in the order a lone one does (plan, token, wallet), or two processes
 * would each hold what the other waits for. So it knows one token only, and reservations, which take the plan, go first.
 */
export class ChargeBatcher {
  readonly #dependencies: ChargeBatcherDependencies;
  readonly #hasSharedQueue: boolean;
  readonly #queues = new Map<string, Queue>();
  readonly #isolatedAccounts = new LRUCache<number, true>({ max: MAX_ISOLATED_ACCOUNTS, ttl: ISOLATION_MS });
  /** Calls in progress. */
  #openCalls = 0;
  /** Settlements in progress, and callbacks waiting until there are none. */
  #pendingSettlements = 0;
  readonly #idleWaiters: (() => void)[] = [];

  constructor(parts: ChargeBatcherDependencies) {
    this.#dependencies = parts;
    this.#hasSharedQueue = !hasConcurrentWriters(parts.database.kysely);
  }

  /** Durable when it resolves. @throws AppError `quota_not_enough` */
  async reserve(reservation: Reservation): Promise<void> {
    const { userId, ref } = reservation;
    this.#openCalls++;
    try {
      if (!this.#isolatedAccounts.has(userId)) await this.#enqueue(reservation, { reservation }, 0);
      else await this.#write([{ reservation }]).then(() => this.#isolatedAccounts.delete(userId));
    } catch (error) {
      if (error instanceof AppError) {
        this.#openCalls--;
        this.#isolatedAccounts.set(userId, true);
      }
      // If the result of the commit was lost, the reservation may exist, and no call would settle it: refund it.
      else void this.refund(reservation, ref);
      throw error;
    }
  }

  /** Ends an account's reservation by its cost; never throws and is not waited for. */
  settle(payer: Payer, ref: string, cost: number, use: TokenUsage, detail?: CallDetail): void {
    const end = { ref, cost, usage: use, detail };
    this.#dependencies.journal.close(end);
    this.track(this.#writeWithRetries(payer, end, SETTLEMENT_DELAY_MS));
  }

  /** Closes an account's reservation by returning it. Never rejects. @returns when it is durable, or was given up */
  refund(payer: Payer, ref: string, detail?: CallDetail): Promise<void> {
    const end = { ref, detail };
    this.#dependencies.journal.close(end);
    const work = this.#writeWithRetries(payer, end, 0);
    this.track(work);
    return work;
  }

  /** Keeps `idle` waiting for something that leads to an end. */
  track(work: Promise<void>): void {
    this.#pendingSettlements++;
    const done = (): void => {
      this.#pendingSettlements--;
      if (this.#pendingSettlements === 0) for (const tell of this.#idleWaiters.splice(0)) tell();
    };
    work.then(done, done);
  }

  /** Resolves when every end asked for is on the disk, or was given up. */
  async idle(): Promise<void> {
    while (this.#pendingSettlements > 0) await new Promise<void>((resolve) => this.#idleWaiters.push(resolve));
  }

  /** Tries for as long as the process lives; what it does not bring to an end is in the journal. */
  async #writeWithRetries(payer: Payer, end: Settlement, delayMs: number): Promise<void> {
    this.#openCalls--;
    const { journal, log } = this.#dependencies;
    for (let attempt = 0; ; attempt++) {
      try {
        await this.#enqueue(payer, { settlement: end }, delayMs);
        journal.settled(end.ref);
        return;
      } catch (error) {
        if (error instanceof AppError || error instanceof TypeError) {
          journal.settled(end.ref);
          log.error({ err: error, ref: end.ref }, 'a model call could not be settled');
          return;
        }
        if (attempt === LOGGED_ATTEMPT) log.error({ err: error, ref: end.ref }, 'a settlement waits for the database');
        const waitMs = RETRIES_MS[Math.min(attempt, RETRIES_MS.length - 1)];
        await new Promise((resolve) => setTimeout(resolve, waitMs).unref());
      }
    }
  }

  #enqueue({ userId, tokenId }: Payer, work: LedgerWork, waitMs: number): Promise<void> {
    const key = this.#hasSharedQueue ? SHARED_QUEUE_KEY : `${userId} ${tokenId}`;
    const queue = this.#queues.get(key) ?? { jobs: [], busy: false, timer: undefined };
    this.#queues.set(key, queue);
    return new Promise((resolve, reject) => {
      queue.jobs.push({ ...work, resolve, reject });
      if (queue.busy) return;
      if (waitMs === 0) void this.#drain(key, queue);
      else queue.timer ??= setTimeout(() => void this.#drain(key, queue), waitMs);
    });
  }

  async #write(batch: readonly LedgerWork[]): Promise<void> {
    const { quota, database } = this.#dependencies;
    const reservations = batch.flatMap(({ reservation }) => reservation ?? []);
    const settlements = batch.flatMap(({ settlement }) => settlement ?? []);
    await database.transaction(async (trx) => {
      // With one shared queue no row lock is waited for, so settlements go first: returned quota can be reserved again at once.
      if (this.#hasSharedQueue) await quota.settleAll(trx, settlements);
      await quota.reserveAll(trx, reservations);
      if (!this.#hasSharedQueue) await quota.settleAll(trx, settlements);
    });
  }

  /**
   * Waits for more jobs: as long as every turn of the event loop adds some, and longer the more calls are in progress, since
   * more jobs will then arrive soon, and the delay is small compared with what the calls wait for anyway.
   */
  async #collectBatch(jobs: readonly QueuedWork[]): Promise<void> {
    const begunAt = performance.now();
    const minDelayMs = Math.min(MAX_DELAY_MS, Math.floor(this.#openCalls / CALLS_PER_DELAY_MS));
    if (minDelayMs > 0) await new Promise((resolve) => setTimeout(resolve, minDelayMs));
    for (let before = 0; jobs.length > before && performance.now() - begunAt < MAX_DELAY_MS; ) {
      before = jobs.length;
      await new Promise((resolve) => setImmediate(resolve));
    }
  }

  async #drain(key: string, queue: Queue): Promise<void> {
    clearTimeout(queue.timer);
    queue.timer = undefined;
    queue.busy = true;
    while (queue.jobs.length > 0) {
      await this.#collectBatch(queue.jobs);
      const jobs = queue.jobs.splice(0, MAX_BATCH_SIZE);
      try {
        await this.#write(jobs);
        for (const job of jobs) job.resolve();
      } catch (error) {
        // If the database is unavailable, the jobs are not retried one by one: those that must be retried are batched again.
        if (jobs.length === 1 || error instanceof DatabaseUnavailableError) for (const job of jobs) job.reject(error);
        else await Promise.all(jobs.map((job) => this.#write([job]).then(job.resolve, job.reject)));
      }
    }
    queue.busy = false;
    if (!this.#hasSharedQueue) this.#queues.delete(key);
  }
}
