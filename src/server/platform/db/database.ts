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

/** The part of the log the database writes to; pino fits. */
export interface DatabaseLog {
  warn(details: object, message: string): void;
  error(details: object, message: string): void;
}

export interface DatabaseOptions {
  readonly log?: DatabaseLog;
  /** Called after every statement with its seconds, failed ones included; for the metrics. */
  readonly onQuery?: (seconds: number) => void;
  /** SQLite: how long a transaction's callback may keep everybody else waiting; default 5 000. */
  readonly stallMs?: number;
  /** SQLite: how long one batch of writes may go on before it is committed; default 5. */
  readonly batchMs?: number;
  /** PostgreSQL: most connections at a time; default 10. */
  readonly poolMax?: number;
  /** PostgreSQL: longest run of one statement; 0: any; default 5 000. */
  readonly statementTimeoutMs?: number;
  /** PostgreSQL: the url is a pooler's that lends a server connection for one transaction; default false. */
  readonly isPooled?: boolean;
}

interface TransactionOptions {
  /** PostgreSQL: longest run of one statement in this transaction, in place of the database's; 0: any. */
  readonly timeoutMs?: number;
}

/** The pool at this moment. */
export interface PoolConnections {
  readonly idle: number;
  readonly busy: number;
  /** Queries and transactions that wait for a connection. */
  readonly waiting: number;
}

/**
 * One schema over SQLite or PostgreSQL. Integers come back as JavaScript numbers (an unsafe one throws), booleans are 0
 * and 1, JSON is text. Text with U+0000 must be refused before it comes here: PostgreSQL cannot store it.
 */
export interface Database<T> {
  readonly dialect: DialectName;
  /**
   * For reads and single writes. On SQLite a read runs at once on a connection of its own and never waits; a write
   * resolves when it is on the disk. Throws inside a transaction's callback.
   */
  readonly kysely: Kysely<T>;
  /**
   * Everything that must happen together. Resolves when it is on the disk; any throw undoes it and comes out, and
   * after a failed statement nothing else works in it, even when the error was caught. The callback
   * uses only the transaction it is given, does no network call, and may run more than once: PostgreSQL repeats it up to
   * three times after a serialization failure or a deadlock. Throws inside another transaction's callback.
   */
  transaction<R>(work: (trx: Transaction<T>) => Promise<R>, options?: TransactionOptions): Promise<R>;
  /** Connections by what they are doing, and who waits for one; undefined on SQLite, which has no pool. */
  readonly connections: (() => PoolConnections) | undefined;
  /**
   * Gives pages of deleted rows back to the disk, at most so many in one short write, and keeps a share for new rows. Resolves to
   * whether there are more. Undefined on PostgreSQL, which reuses them by itself.
   */
  readonly releaseSpace: ((maxPages: number) => Promise<boolean>) | undefined;
  /** Resolves when the database responds and takes writes, else throws `DatabaseUnavailableError` or `DiskFullError`. */
  ping(): Promise<void>;
  /** Waits for the writes in progress, then closes the file or the connections. */
  close(): Promise<void>;
}

/**
 * The database could not be reached, is shutting down, or did not take the write in time. Nothing is known to be wrong
 * with the request itself: the HTTP layer responds with 503 and the caller may try again.
 */
export class DatabaseUnavailableError extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'DatabaseUnavailableError';
  }
}

/** Writes fail because the disk of the database has no space left; reads go on. */
export class DiskFullError extends DatabaseUnavailableError {
  constructor(cause?: unknown) {
    super('the disk of the database is full', cause);
    this.name = 'DiskFullError';
  }
}

/** A transaction's callback waited for something other than the database for too long; it was rolled back. */
export class TransactionStalledError extends Error {
  constructor(limitMs: number) {
    super(`the transaction was rolled back: its callback did not finish within ${limitMs} ms`);
    this.name = 'TransactionStalledError';
  }
}

/** Another process has the SQLite file open as a service. */
export class AlreadyServedError extends Error {
  constructor(path: string) {
    super(
      `another Reelgate process is running on ${path}. SQLite serves one process: stop that one first, or use PostgreSQL (DATABASE_URL=postgres://…) for several.`,
    );
    this.name = 'AlreadyServedError';
  }
}

