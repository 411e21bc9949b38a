import { AsyncLocalStorage } from 'node:async_hooks';
import { setTimeout as pause } from 'node:timers/promises';
import {
  type DatabaseConnection,
  type Driver,
  type Kysely,
  sql,
  type Transaction,
  type TransactionSettings,
} from 'kysely';
import { type Clock, systemClock } from '../clock.ts';
import type { DialectName } from './sql.ts';

/** The part of the logger the database uses; compatible with pino. */
export interface DatabaseLog {
  warn(details: object, message: string): void;
  error(details: object, message: string): void;
}

/** Options of a database; each names the engine it applies to. */
export interface DatabaseOptions {
  readonly log?: DatabaseLog;
  /** Called after every statement, failed ones included, with its duration in seconds; used for metrics. */
  readonly onQuery?: (seconds: number) => void;
  /** SQLite: longest time a transaction's callback may block all other writers; default 5 000. */
  readonly stallMs?: number;
  /** SQLite: longest time a batch of writes collects work before it is committed; default 5. */
  readonly batchMs?: number;
  /** SQLite: length of the log, in pages, that starts a checkpoint; default 4 000. */
  readonly checkpointFrames?: number;
  /**
   * SQLite: a service has the file open as well. Each commit then blocks this process until it is durable, because the
   * service could read it before. Default: commits are flushed beside the event loop.
   */
  readonly isCommand?: boolean;
  /** SQLite: called once, when a flush has failed. Every later write fails; only a new process can continue. */
  readonly onLost?: (error: DatabaseUnavailableError) => void;
  /** PostgreSQL: maximum connections; default 10. */
  readonly poolMax?: number;
  /** PostgreSQL: statement timeout; 0: none; default 5 000. */
  readonly statementTimeoutMs?: number;
  /** PostgreSQL: the URL is that of a pooler, which lends a server connection for one transaction; default false. */
  readonly isPooled?: boolean;
}

export interface TransactionOptions {
  /** PostgreSQL: statement timeout within this transaction, overriding the database's; 0: none. */
  readonly timeoutMs?: number;
  /** PostgreSQL: longest wait for a row lock; it then fails with `RowsLockedError`. Default: the statement timeout. */
  readonly lockTimeoutMs?: number;
  /**
   * PostgreSQL: plans its statements without scans of whole tables, which the planner prefers while tables are new and
   * keeps after they have grown. Default: false.
   */
  readonly avoidsScans?: boolean;
}

/** A snapshot of the connection pool. */
export interface PoolConnections {
  readonly idle: number;
  readonly busy: number;
  /** Queries and transactions waiting for a connection. */
  readonly waiting: number;
}

/**
 * One schema over SQLite or PostgreSQL. Integers are returned as JavaScript numbers (an unsafe one throws), booleans
 * are 0 and 1, JSON is text. Callers must reject text with U+0000 beforehand: PostgreSQL cannot store it.
 */
export interface Database<T> {
  readonly dialect: DialectName;
  /**
   * For reads and single writes. On SQLite a read runs on its own connection, immediately unless other reads have kept
   * the event loop for long; a write resolves once it is durable. Throws inside a transaction's callback.
   */
  readonly kysely: Kysely<T>;
  /**
   * Runs everything that must happen together. Resolves once the transaction is durable. Any throw rolls it back and is
   * rethrown; after a failed statement the transaction accepts no others, even if the error was caught. The callback
   * uses only the transaction passed to it, makes no network call, and may run more than once: PostgreSQL repeats it up
   * to three times after a serialization failure or a deadlock. Throws inside another transaction's callback.
   */
  transaction<R>(work: (trx: Transaction<T>) => Promise<R>, options?: TransactionOptions): Promise<R>;
  /**
   * Identifies the snapshot that reads outside of transactions share now: a repeated read in it has the same result.
   * Undefined before the first read of a snapshot, and always on PostgreSQL.
   */
  readonly snapshot: () => object | undefined;
  /** Connections by state, and the number of waiters; undefined on SQLite, which has no pool. */
  readonly connections: (() => PoolConnections) | undefined;
  /**
   * Returns pages of deleted rows to the disk, at most `maxPages` in one short write, and keeps a share for new rows.
   * Resolves to whether more remain. Undefined on PostgreSQL, which reuses pages by itself.
   */
  readonly releaseSpace: ((maxPages: number) => Promise<boolean>) | undefined;
  /**
   * Resolves when the database responds and accepts writes, otherwise throws `DatabaseUnavailableError` or
   * `DiskFullError`.
   */
  ping(): Promise<void>;
  /** Waits for writes in progress, then closes the file or the connections. */
  close(): Promise<void>;
}

