import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { DatabaseUnavailableError, DiskFullError, isBusy, isDiskFull, TransactionStalledError } from './database.ts';

/** Jobs run for one turn of the event loop: at most this many, and for at most `batchMs`. */
const MAX_JOBS = 256;
/** How long to wait for a write lock held by another process, and how often to retry. */
const LOCK_WAIT_MS = 5_000;
const LOCK_RETRY_MS = 10;

/** One transaction's turn on the write connection. Ends with exactly one of `commit` and `rollback`. */
export interface WriteTransaction {
  /** Throws once the turn has been revoked (see `stallMs`). */
  assertOpen(): void;
  /** Keeps the changes and resolves once they are durable; rejects when the batch could not be committed. */
  commit(): Promise<void>;
  /**
   * Rolls back only this transaction. Resolves with the batch, so that data the caller read in it is durable by then.
   */
  rollback(): Promise<void>;
}

interface PromiseCallbacks {
  resolve(): void;
  reject(error: unknown): void;
}

interface Job extends PromiseCallbacks {
  /** A single statement to run now; without it, the job is a transaction waiting for its turn. */
  readonly statement: (() => void) | undefined;
}

/** Options of a `GroupCommit`. */
export interface GroupCommitOptions {
  /** Longest time a transaction may hold its turn while the process does other work. */
  readonly stallMs: number;
  readonly batchMs: number;
  /** The snapshot that all reads outside of transactions see: kept from before a COMMIT until it is durable. */
  readonly snapshot: { hold(): void; release(): void };
  /** Whether a statement since the last call may have changed the file. */
  readonly takeChanged: () => boolean;
  /** Makes every commit so far durable, off the event loop. */
  readonly flush: () => Promise<void>;
  /** Called once, when a flush has failed. */
  readonly onLost: (error: DatabaseUnavailableError) => void;
  readonly onStall: (error: TransactionStalledError) => void;
  /** Called when a write failed because the disk is full. */
  readonly onDiskFull: () => void;
}

/**
 * Shares one COMMIT and one flush among all writes waiting at the same time [group commit]. A batch starts with
 * `setImmediate`: all writes of the current event loop turn share it, and a single write is still committed
 * immediately. Jobs run one after another, each transaction in its own savepoint, so a failing one rolls back only
 * itself.
 *
 * COMMIT writes to the log without flushing it; the flush runs beside the event loop. Until it has succeeded, no
 * outcome, success or failure, is reported, and reads keep the snapshot from before the COMMIT: nothing outside can
 * depend on a commit that a power failure would undo. Meanwhile the next batch runs its jobs, and is committed once the
 * flush has ended. A failed flush is not repeated, because the system may have dropped the data and would report
 * success: from then on every write is refused.
 */
export class GroupCommit {
  readonly #database: DatabaseSync;
  readonly #options: GroupCommitOptions;
  readonly #sql: Readonly<Record<'begin' | 'commit' | 'savepoint' | 'release' | 'undo', StatementSync>>;
  #waiting: Job[] = [];
  #next = 0;
  /** Jobs are running, a transaction has the turn, or either is about to. */
  #running = false;
  /** A batch has begun; while it is not running, it waits for the flush of the previous one. */
  #isOpen = false;
  #isFlushing = false;
  #batch: PromiseCallbacks[] = [];
  #jobsOfTurn = 0;
  #turnEndsAt = 0;
  /** Called when nothing is open or unflushed; no batch begins until it is cleared. */
  #onPaused: (() => void) | undefined;
  #lost: DatabaseUnavailableError | undefined;
  /** One timer for all transactions, instead of one per transaction. */
  #watchdog: NodeJS.Timeout | undefined;
  /** The transaction that has the turn; `since`: time of `performance.now()`. */
  #turn: { readonly since: number; readonly takeAway: () => void } | undefined;
  #idle: (() => void)[] = [];

