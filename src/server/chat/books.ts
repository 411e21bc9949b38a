import type { Transaction } from 'kysely';
import type { Database } from '../platform/db/database.ts';
import { AppError } from '../platform/errors.ts';
import type { Log } from '../platform/log.ts';
import type { Quota, Reservation } from '../quota/quota.ts';
import type { Tables } from '../tables.ts';
import type { Usage } from './usage.ts';

type Trx = Transaction<Tables>;
type Work = (trx: Trx) => Promise<unknown>;

interface Job {
  readonly work: Work;
  resolve(): void;
  reject(error: unknown): void;
}

/** More would make each of them wait too long for its answer. */
const LARGEST_BATCH = 128;
/** Nobody waits for an end, so it waits a moment for company: alone it would cost the next caller a second trip to the disk. */
const END_WAIT_MS = 5;
const RETRIES_MS = [50, 500, 5_000, 30_000];

export interface BooksParts {
  readonly database: Database<Tables>;
  readonly quota: Quota;
  readonly log: Log;
}

/**
 * The money of model calls: one reservation before anything is sent, one end afterwards, whatever happens between.
 *
 * On SQLite, which has one writer anyway, pieces of work that wait at the same time share a transaction: that spares most
 * of the cost of each. One that fails undoes them all, so all are then done again one by one. A lone piece waits for nobody.
 */
export class Books {
  readonly #parts: BooksParts;
  readonly #shares: boolean;
  #waiting: Job[] = [];
  #busy = false;
  #later: NodeJS.Timeout | undefined;
  readonly #ends = new Set<Promise<void>>();

  constructor(parts: BooksParts) {
    this.#parts = parts;
    this.#shares = parts.database.dialect === 'sqlite';
  }

  /** Durable when it resolves. @throws AppError `quota_not_enough`, `token_quota_not_enough` */
  reserve(reservation: Reservation): Promise<void> {
    return this.#do((trx) => this.#parts.quota.reserve(trx, reservation), 0);
  }

  /** Ends a reservation by its cost; never throws and is not waited for. */
  settle(ref: string, cost: number, use: Usage): void {
    this.#end(ref, (trx) => this.#parts.quota.settle(trx, ref, cost, use));
  }

  /** Ends a reservation by giving it back; never throws and is not waited for. */
  refund(ref: string): void {
    this.#end(ref, (trx) => this.#parts.quota.refund(trx, ref));
  }

  /** Keeps `idle` waiting for something that leads to an end. */
  follow(work: Promise<void>): void {
    this.#ends.add(work);
    const done = () => void this.#ends.delete(work);
    work.then(done, done);
  }

  /** Resolves when every end asked for is on the disk, or was given up. */
  async idle(): Promise<void> {
    while (this.#ends.size > 0) await Promise.allSettled(this.#ends);
  }

  #end(ref: string, work: Work): void {
    this.follow(this.#persist(ref, work));
  }

  /** What still fails is left to the sweep. */
  async #persist(ref: string, work: Work): Promise<void> {
    for (const waitMs of [...RETRIES_MS, undefined]) {
      try {
        await this.#do(work, END_WAIT_MS);
        return;
      } catch (error) {
        if (waitMs === undefined || error instanceof AppError || error instanceof TypeError) {
          this.#parts.log.error({ err: error, ref }, 'a model call could not be closed in the books');
          return;
        }
        await new Promise((resolve) => setTimeout(resolve, waitMs).unref());
      }
    }
  }

  #do(work: Work, waitMs: number): Promise<void> {
    if (!this.#shares) return this.#alone(work);
    return new Promise((resolve, reject) => {
      this.#waiting.push({ work, resolve, reject });
      if (this.#busy) return;
      if (waitMs === 0) void this.#drain();
      else this.#later ??= setTimeout(() => void this.#drain(), waitMs);
    });
  }

  async #alone(work: Work): Promise<void> {
    await this.#parts.database.transaction(work);
  }

  async #drain(): Promise<void> {
    clearTimeout(this.#later);
    this.#later = undefined;
    this.#busy = true;
    // Everything the present turn of the event loop asks for travels together.
    await new Promise(setImmediate);
    while (this.#waiting.length > 0) {
      const jobs = this.#waiting.splice(0, LARGEST_BATCH);
      try {
        await this.#parts.database.transaction(async (trx) => {
          for (const { work } of jobs) await work(trx);
        });
        for (const job of jobs) job.resolve();
      } catch (error) {
        if (jobs.length === 1) jobs[0]?.reject(error);
        else await Promise.all(jobs.map((job) => this.#alone(job.work).then(job.resolve, job.reject)));
      }
    }
    this.#busy = false;
  }
}