/**
 * The database was unreachable, is shutting down, or did not accept the write in time. The request itself may be fine:
 * the HTTP layer responds with 503 and the caller may retry.
 */
export class DatabaseUnavailableError extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'DatabaseUnavailableError';
  }
}

/** Another transaction held a row for longer than the lock timeout. */
export class RowsLockedError extends DatabaseUnavailableError {
  constructor(cause?: unknown) {
    super('the rows are locked by another transaction', cause);
    this.name = 'RowsLockedError';
  }
}

/** Writes fail because the database's disk is full; reads continue to work. */
export class DiskFullError extends DatabaseUnavailableError {
  constructor(cause?: unknown) {
    super('the disk of the database is full', cause);
    this.name = 'DiskFullError';
  }
}

/** A transaction was rolled back because its callback waited too long for something other than the database. */
export class TransactionStalledError extends Error {
  constructor(limitMs: number) {
    super(`the transaction was rolled back: its callback did not finish within ${limitMs} ms`);
    this.name = 'TransactionStalledError';
  }
}

/** Another service process has the SQLite file open. */
export class AlreadyServedError extends Error {
  constructor(path: string) {
    super(
      `another Reelgate process is running on ${path}. SQLite serves one process: stop that one first, or use PostgreSQL (DATABASE_URL=postgres://…) for several.`,
    );
    this.name = 'AlreadyServedError';
  }
}

/** A newer release has changed the schema in a way this release cannot work with. */
export class SchemaMismatchError extends Error {
  constructor(problem: string) {
    super(
      `the database was changed by a newer release: ${problem}. Run that release, or restore a backup made before it.`,
    );
    this.name = 'SchemaMismatchError';
  }
}

/** Result codes from https://sqlite.org/rescode.html; the low byte of an extended code is its primary code. */
const SQLITE_BUSY = 5;
const SQLITE_FULL = 13;

const primaryCodeOf = (error: unknown): number =>
  error instanceof Error && 'errcode' in error ? Number(error.errcode) & 0xff : 0;

/** Another connection holds the lock. */
export const isBusy = (error: unknown): boolean => primaryCodeOf(error) === SQLITE_BUSY;

/** The disk is full, or the file has reached its maximum size. */
export const isDiskFull = (error: unknown): boolean => primaryCodeOf(error) === SQLITE_FULL;

const pendingActions = new WeakMap<object, (() => void)[]>();
const NONE: readonly (() => void)[] = [];

/**
 * Runs an action after the transaction's commit; never after a rollback. For change notifications: nothing essential
 * may depend on it, because the process can die between commit and action.
 */
export function afterCommit<T>(trx: Transaction<T>, action: () => void): void {
  const actions = pendingActions.get(trx);
  if (actions === undefined) pendingActions.set(trx, [action]);
  else actions.push(action);
}

/** Executes a transaction and then runs the actions of the attempt that was committed. */
export async function runAfterCommitActions<T, R>(
  execute: (work: (trx: Transaction<T>) => Promise<R>) => Promise<R>,
  work: (trx: Transaction<T>) => Promise<R>,
): Promise<R> {
  let committed: Transaction<T> | undefined;
  const result = await execute((trx) => {
    committed = trx;
    return work(trx);
  });
  if (committed === undefined) return result;
  const actions = pendingActions.get(committed) ?? NONE;
  // Otherwise the entries, which refer back to their own key, would stay in memory until a full garbage collection.
  pendingActions.delete(committed);
  for (const action of actions) action();
  return result;
}

interface Scope {
  /** Work that outlives its transaction keeps the context but may use the database again. */
  open: boolean;
}

