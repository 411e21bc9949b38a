import { LRUCache } from 'lru-cache';
import type { Database } from '../platform/db/database.ts';
import { DatabaseUnavailable } from '../platform/db/errors.ts';
import { AppError } from '../platform/errors.ts';
import type { Log } from '../platform/log.ts';
import type { End, Quota, Reservation } from '../quota/quota.ts';
import type { Tables } from '../tables.ts';
import type { Usage } from './usage.ts';

/** Whose money it is, and by which token it is spent. */
export type Payer = Pick<Reservation, 'userId' | 'tokenId'>;

interface Work {
  readonly reservation?: Reservation;
  readonly end?: End;
}

interface Job extends Work {
  resolve(): void;
  reject(error: unknown): void;
}

/** More would make each of them wait too long for its answer. */
const LARGEST_BATCH = 128;
/** Nobody waits for an end, so it waits a moment for company: alone it would cost the next caller a second trip to the disk. */
const END_WAIT_MS = 5;
/** How long a reservation waits for company: a millisecond for so many calls under way. */
const CALLS_PER_WAITED_MS = 200;
const LONGEST_WAIT_MS = 5;
const RETRIES_MS = [50, 500, 5_000, 30_000];
/** Who was refused lately is served alone for so long: his refusals would undo the work of others again and again. */
const APART_MS = 60_000;
const MOST_APART = 10_000;
/** SQLite has one writer anyway, so everybody shares its queue. */
const EVERYBODY = '';

interface Queue {
  readonly jobs: Job[];
  busy: boolean;
  later: NodeJS.Timeout | undefined;
}

export interface BooksParts {
  readonly database: Database<Tables>;
  readonly quota: Quota;
  readonly log: Log;
}

/**
 * The money of model calls: one reservation before anything is sent, one end afterwards, whatever happens between.
 *
 * Pieces of work that wait at the same time share a transaction, which spares most of the cost of each: on SQLite all of
 * them, on PostgreSQL those of one account and token, which would wait for each other at its wallet. One that fails undoes
 * them all, so all are then done again one by one. A lone reservation waits for nobody.
 *
 * On PostgreSQL a shared transaction must take its rows in the order a lone one does (plan, token, wallet), or two processes
 * would each hold what the other waits for. So it knows one token only, and reservations, which take the plan, go first.
 */
export class Books {
  readonly #parts: BooksParts;
  readonly #isShared: boolean;
  readonly #queues = new Map<string, Queue>();
  readonly #apart = new LRUCache<number, true>({ max: MOST_APART, ttl: APART_MS });
  /** Calls under way. */
  #open = 0;
  /** Ends under way, and who waits for there to be none. */
  #ending = 0;
  readonly #idle: (() => void)[] = [];

  constructor(parts: BooksParts) {
    this.#parts = parts;
    this.#isShared = parts.database.dialect === 'sqlite';
  }

