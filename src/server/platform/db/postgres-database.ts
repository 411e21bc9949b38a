import { setTimeout as delay } from 'node:timers/promises';
import { Kysely, PostgresAdapter, PostgresIntrospector, PostgresQueryCompiler, sql } from 'kysely';
import type { Pool, PoolConfig } from 'pg';
import { runningActions } from './after-commit.ts';
import type { Database, DatabaseLog, DatabaseOptions } from './database.ts';
import { DatabaseUnavailable } from './errors.ts';
import { loadPg } from './pg.ts';
import { PostgresDriver } from './postgres-driver.ts';
import { isConflict } from './postgres-errors.ts';
import { postgresTypes } from './postgres-values.ts';
import { withShortcut } from './shortcut.ts';
import { TransactionContext } from './transaction-context.ts';

const ATTEMPTS = 3;

/** `poolMax` in the query of the url overrides the option of the same name. */
export function openPostgres<T>(url: string, options: DatabaseOptions): Database<T> {
  const parsed = new URL(url);
  const max = Number(parsed.searchParams.get('poolMax') ?? options.poolMax ?? 10);
  parsed.searchParams.delete('poolMax');
  const timeoutMs = options.statementTimeoutMs ?? 5_000;
  const pool = openPool(options.log, {
    connectionString: parsed.href,
    max,
    types: postgresTypes(),
    application_name: 'reelgate',
    keepAlive: true,
    connectionTimeoutMillis: timeoutMs,
    statement_timeout: timeoutMs,
    idle_in_transaction_session_timeout: 2 * timeoutMs,
  });
  const context = new TransactionContext();
  const kysely = new Kysely<T>({
    dialect: {
      createDriver: () => context.guard(new PostgresDriver(pool)),
      createAdapter: () => new PostgresAdapter(),
      createQueryCompiler: () => new PostgresQueryCompiler(),
      createIntrospector: (db) => new PostgresIntrospector(db),
    },
  });
  return {
    dialect: 'postgres',
    kysely,
    snapshot: undefined,
    transaction: (work) =>
      runningActions(
        (run) =>
          repeatConflicts(() =>
            kysely.transaction().execute((trx) => withShortcut(trx, () => context.run(() => run(trx)))),
          ),
        work,
      ),
    ping: async () => {
      await sql`select 1`.execute(kysely);
    },
    close: () => pool.end(),
  };
}

/** A connection that breaks tells by an event as well, which ends the process unless somebody listens. */
function openPool(log: DatabaseLog | undefined, config: PoolConfig): Pool {
  const pool = new (loadPg().Pool)(config);
  const onError = (error: Error) => log?.warn({ err: error }, 'a connection to PostgreSQL was lost');
  pool.on('error', onError);
  pool.on('connect', (client) => client.on('error', () => {}));
  return pool;
}

/** Waits a random moment between attempts, so that those who collided do not meet again. */
async function repeatConflicts<R>(attempt: () => Promise<R>): Promise<R> {
  for (let made = 1; ; made++) {
    try {
      return await attempt();
    } catch (error) {
      if (!isConflict(error)) throw error;
      if (made === ATTEMPTS) throw new DatabaseUnavailable(`the transaction lost against others ${made} times`, error);
      await delay(Math.random() * 20 * made);
    }
  }
}