/**
 * Tracks which asynchronous work runs inside a transaction, and prevents that work from using the database outside of
 * it: such a query would not be part of the transaction, and could wait for it forever.
 */
export class TransactionContext {
  readonly #storage = new AsyncLocalStorage<Scope>();

  async run<R>(work: () => Promise<R>): Promise<R> {
    const scope: Scope = { open: true };
    try {
      return await this.#storage.run(scope, work);
    } finally {
      scope.open = false;
    }
  }

  assertOutside(): void {
    if (this.#storage.getStore()?.open) {
      throw new Error('use the transaction handed to the callback: the database itself must not be used inside it');
    }
  }

  /** Wraps a driver so that it hands out no further connection inside a transaction. */
  guard(driver: Driver): Driver {
    return {
      init: () => driver.init(),
      acquireConnection: (options) => {
        this.assertOutside();
        return driver.acquireConnection(options);
      },
      beginTransaction: (connection: DatabaseConnection, settings: TransactionSettings) =>
        driver.beginTransaction(connection, settings),
      commitTransaction: (connection) => driver.commitTransaction(connection),
      rollbackTransaction: (connection) => driver.rollbackTransaction(connection),
      releaseConnection: (connection) => driver.releaseConnection(connection),
      destroy: () => driver.destroy(),
    };
  }
}

const RESYNC_INTERVAL_MS = 60_000;

interface DatabaseClock extends Clock {
  stop(): void;
}

/**
 * The clock shared by all processes on a database: PostgreSQL's, queried at intervals and advanced in between by the
 * monotonic timer. A replica whose own clock is wrong or adjusted therefore agrees with the others on what has expired.
 * SQLite is used by one machine, so its clock serves.
 */
export async function openDatabaseClock<T>(
  database: Pick<Database<T>, 'dialect' | 'kysely'>,
  intervalMs = RESYNC_INTERVAL_MS,
): Promise<DatabaseClock> {
  if (database.dialect === 'sqlite') return { now: systemClock.now, stop() {} };
  let offset: number | undefined;
  const adjust = async (): Promise<void> => {
    const asked = performance.now();
    const { rows } = await sql<{ now: number }>`
      select floor(extract(epoch from clock_timestamp()) * 1000)::bigint as now
    `.execute(database.kysely);
    const now = rows[0]?.now ?? systemClock.now();
    // The database read its clock somewhere in between: seconds, if the query had to wait for a connection.
    const [least, most] = [now - performance.now(), now - asked];
    offset = offset === undefined ? (least + most) / 2 : Math.min(Math.max(offset, least), most);
  };
  await adjust();
  const timer = setInterval(() => {
    // While the database is unavailable the timer continues; no decision that depends on the time can be stored then
    // anyway.
    adjust().catch(() => {});
  }, intervalMs).unref();
  return { now: () => Math.floor(performance.now() + (offset ?? 0)), stop: () => clearInterval(timer) };
}

/** Longer than PostgreSQL takes to restart, or a pool to replace its dead connections (12 s). */
const RETRY_MS = 20_000;
const FIRST_DELAY_MS = 100;
const LONGEST_DELAY_MS = 2_000;

/**
 * Retries a write that must not be lost because it records something that happened outside the database and will not
 * happen again. The write must be idempotent: if a response was lost, it may have been applied.
 * @param stopping ends the retries: a stopping service makes one last attempt
 * @throws DatabaseUnavailableError when the database is unavailable for more than 20 s; any other error of `write`
 * immediately
 */
export async function retryDuringOutage<T>(write: () => Promise<T>, stopping: AbortSignal): Promise<T> {
  const endsAt = performance.now() + RETRY_MS;
  for (let delayMs = FIRST_DELAY_MS; ; delayMs = Math.min(2 * delayMs, LONGEST_DELAY_MS)) {
    const isLast = stopping.aborted || performance.now() >= endsAt;
    try {
      return await write();
    } catch (error) {
      if (isLast || !(error instanceof DatabaseUnavailableError)) throw error;
    }
    await pause(delayMs, undefined, { signal: stopping }).catch(() => {});
  }
}
