import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { DatabaseUnavailableError, DiskFullError, isBusy, isDiskFull, TransactionStalledError } from './database.ts';

/** A batch is committed when it has had this many jobs or has lasted `batchMs`, even if more jobs wait. */
const MAX_JOBS = 256;
/** How long to wait for a write lock held by another process, and how often to retry. */
const LOCK_WAIT_MS = 5_000;
const LOCK_RETRY_MS = 10;

/** One transaction's turn on the writing connection. Ends with exactly one of `commit` and `rollback`. */
export interface WriteTransaction {
  /** Throws once the turn has been taken away (see `stallMs`). */
  assertOpen(): void;
  /** Keeps the work and resolves when it is on the disk; rejects when the batch could not be committed. */
  commit(): Promise<void>;
  /** Undoes this transaction alone. Resolves with the batch, so that data the caller read in it is on the disk by then. */
  rollback(): Promise<void>;
}

interface PromiseCallbacks {
  resolve(): void;
  reject(error: unknown): void;
}

interface Job extends PromiseCallbacks {
  /** A single statement to run now; without it the job is a transaction that waits for its turn. */
  readonly statement: (() => void) | undefined;
}

export interface GroupCommitOptions {
  /** Longest a transaction may hold its turn while other things go on in the process. */
  readonly stallMs: number;
  readonly batchMs: number;
  /** Called before each COMMIT to end the read snapshot, so that later reads see the committed writes. */
  readonly beforeCommit: () => void;
  readonly onStall: (error: TransactionStalledError) => void;
  /** Called when a write failed because there is no space left. */
  readonly onDiskFull: () => void;
}

/**
 * Shares one COMMIT, and so one fsync, among all writes that wait at the same time [group commit].
 *
 * A batch starts with `setImmediate`: all writes of the current turn of the event loop share it, and a
 * lone write is still committed at once. Jobs run one after another, each transaction in a savepoint of its own, so a
 * failing one undoes only itself. No outcome, success or failure, is reported before the batch is on the disk.
 */
export class GroupCommit {
  readonly #database: DatabaseSync;
  readonly #options: GroupCommitOptions;
  readonly #sql: Readonly<Record<'begin' | 'commit' | 'savepoint' | 'release' | 'undo', StatementSync>>;
  #waiting: Job[] = [];
  #next = 0;
  #running = false;
  #batch: PromiseCallbacks[] = [];
  #batchEndsAt = 0;
  /** One timer for all transactions, which would otherwise cost each of them one of its own. */
  #watchdog: NodeJS.Timeout | undefined;
  /** The transaction that has its turn; `since`: of `performance.now()`. */
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

  /** Runs a single statement; its result arrives when it is durable. */
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

  /** An error of a statement that writes, as callers get it. */
  toWriteError(error: unknown): unknown {
    if (!isDiskFull(error)) return error;
    this.#options.onDiskFull();
    return new DiskFullError(error);
  }

  /** Resolves when nothing waits or runs any more. */
  async drain(): Promise<void> {
    if (this.#running) await new Promise<void>((resolve) => this.#idle.push(resolve));
  }

  #enqueue(job: Job): void {
    this.#waiting.push(job);
    if (this.#running) return;
    this.#running = true;
    setImmediate(() => this.#startBatch(performance.now() + LOCK_WAIT_MS));
  }

  #startBatch(lockDeadline: number): void {
    try {
      this.#sql.begin.run();
    } catch (error) {
      if (isBusy(error) && performance.now() < lockDeadline) {
        setTimeout(() => this.#startBatch(lockDeadline), LOCK_RETRY_MS);
        return;
      }
      const refused = new DatabaseUnavailableError('the database could not be opened for writing', error);
      while (this.#next < this.#waiting.length) this.#take()?.reject(refused);
      this.#endBatch();
      return;
    }
    this.#batchEndsAt = performance.now() + this.#options.batchMs;
    this.#runJobs();
  }

  /** Runs statements until a transaction takes over; its end calls this again. */
  #runJobs(): void {
    while (this.#batch.length < MAX_JOBS && (this.#batch.length === 0 || performance.now() < this.#batchEndsAt)) {
      const job = this.#take();
      if (!job) break;
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
    this.#commitBatch();
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

  /** Takes the turn from a transaction that has had it for too long; sleeps again while there are others. */
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
    this.#options.beforeCommit();
    try {
      this.#sql.commit.run();
    } catch (error) {
      this.#failBatch(error);
      return;
    }
    for (const job of this.#batch) job.resolve();
    this.#endBatch();
  }

  /**
   * Loses the whole batch, and says so to everybody in it. A full disk or an I/O error brings us here, often after SQLite
   * rolled back everything by itself; so would a deferred constraint, which is checked at COMMIT: have none.
   */
  #failBatch(cause: unknown): void {
    if (this.#database.isTransaction) this.#database.exec('rollback');
    const failure = this.toWriteError(cause);
    const error =
      failure instanceof DatabaseUnavailableError
        ? failure
        : new DatabaseUnavailableError('the write could not be committed', cause);
    for (const job of this.#batch) job.reject(error);
    this.#endBatch();
  }

  #endBatch(): void {
    this.#batch = [];
    if (this.#next < this.#waiting.length) {
      setImmediate(() => this.#startBatch(performance.now() + LOCK_WAIT_MS));
      return;
    }
    this.#running = false;
    for (const resolve of this.#idle.splice(0)) resolve();
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
