import type { Kysely, Transaction } from 'kysely';
import type { DialectName } from './sql-dialect.ts';

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

export interface TransactionOptions {
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
   * Makes a number that is another one whenever rows of these tables may have changed, also by another process: as long as it is the
   * same, what was read after it was asked for still holds. Undefined on PostgreSQL, where only a query could tell.
   */
  readonly watch: ((tables: readonly (keyof T & string)[]) => () => number) | undefined;
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