  /** Durable when it resolves. @throws AppError `quota_not_enough`, `token_quota_not_enough` */
  async reserve(reservation: Reservation): Promise<void> {
    const { userId, ref } = reservation;
    this.#open++;
    try {
      if (!this.#apart.has(userId)) await this.#together(reservation, { reservation }, 0);
      else await this.#write([{ reservation }]).then(() => this.#apart.delete(userId));
    } catch (error) {
      if (error instanceof AppError) {
        this.#open--;
        this.#apart.set(userId, true);
      }
      // Nobody knows whether a commit was kept whose answer was lost; nobody will end what it set aside.
      else this.refund(reservation, ref);
      throw error;
    }
  }

  /** Ends an account's reservation by its cost; never throws and is not waited for. */
  settle(payer: Payer, ref: string, cost: number, use: Usage): void {
    this.follow(this.#persist(payer, { ref, cost, use }));
  }

  /** Ends an account's reservation by giving it back; never throws and is not waited for. */
  refund(payer: Payer, ref: string): void {
    this.follow(this.#persist(payer, { ref }));
  }

  /** Keeps `idle` waiting for something that leads to an end. */
  follow(work: Promise<void>): void {
    this.#ending++;
    const done = (): void => {
      this.#ending--;
      if (this.#ending === 0) for (const tell of this.#idle.splice(0)) tell();
    };
    work.then(done, done);
  }

  /** Resolves when every end asked for is on the disk, or was given up. */
  async idle(): Promise<void> {
    while (this.#ending > 0) await new Promise<void>((resolve) => this.#idle.push(resolve));
  }

  /** What still fails is left to the sweep. */
  async #persist(payer: Payer, end: End): Promise<void> {
    this.#open--;
    for (const waitMs of [...RETRIES_MS, undefined]) {
      try {
        await this.#together(payer, { end }, END_WAIT_MS);
        return;
      } catch (error) {
        if (waitMs === undefined || error instanceof AppError || error instanceof TypeError) {
          this.#parts.log.error({ err: error, ref: end.ref }, 'a model call could not be closed in the books');
          return;
        }
        await new Promise((resolve) => setTimeout(resolve, waitMs).unref());
      }
    }
  }

  #together({ userId, tokenId }: Payer, work: Work, waitMs: number): Promise<void> {
    const key = this.#isShared ? EVERYBODY : `${userId} ${tokenId}`;
    const queue = this.#queues.get(key) ?? { jobs: [], busy: false, later: undefined };
    this.#queues.set(key, queue);
    return new Promise((resolve, reject) => {
      queue.jobs.push({ ...work, resolve, reject });
      if (queue.busy) return;
      if (waitMs === 0) void this.#drain(key, queue);
      else queue.later ??= setTimeout(() => void this.#drain(key, queue), waitMs);
    });
  }

  async #write(all: readonly Work[]): Promise<void> {
    const { quota, database } = this.#parts;
    const reservations = all.flatMap(({ reservation }) => reservation ?? []);
    const ends = all.flatMap(({ end }) => end ?? []);
    await database.transaction(async (trx) => {
      // Where nobody waits for a row, what comes back can be spent again at once.
      if (this.#isShared) await quota.endAll(trx, ends);
      await quota.reserveAll(trx, reservations);
      if (!this.#isShared) await quota.endAll(trx, ends);
    });
  }

  /**
   * Waits for company: as long as every turn of the event loop brings some, or a little longer the more calls are under
   * way, for the more will be asked in the next moment, and the less a moment is beside what they wait for anyway.
   */
  async #company(jobs: readonly Job[]): Promise<void> {
    const begunAt = performance.now();
    const leastMs = Math.min(LONGEST_WAIT_MS, Math.floor(this.#open / CALLS_PER_WAITED_MS));
    if (leastMs > 0) await new Promise((resolve) => setTimeout(resolve, leastMs));
    for (let before = 0; jobs.length > before && performance.now() - begunAt < LONGEST_WAIT_MS; ) {
      before = jobs.length;
      await new Promise((resolve) => setImmediate(resolve));
    }
  }

  async #drain(key: string, queue: Queue): Promise<void> {
    clearTimeout(queue.later);
    queue.later = undefined;
    queue.busy = true;
    while (queue.jobs.length > 0) {
      await this.#company(queue.jobs);
      const jobs = queue.jobs.splice(0, LARGEST_BATCH);
      try {
        await this.#write(jobs);
        for (const job of jobs) job.resolve();
      } catch (error) {
        // A database that is away is not asked a hundred times over: whoever must try again does so with the others.
        if (jobs.length === 1 || error instanceof DatabaseUnavailable) for (const job of jobs) job.reject(error);
        else await Promise.all(jobs.map((job) => this.#write([job]).then(job.resolve, job.reject)));
      }
    }
    queue.busy = false;
    if (!this.#isShared) this.#queues.delete(key);
  }
}