  constructor(database: DatabaseSync, options: GroupCommitOptions) {
    this.#database = database;
    this.#options = options;
    this.#sql = {
      begin: database.prepare('begin immediate'),
      commit: database.prepare('commit'),
      savepoint: database.prepare('savepoint job'),
      release: database.prepare('release job'),
      undo: database.prepare('rollback to job'),
    };
  }

  /** Runs a single statement; resolves with its result once it is durable. */
  write<R>(statement: () => R): Promise<R> {
    return new Promise((resolve, reject) => {
      let result: R;
      this.#enqueue({
        statement: () => {
          result = statement();
        },
        resolve: () => resolve(result),
        reject,
      });
    });
  }

  /** Resolves when it is this transaction's turn. */
  begin(): Promise<WriteTransaction> {
    return new Promise((resolve, reject) => {
      this.#enqueue({ statement: undefined, resolve: () => resolve(this.#openTransaction()), reject });
    });
  }

  /** Converts an error of a write statement to the error that callers receive. */
  toWriteError(error: unknown): unknown {
    if (!isDiskFull(error)) return error;
    this.#options.onDiskFull();
    return new DiskFullError(error);
  }

  /** The error of a failed flush, after which nothing is written. */
  get lost(): DatabaseUnavailableError | undefined {
    return this.#lost;
  }

  /** Resolves when no job is waiting or running, and everything is durable. */
  async drain(): Promise<void> {
    if (this.#isBusy || this.#hasWaiting) await new Promise<void>((resolve) => this.#idle.push(resolve));
  }

  /**
   * Resolves when no batch is open and everything is durable. Jobs then wait until the returned function is called.
   */
  async pause(): Promise<() => void> {
    const paused = Promise.withResolvers<void>();
    this.#onPaused = paused.resolve;
    if (!this.#isBusy) paused.resolve();
    await paused.promise;
    return () => {
      this.#onPaused = undefined;
      this.#proceed();
    };
  }

  get #isBusy(): boolean {
    return this.#running || this.#isOpen || this.#isFlushing;
  }

  get #hasWaiting(): boolean {
    return this.#next < this.#waiting.length;
  }

  #enqueue(job: Job): void {
    this.#waiting.push(job);
    if (!this.#running && this.#onPaused === undefined) this.#schedule();
  }

  #schedule(): void {
    this.#running = true;
    setImmediate(() => this.#startTurn(performance.now() + LOCK_WAIT_MS));
  }

  #startTurn(lockDeadline: number): void {
    if (this.#isOpen || this.#begin(lockDeadline)) {
      this.#jobsOfTurn = 0;
      this.#turnEndsAt = performance.now() + this.#options.batchMs;
      this.#runJobs();
    }
  }

  /** @returns false while another process holds the write lock: tries again later, or has failed all jobs */
  #begin(lockDeadline: number): boolean {
    try {
      if (this.#lost !== undefined) throw this.#lost;
      this.#sql.begin.run();
      this.#isOpen = true;
      return true;
    } catch (error) {
      if (isBusy(error) && performance.now() < lockDeadline) {
        setTimeout(() => this.#startTurn(lockDeadline), LOCK_RETRY_MS);
        return false;
      }
      const refused = this.#lost ?? new DatabaseUnavailableError('the database could not be opened for writing', error);
      while (this.#hasWaiting) this.#take()?.reject(refused);
      this.#proceed();
      return false;
    }
  }

  /**
   * Runs statements until a transaction takes over; the end of that transaction calls this again. The batch stays open
   * for more jobs while the previous one is being flushed.
   */
  #runJobs(): void {
    while (this.#jobsOfTurn < MAX_JOBS && (this.#jobsOfTurn === 0 || performance.now() < this.#turnEndsAt)) {
      const job = this.#take();
      if (!job) break;
      this.#jobsOfTurn++;
      try {
        if (job.statement) {
          job.statement();
          this.#batch.push(job);
        } else {
          this.#sql.savepoint.run();
          job.resolve();
          return;
        }
      } catch (cause) {
        const error = this.toWriteError(cause);
        this.#batch.push({ resolve: () => job.reject(error), reject: job.reject });
        if (!this.#database.isTransaction) {
          this.#failBatch(error);
          return;
        }
      }
    }
    if (this.#lost !== undefined) this.#failBatch(this.#lost);
    else if (!this.#isFlushing) this.#commitBatch();
    else if (this.#hasWaiting) this.#schedule();
    else this.#running = false;
  }

  #openTransaction(): WriteTransaction {
    let ended: Error | undefined;
    const end = (keep: boolean): Promise<void> => {
      if (ended) return keep ? Promise.reject(ended) : Promise.resolve();
      ended = new Error('the transaction has ended');
      this.#turn = undefined;
      return this.#endTransaction(keep);
    };
    const takeAway = (): void => {
      const stalled = new TransactionStalledError(this.#options.stallMs);
      this.#options.onStall(stalled);
      void end(false).catch(() => {});
      ended = stalled;
    };
    this.#turn = { since: performance.now(), takeAway };
    this.#watchdog ??= this.#watch(this.#options.stallMs);
    return {
      assertOpen: () => {
        if (ended) throw ended;
      },
      commit: () => end(true),
      rollback: () => end(false),
    };
  }

  /** Revokes the turn of a transaction that has held it for too long; otherwise sleeps again while others wait. */
  #watch(ms: number): NodeJS.Timeout {
    return setTimeout(() => {
      this.#watchdog = undefined;
      if (this.#turn === undefined) return;
      const left = this.#turn.since + this.#options.stallMs - performance.now();
      if (left <= 0) this.#turn.takeAway();
      if (this.#turn !== undefined) this.#watchdog ??= this.#watch(Math.max(1, left));
    }, ms).unref();
  }

  #endTransaction(keep: boolean): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#batch.push({ resolve, reject });
      try {
        if (!keep) this.#sql.undo.run();
        this.#sql.release.run();
      } catch (error) {
        this.#failBatch(error);
        return;
      }
      this.#runJobs();
    });
  }

  #commitBatch(): void {
    const { snapshot, takeChanged, flush } = this.#options;
    try {
      snapshot.hold();
      this.#sql.commit.run();
    } catch (error) {
      snapshot.release();
      this.#failBatch(error);
      return;
    }
    const batch = this.#batch;
    this.#batch = [];
    this.#isOpen = false;
    if (takeChanged()) {
      this.#isFlushing = true;
      flush().then(
        () => {
          this.#isFlushing = false;
          this.#report(batch);
          if (this.#running) return;
          if (this.#isOpen) this.#schedule();
          else this.#proceed();
        },
        (error: unknown) => this.#lose(batch, error),
      );
    } else this.#report(batch);
    this.#proceed();
  }

  /** Reports a durable batch, which reads see from now on. */
  #report(batch: readonly PromiseCallbacks[]): void {
    this.#options.snapshot.release();
    for (const job of batch) job.resolve();
  }

  /** Reads keep the last durable state. */
  #lose(batch: readonly PromiseCallbacks[], cause: unknown): void {
    const lost = new DatabaseUnavailableError('a write could not be flushed to the disk', cause);
    this.#lost = lost;
    this.#isFlushing = false;
    for (const job of batch) job.reject(lost);
    this.#options.onLost(lost);
    if (!this.#running) this.#schedule();
  }

  /**
   * Fails the entire batch and every caller in it. Causes are a full disk or an I/O error, often after SQLite itself
   * rolled everything back. A deferred constraint would fail here too, because it is checked at COMMIT: do not define
   * any.
   */
  #failBatch(cause: unknown): void {
    if (this.#database.isTransaction) this.#database.exec('rollback');
    const failure = this.toWriteError(cause);
    const error =
      failure instanceof DatabaseUnavailableError
        ? failure
        : new DatabaseUnavailableError('the write could not be committed', cause);
    for (const job of this.#batch) job.reject(error);
    this.#batch = [];
    this.#isOpen = false;
    this.#proceed();
  }

  /** Continues after a batch. */
  #proceed(): void {
    this.#running = false;
    if (this.#onPaused !== undefined) {
      if (!this.#isBusy) this.#onPaused();
    } else if (this.#hasWaiting) this.#schedule();
    else if (!this.#isBusy) for (const resolve of this.#idle.splice(0)) resolve();
  }

  #take(): Job | undefined {
    const job = this.#waiting[this.#next];
    if (!job) return undefined;
    this.#next++;
    if (this.#next === this.#waiting.length) {
      this.#waiting = [];
      this.#next = 0;
    }
    return job;
  }
}
