import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { DatabaseUnavailableError, DiskFullError, isBusy, isDiskFull, TransactionStalledError } from './database.ts';

/** A batch is committed after this many jobs or after `batchMs`, even if more jobs are waiting. */
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
  /** Called before each COMMIT to end the read snapshot, so that later reads see the committed writes. */
  readonly beforeCommit: () => void;
  readonly onStall: (error: TransactionStalledError) => void;
  /** Called when a write failed because the disk is full. */
  readonly onDiskFull: () => void;
}

/**
 * Shares one COMMIT, and so one fsync, among all writes waiting at the same time [group commit]. A batch starts with
 * `setImmediate`: all writes of the current event loop turn share it, and a single write is still committed
 * immediately. Jobs run one after another, each transaction in its own savepoint, so a failing one rolls back only
 * itself. No outcome, success or failure, is reported before the batch is durable.
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

  /** Resolves when no job is waiting or running. */
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

  /** Runs statements until a transaction takes over; the end of that transaction calls this again. */
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
