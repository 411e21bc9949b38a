import {
  type Driver,
  Kysely,
  type Dialect as KyselyDialect,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
  type Transaction,
} from 'kysely';
import type { DialectName } from './dialect.ts';
import { SqliteDriver } from './sqlite-driver.ts';
import { TransactionContext } from './transaction-context.ts';

/** The part of the log the database writes to; pino fits. */
export interface DatabaseLog {
  warn(details: object, message: string): void;
  error(details: object, message: string): void;
}

export interface DatabaseOptions {
  readonly log?: DatabaseLog;
  /** SQLite: how long a transaction's callback may keep everybody else waiting; default 5 000. */
  readonly stallMs?: number;
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
   * Everything that must happen together. Resolves when it is on the disk; any throw undoes it and comes out. The callback
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
 * @param url `sqlite:<path>` (the folder is made when absent), `sqlite::memory:` (gone on close) or `postgres://…`
 */
export function openDatabase<T>(url: string, options: DatabaseOptions = {}): Database<T> {
  if (url.startsWith('sqlite:')) return openSqlite<T>(url.slice('sqlite:'.length), options);
  throw new TypeError('the database url must begin with "sqlite:" or "postgres://"');
}

function openSqlite<T>(path: string, options: DatabaseOptions): Database<T> {
  const context = new TransactionContext();
  const driver = new SqliteDriver(path, {
    stallMs: options.stallMs ?? 5_000,
    onStall: (error) => options.log?.error({ err: error }, 'a transaction held up all others and was rolled back'),
  });
  const kysely = new Kysely<T>({ dialect: sqliteDialect(context.guard(driver)) });
  return {
    dialect: 'sqlite',
    kysely,
    transaction: (work) => kysely.transaction().execute((trx) => context.run(() => work(trx))),
    ping: async () => {},
    close: () => driver.destroy(),
  };
}

function sqliteDialect(driver: Driver): KyselyDialect {
  return {
    createDriver: () => driver,
    createAdapter: () => new ConcurrentSqliteAdapter(),
    createQueryCompiler: () => new SqliteQueryCompiler(),
    createIntrospector: (db) => new SqliteIntrospector(db),
  };
}

/** Kysely lets only one query at a time near SQLite by default; here the driver orders the writes itself. */
class ConcurrentSqliteAdapter extends SqliteAdapter {
  override get supportsMultipleConnections(): boolean {
    return true;
  }
}
