import type { Kysely, Transaction } from 'kysely';
import type { DialectName } from './dialect.ts';
import { openPostgres } from './postgres-database.ts';
import { openSqlite } from './sqlite-database.ts';

/** The part of the log the database writes to; pino fits. */
export interface DatabaseLog {
  warn(details: object, message: string): void;
  error(details: object, message: string): void;
}

export interface DatabaseOptions {
  readonly log?: DatabaseLog;
  /** SQLite: how long a transaction's callback may keep everybody else waiting; default 5 000. */
  readonly stallMs?: number;
  /** SQLite: how long one batch of writes may go on before it is committed; default 5. */
  readonly batchMs?: number;
  /** PostgreSQL: most connections at a time; default 10. */
  readonly poolMax?: number;
  /** PostgreSQL: longest run of one statement and longest wait for a connection; default 5 000. */
  readonly statementTimeoutMs?: number;
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
   * Names the state that reads see just now: as long as it is the same object, a read answers the same. Undefined where
   * that is not known, as always on PostgreSQL.
   */
  readonly snapshot: object | undefined;
  /**
   * Everything that must happen together. Resolves when it is on the disk; any throw undoes it and comes out, and
   * after a failed statement nothing else works in it, even when the error was caught. The callback
   * uses only the transaction it is given, does no network call, and may run more than once: PostgreSQL repeats it up to
   * three times after a serialization failure or a deadlock. Throws inside another transaction's callback.
   */
  transaction<R>(work: (trx: Transaction<T>) => Promise<R>): Promise<R>;
  /** Resolves when the database answers, else throws `DatabaseUnavailable`. */
  ping(): Promise<void>;
  /** Waits for the writes under way, then lets go of file or connections. */
  close(): Promise<void>;
}

/**
 * Opens the file, or makes ready to connect: PostgreSQL is first spoken to by the first query.
 *
 * @param url `sqlite:<path>` (the folder is made when absent), `sqlite::memory:` (gone on close) or `postgres://…`,
 *   where `?poolMax=20` sets the size of the pool
 */
export function openDatabase<T>(url: string, options: DatabaseOptions = {}): Database<T> {
  if (url.startsWith('sqlite:')) return openSqlite<T>(url.slice('sqlite:'.length), options);
  if (/^postgres(ql)?:/.test(url)) return openPostgres<T>(url, options);
  throw new TypeError('the database url must begin with "sqlite:" or "postgres://"');
}
