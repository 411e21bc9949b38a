import {
  type Driver,
  Kysely,
  type Dialect as KyselyDialect,
  SqliteAdapter,
  SqliteIntrospector,
  type Transaction,
} from 'kysely';
import { runAfterCommitActions } from './after-commit.ts';
import type { Database, DatabaseOptions } from './database-interface-and-options.ts';
import { DiskFullState } from './disk-full-state.ts';
import { setDirectExecutor, withDirectExecutor } from './prepared-query-executor.ts';
import { LocklessSqliteCompiler } from './sql-dialect.ts';
import { SqliteDriver } from './sqlite-driver.ts';
import { TransactionContext } from './transaction-scope-guard.ts';

export function openSqlite<T>(path: string, options: DatabaseOptions): Database<T> {
  const context = new TransactionContext();
  const space = new DiskFullState();
  const driver = new SqliteDriver(path, {
    onDiskFull: () => space.noteFull(),
    stallMs: options.stallMs ?? 5_000,
    batchMs: options.batchMs ?? 5,
    onQuery: options.onQuery ?? (() => {}),
    onStall: (error) => options.log?.error({ err: error }, 'a transaction held up all others and was rolled back'),
  });
  const kysely = new Kysely<T>({ dialect: sqliteDialect(context.guard(driver)) });
  const beside = driver.connect();
  setDirectExecutor(kysely, (query) => {
    context.assertOutside();
    return beside.executeQuery(query);
  });
  const inTransaction = <R>(run: (trx: Transaction<T>) => Promise<R>): Promise<R> =>
    kysely.transaction().execute((trx) => withDirectExecutor(trx, () => context.run(() => run(trx))));
  return {
    dialect: 'sqlite',
    kysely,
    watch: (tables) => driver.watch(tables),
    connections: undefined,
    releaseSpace: (maxPages) => driver.releaseSpace(maxPages),
    transaction: (work) => runAfterCommitActions(inTransaction, work),
    ping: () => space.assertFree(kysely),
    close: () => driver.destroy(),
  };
}

function sqliteDialect(driver: Driver): KyselyDialect {
  return {
    createDriver: () => driver,
    createAdapter: () => new ConcurrentSqliteAdapter(),
    createQueryCompiler: () => new LocklessSqliteCompiler(),
    createIntrospector: (db) => new SqliteIntrospector(db),
  };
}

/** Kysely lets only one query at a time near SQLite by default; here the driver orders the writes itself. */
class ConcurrentSqliteAdapter extends SqliteAdapter {
  override get supportsMultipleConnections(): boolean {
    return true;
  }
}
