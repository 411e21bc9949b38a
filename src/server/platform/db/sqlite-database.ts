import {
  type Driver,
  Kysely,
  type Dialect as KyselyDialect,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
  type Transaction,
} from 'kysely';
import { runningActions } from './after-commit.ts';
import type { Database, DatabaseOptions } from './database.ts';
import { setShortcut, withShortcut } from './shortcut.ts';
import { SqliteDriver } from './sqlite-driver.ts';
import { TransactionContext } from './transaction-context.ts';

export function openSqlite<T>(path: string, options: DatabaseOptions): Database<T> {
  const context = new TransactionContext();
  const driver = new SqliteDriver(path, {
    stallMs: options.stallMs ?? 5_000,
    batchMs: options.batchMs ?? 5,
    onStall: (error) => options.log?.error({ err: error }, 'a transaction held up all others and was rolled back'),
  });
  const kysely = new Kysely<T>({ dialect: sqliteDialect(context.guard(driver)) });
  const beside = driver.connect();
  setShortcut(kysely, (query) => {
    context.assertOutside();
    return beside.executeQuery(query);
  });
  const inTransaction = <R>(run: (trx: Transaction<T>) => Promise<R>): Promise<R> =>
    kysely.transaction().execute((trx) => withShortcut(trx, () => context.run(() => run(trx))));
  return {
    dialect: 'sqlite',
    kysely,
    get snapshot() {
      return driver.snapshot;
    },
    transaction: (work) => runningActions(inTransaction, work),
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