/** The schema was changed by a newer release in a way this release cannot work with. */
export class SchemaMismatchError extends Error {
  constructor(problem: string) {
    super(
      `the database was changed by a newer release: ${problem}. Run that release, or restore a backup made before it.`,
    );
    this.name = 'SchemaMismatchError';
  }
}

/** Result codes of https://sqlite.org/rescode.html; the low byte of an extended code is its primary one. */
const SQLITE_BUSY = 5;
const SQLITE_FULL = 13;

const primaryCodeOf = (error: unknown): number =>
  error instanceof Error && 'errcode' in error ? Number(error.errcode) & 0xff : 0;

/** Another connection holds the lock. */
export const isBusy = (error: unknown): boolean => primaryCodeOf(error) === SQLITE_BUSY;

/** The disk, or the size the file may have, has no space left. */
export const isDiskFull = (error: unknown): boolean => primaryCodeOf(error) === SQLITE_FULL;

const pendingActions = new WeakMap<object, (() => void)[]>();
const NONE: readonly (() => void)[] = [];

/**
 * Runs an action once the transaction is on the disk; never after a rollback. For notifications of changes: nothing
 * that must happen may depend on it, since the process can die in between.
 */
export function afterCommit<T>(trx: Transaction<T>, action: () => void): void {
  const actions = pendingActions.get(trx);
  if (actions === undefined) pendingActions.set(trx, [action]);
  else actions.push(action);
}

/** Wraps the way a transaction is executed, so that actions of the attempt that was committed run after it. */
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
  // Left in the map, they and what they refer to would be kept, as they lead to their own key, until all memory is gone through.
  pendingActions.delete(committed);
  for (const action of actions) action();
  return result;
}

interface Scope {
  /** Work that outlives its transaction keeps the context but may use the database again. */
  open: boolean;
}

/**
 * Knows which asynchronous work happens inside a transaction, and keeps it from using the database beside that
 * transaction: such a query would not be part of it, and could wait for it forever.
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
 * The one clock all processes on a database use: PostgreSQL's, queried at intervals and advanced in between by the
 * monotonic timer, so that a replica whose own clock is wrong, or is adjusted, agrees with the others on what has expired.
 * On SQLite there is one machine and its clock.
 */
export async function openDatabaseClock<T>(database: Database<T>): Promise<DatabaseClock> {
  if (database.dialect === 'sqlite') return { now: systemClock.now, stop() {} };
  const readOffset = async (): Promise<number> => {
    const asked = performance.now();
    const { rows } = await sql<{ now: number }>`
      select floor(extract(epoch from clock_timestamp()) * 1000)::bigint as now
    `.execute(database.kysely);
    const half = (performance.now() - asked) / 2;
    return (rows[0]?.now ?? systemClock.now()) + half - performance.now();
  };
  let offset = await readOffset();
  const timer = setInterval(() => {
    // While the database is unavailable the timer continues; no decision that needs the time can be stored then anyway.
    readOffset().then(
      (fresh) => {
        offset = fresh;
      },
      () => {},
    );
  }, RESYNC_INTERVAL_MS).unref();
  return { now: () => Math.floor(performance.now() + offset), stop: () => clearInterval(timer) };
}

/** Longer than PostgreSQL takes to restart, or a pool to replace its dead connections (12 s). */
const RETRY_MS = 20_000;
const FIRST_DELAY_MS = 100;
const LONGEST_DELAY_MS = 2_000;

/**
 * Repeats a write that must not be lost, as what it records has happened outside the database and happens no second time. The write has to be
 * safe to repeat: where an answer was lost, it may have been made.
 *
 * @param stopping ends the waiting: a service that stops makes a last try and no further one
 * @throws DatabaseUnavailableError when the database is away for more than 20 s; any other error of `write` at once
 */
export async function retryWhileDatabaseUnavailable<T>(write: () => Promise<T>, stopping: AbortSignal): Promise<T> {
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
