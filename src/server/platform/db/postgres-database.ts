import { setTimeout as delay } from 'node:timers/promises';
import { Kysely, PostgresAdapter, PostgresIntrospector, PostgresQueryCompiler, sql, type Transaction } from 'kysely';
import type { PoolConfig } from 'pg';
import { runAfterCommitActions } from './after-commit.ts';
import type { Database, DatabaseOptions } from './database-interface-and-options.ts';
import { DiskFullState } from './disk-full-state.ts';
import { asPostgres, PostgresDriver } from './postgres-driver.ts';
import { isConflict, isStalePlan, MAX_ATTEMPTS, toConflictError } from './postgres-errors.ts';
import { PostgresHosts } from './postgres-hosts.ts';
import { PostgresPool } from './postgres-pool.ts';
import { postgresTypes } from './postgres-values.ts';
import { withDirectExecutor } from './prepared-query-executor.ts';
import { TransactionContext } from './transaction-scope-guard.ts';

/** Longest wait for a connection: for a free one of the pool, or for the server. */
const CONNECT_TIMEOUT_MS = 5_000;

/** `poolMax` in the query of the url overrides the option of the same name. */
export function openPostgres<T>(url: string, options: DatabaseOptions): Database<T> {
  const hosts = new PostgresHosts(url);
  const space = new DiskFullState();
  const { log, isPooled = false, statementTimeoutMs = 5_000 } = options;
  const pool = new PostgresPool(hosts, log, {
    max: hosts.poolMax ?? options.poolMax ?? 10,
    types: postgresTypes(),
    application_name: 'reelgate',
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    // A pooler knows no such parameters and refuses the connection; each transaction sets them itself then.
    ...(isPooled ? undefined : toSessionSettings(statementTimeoutMs)),
  });
  const driverOptions = { statementTimeoutMs, isPooled, onDiskFull: () => space.noteFull(), onQuery: options.onQuery };
  const context = new TransactionContext();
  const kysely = new Kysely<T>({
    dialect: {
      createDriver: () => context.guard(new PostgresDriver(pool, driverOptions)),
      createAdapter: () => new PostgresAdapter(),
      createQueryCompiler: () => new PostgresQueryCompiler(),
      createIntrospector: (db) => new PostgresIntrospector(db),
    },
  });
  return {
    dialect: 'postgres',
    kysely,
    watch: undefined,
    connections: () => pool.connections,
    releaseSpace: undefined,
    transaction: (work, { timeoutMs } = {}) =>
      runAfterCommitActions(
        (run) =>
          retryConflicts(() =>
            kysely.transaction().execute(async (trx) => {
              if (timeoutMs !== undefined) await setTransactionTimeout(trx, timeoutMs);
              return withDirectExecutor(trx, () => context.run(() => run(trx)));
            }),
          ),
        work,
      ),
    ping: async () => {
      await sql`select 1`.execute(kysely);
      await space.assertFree(kysely);
    },
    close: () => pool.end(),
  };
}

const toSessionSettings = (statementTimeoutMs: number): PoolConfig => ({
  statement_timeout: statementTimeoutMs,
  idle_in_transaction_session_timeout: 2 * statementTimeoutMs,
});

const setTransactionTimeout = <T>(trx: Transaction<T>, timeoutMs: number): Promise<void> =>
  trx.getExecutor().provideConnection((connection) => asPostgres(connection).setTransactionTimeout(timeoutMs));

/**
 * Waits a random moment between attempts, so that those who collided do not meet again. After a change of a table each connection of the
 * pool may have a stale plan; none has it twice, so these attempts end without being counted.
 */
async function retryConflicts<R>(attempt: () => Promise<R>): Promise<R> {
  for (let made = 1; ; ) {
    try {
      return await attempt();
    } catch (error) {
      if (isStalePlan(error)) continue;
      if (!isConflict(error)) throw error;
      if (made === MAX_ATTEMPTS) throw toConflictError(error, made);
      made++;
      await delay(Math.random() * 20 * made);
    }
  }
}
