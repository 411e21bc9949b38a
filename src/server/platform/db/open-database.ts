import { closeSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as delay } from 'node:timers/promises';
import type { Kysely } from 'kysely';
import type { Client } from 'pg';
import { assertSqliteFile, makeFolders } from '../path-checks.ts';
import { ConfigError } from '../setting-readers.ts';
import {
  AlreadyServedError,
  type Database,
  type DatabaseLog,
  type DatabaseOptions,
  isBusy,
  SchemaMismatchError,
} from './database.ts';
import { type MetaTables, type Migration, migrate } from './migrate.ts';
import { loadPg, openPostgres, PostgresHosts, toConnectError } from './postgres.ts';
import { openSqlite } from './sqlite.ts';

/**
 * Opens the SQLite file, or prepares a PostgreSQL pool, which connects with the first query.
 * @param url `sqlite:<path>` (a missing folder is created), `sqlite::memory:` (deleted on close) or `postgres://…`,
 * where `?poolMax=20` sets the size of the pool
 */
export function openDatabase<T>(url: string, options: DatabaseOptions = {}): Database<T> {
  if (url.startsWith('sqlite:')) return openSqlite<T>(url.slice('sqlite:'.length), options);
  if (/^postgres(ql)?:/.test(url)) return openPostgres<T>(url, options);
  throw new TypeError('the database url must begin with "sqlite:" or "postgres://"');
}

const FLOOR = 'schema_floor';

/**
 * Called by a migration that no earlier release can work with, even though tables and columns look the same. From then
 * on, releases that do not know the migration refuse to start.
 */
export async function raiseSchemaFloor<T>(trx: Kysely<T>, migrationId: string): Promise<void> {
  await (trx as unknown as Kysely<MetaTables>)
    .insertInto('meta')
    .values({ name: FLOOR, value: migrationId })
    .onConflict((conflict) => conflict.column('name').doUpdateSet({ value: migrationId }))
    .execute();
}

/**
 * Checks that this release can work on a schema changed by a newer one: every table and column it uses still exists,
 * and no new column requires a value it does not know. Skipped when all migrations in the database are known.
 * @throws SchemaMismatchError listing the mismatches
 */
export async function assertSchemaFits<T>(database: Database<T>, migrations: readonly Migration[]): Promise<void> {
  const kysely = database.kysely as unknown as Kysely<
    MetaTables & { schema_migrations: { id: string; applied_at: number } }
  >;
  const known = new Set(migrations.map(({ id }) => id));
  const applied = await kysely.selectFrom('schema_migrations').select('id').orderBy('applied_at').execute();
  const unknown = applied.map(({ id }) => id).filter((id) => !known.has(id));
  if (unknown.length === 0) return;
  const floor = await kysely.selectFrom('meta').select('value').where('name', '=', FLOOR).executeTakeFirst();
  if (floor !== undefined && !known.has(floor.value)) throw new SchemaMismatchError(`it needs ${floor.value}`);
  const problem = findMisfit(await expectedColumns(migrations), await columnsOf(database));
  if (problem !== undefined) throw new SchemaMismatchError(`${problem} (applied: ${unknown.join(', ')})`);
}

/** Columns by table; the value says whether an insert must set the column. */
type Columns = ReadonlyMap<string, ReadonlyMap<string, boolean>>;

function findMisfit(expected: Columns, actual: Columns): string | undefined {
  for (const [table, columns] of expected) {
    const found = actual.get(table);
    if (found === undefined) return `it has no table ${table}`;
    for (const column of columns.keys()) if (!found.has(column)) return `it has no column ${table}.${column}`;
    for (const [column, isDemanded] of found)
      if (isDemanded && !columns.has(column)) return `its new column ${table}.${column} has no default`;
  }
  return undefined;
}

/** The columns that this release's own migrations create. */
async function expectedColumns(migrations: readonly Migration[]): Promise<Columns> {
  const fresh = openDatabase<object>('sqlite::memory:');
  try {
    await migrate(fresh, migrations);
    return await columnsOf(fresh);
  } finally {
    await fresh.close();
  }
}

async function columnsOf<T>(database: Database<T>): Promise<Columns> {
  const tables = await database.kysely.introspection.getTables();
  const toColumns = (columns: (typeof tables)[number]['columns']) =>
    columns.map(
      ({ name, isNullable, hasDefaultValue, isAutoIncrementing }) =>
        [name, !isNullable && !hasDefaultValue && !isAutoIncrementing] as const,
    );
  return new Map(
    tables.filter(({ isView }) => !isView).map(({ name, columns }) => [name, new Map(toColumns(columns))]),
  );
}

/**
 * Makes this process the only service on a SQLite file: a service keeps rate limits, signals and locks in memory, so a
 * second one would not see them. The lock is an operating system lock on a file next to the database, and ends with the
 * process, however that ends. Commands that only use the database do not acquire it.
 * @returns a function that releases the lock
 * @throws DatabaseFileError when the path names no SQLite database; nothing is changed then
 * @throws AlreadyServedError when another process holds the lock
 */
export function lockSqliteFile(path: string): () => void {
  if (path === ':memory:') return () => {};
  assertSqliteFile(path);
  makeFolders(dirname(path));
  const lockPath = `${path}.lock`;
  // SQLite would create it readable by everyone.
  closeSync(openSync(lockPath, 'a', 0o600));
  // Node has no file locks of its own; SQLite's work on every system.
  const lock = new DatabaseSync(lockPath, { timeout: 0 });
  try {
    lock.exec('begin exclusive');
  } catch (error) {
    lock.close();
    throw isBusy(error) ? new AlreadyServedError(path) : error;
  }
  return () => lock.close();
}

/** An arbitrary number that no other advisory lock of this database uses. */
const SANDBOX_LOCK = 7_264_920_118;
/** The server may take a moment to notice that the previous holder's process is gone. */
const TRIES = 20;
const RETRY_MS = 250;

/**
 * Makes this process the only one with SANDBOX=1 on a PostgreSQL database until it ends: simulated vendors live in one
 * process, and a second one would redirect the channels to its own.
 * @throws ConfigError when another process has the sandbox
 */
export async function acquireSingleSandboxLock(url: string, log: DatabaseLog): Promise<{ release(): Promise<void> }> {
  const hosts = new PostgresHosts(url);
  const client = new (loadPg().Client)({ ...hosts.clientConfig(), application_name: 'reelgate sandbox' });
  client.on('error', (error) => log.warn({ err: error }, 'the lock of the sandbox was lost'));
  try {
    await client.connect();
  } catch (error) {
    throw toConnectError(error, hosts.describe());
  }
  for (let tries = 1; !(await tryLock(client)); tries++) {
    if (tries === TRIES) {
      await client.end();
      throw new ConfigError(
        'SANDBOX',
        'another process already runs the simulated vendors on this database; one process can. Start this one without SANDBOX, or with a database of its own',
      );
    }
    await delay(RETRY_MS);
  }
  return { release: () => client.end() };
}

async function tryLock(client: Client): Promise<boolean> {
  const { rows } = await client.query('select pg_try_advisory_lock($1::bigint) as locked', [SANDBOX_LOCK]);
  return rows[0]?.locked === true;
}
