import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import {
  type ColumnBuilderCallback,
  type ColumnDefinitionBuilder,
  type Kysely,
  type SchemaModule,
  sql,
  type Transaction,
} from 'kysely';
import { type Database, DatabaseUnavailableError } from './database.ts';
import { type Dialect, dialectFor } from './sql.ts';

/**
 * The schema a migration works on. Untyped, because migrations keep naming tables and columns that later code dropped.
 */
export interface UntypedTables {
  readonly [table: string]: { readonly [column: string]: unknown };
}

/** The transaction in which a migration runs. */
export type MigrationTransaction = Transaction<UntypedTables>;

/**
 * One forward step of the schema. It runs exactly once, in a transaction that also records it as applied, on both
 * engines. There is no way back, and a released entry is never edited: add another one. During a rolling upgrade the
 * previous release works on the new schema, so add columns with a default, and drop a column only a release after the
 * last code that used it.
 */
export interface Migration {
  /** `0001-accounts`: four digits and a name, unique across all capabilities. */
  readonly id: string;
  up(trx: MigrationTransaction, dialect: Dialect): Promise<void>;
  /**
   * PostgreSQL: runs on its own connection without a transaction, as `create index concurrently` requires. The step
   * must therefore be repeatable after an interruption at any point. See `addIndex`.
   */
  readonly outsideTransaction?: boolean;
}

interface MigrationTables {
  schema_migrations: { id: string; applied_at: number };
}

/** An arbitrary number that no other advisory lock of this database uses. */
const POSTGRES_LOCK = 7_264_920_117;
const LOCK_RETRY_MS = 100;

/** How a step waits for a table in use. */
interface LockWait {
  /** Timeout of one attempt. With a longer one, every query on the table would queue up behind the step. */
  readonly timeoutMs: number;
  readonly retries: number;
}

const TWO_MINUTES: LockWait = { timeoutMs: 3_000, retries: 40 };
/** PostgreSQL, appendix A: lock_not_available, deadlock_detected. */
const LOCK_NOT_AVAILABLE: ReadonlySet<unknown> = new Set(['55P03', '40P01']);

/**
 * Applies the missing migrations in the order of the list and returns their ids. Processes that start together wait for
 * each other. An id in the database that the list lacks (from a newer release) is left alone; `assertSchemaFits`
 * decides whether this release can work with it.
 * @throws DatabaseUnavailableError when others keep a table locked; the steps before it stay applied
 */
export async function migrate<T>(
  database: Database<T>,
  migrations: readonly Migration[],
  wait = TWO_MINUTES,
): Promise<readonly string[]> {
  assertDistinct(migrations);
  const dialect = dialectFor(database.dialect);
  await inLockedTransaction(database, { ...wait, step: 'schema_migrations' }, (trx) =>
    trx.schema
      .createTable('schema_migrations')
      .ifNotExists()
      .addColumn('id', dialect.text, (column) => column.primaryKey())
      .addColumn('applied_at', dialect.int64, (column) => column.notNull())
      .execute(),
  );
  const known = await appliedIds(database.kysely as unknown as Kysely<MigrationTables>);
  const applied: string[] = [];
  for (const migration of migrations) {
    if (known.has(migration.id)) continue;
    const run = migration.outsideTransaction && database.dialect === 'postgres' ? runOutside : runOnce;
    if (await run(database, migration, dialect, { ...wait, step: migration.id })) applied.push(migration.id);
  }
  return applied;
}

/** Ids of the applied migrations; empty for a database on which the service never started. */
export async function appliedMigrations<T>(database: Database<T>): Promise<ReadonlySet<string>> {
  const kysely = database.kysely as unknown as Kysely<MigrationTables>;
  const { rows } = await (database.dialect === 'sqlite'
    ? sql`select 1 from sqlite_master where type = 'table' and name = 'schema_migrations'`
    : sql`select 1 where to_regclass('schema_migrations') is not null`
  ).execute(kysely);
  return rows.length === 0 ? new Set() : appliedIds(kysely);
}

/** @returns false when another process was first */
function runOnce<T>(database: Database<T>, migration: Migration, dialect: Dialect, wait: StepWait): Promise<boolean> {
  return inLockedTransaction(database, wait, async (trx) => {
    if ((await appliedIds(trx)).has(migration.id)) return false;
    await migration.up(trx as unknown as Transaction<UntypedTables>, dialect);
    await noteApplied(trx, migration.id);
    return true;
  });
}

/** @returns false when another process was first */
function runOutside<T>(
  database: Database<T>,
  migration: Migration,
  dialect: Dialect,
  wait: StepWait,
): Promise<boolean> {
  const kysely = database.kysely as unknown as Kysely<MigrationTables>;
  return kysely.connection().execute((connection) =>
    untilLocked(wait, async () => {
      if (!(await tryLock(connection, 'pg_try_advisory_lock'))) return undefined;
      try {
        if ((await appliedIds(connection)).has(migration.id)) return false;
        // Pins a connection, like a transaction does, but without starting one.
        await migration.up(connection as unknown as Transaction<UntypedTables>, dialect);
        await noteApplied(connection, migration.id);
        return true;
      } finally {
        await sql`select pg_advisory_unlock(${sql.lit(POSTGRES_LOCK)})`.execute(connection);
      }
    }),
  );
}

/**
 * The `up` of a migration that replaces a view by one with the same columns. On PostgreSQL it keeps the access that an
 * operator has granted to it.
 */
export const replaceView =
  (name: string, query: string): Migration['up'] =>
  async (trx, dialect) => {
    if (dialect.name === 'postgres')
      await sql`create or replace view ${sql.ref(name)} as ${sql.raw(query)}`.execute(trx);
    else {
      await sql`drop view ${sql.ref(name)}`.execute(trx);
      await sql`create view ${sql.ref(name)} as ${sql.raw(query)}`.execute(trx);
    }
  };

/**
 * The `up` of a migration that adds an index to a table that may be large and in use; the migration must be
 * `outsideTransaction`. On PostgreSQL the index is built while writes continue.
 */
export const addIndex =
  (index: {
    readonly name: string;
    readonly table: string;
    readonly columns: readonly string[];
    readonly unique?: boolean;
    /** SQL of the condition of a partial index. */
    readonly where?: string;
  }): Migration['up'] =>
  async (connection, dialect) => {
    const concurrently = dialect.name === 'postgres' ? sql`concurrently` : sql``;
    // An interrupted build leaves an invalid index behind, which must be dropped.
    await sql`drop index ${concurrently} if exists ${sql.ref(index.name)}`.execute(connection);
    const unique = index.unique ? sql`unique` : sql``;
    const columns = sql.join(index.columns.map((column) => sql.ref(column)));
    const where = index.where === undefined ? sql`` : sql.raw(`where ${index.where}`);
    await sql`create ${unique} index ${concurrently} ${sql.ref(index.name)} on ${sql.table(index.table)} (${columns}) ${where}`.execute(
      connection,
    );
  };

/** Includes the name of the waiting step, for the operator. */
interface StepWait extends LockWait {
  readonly step: string;
}

/** Runs a transaction that excludes other migrating processes. On SQLite every transaction does. */
function inLockedTransaction<T, R>(
  database: Database<T>,
  wait: StepWait,
  work: (trx: Transaction<MigrationTables>) => Promise<R>,
): Promise<R> {
  return untilLocked(wait, () =>
    database.transaction(
      async (typed) => {
        const trx = typed as unknown as Transaction<MigrationTables>;
        if (database.dialect === 'postgres') {
          if (!(await tryLock(trx, 'pg_try_advisory_xact_lock'))) return undefined;
          await sql`set local lock_timeout = ${sql.lit(wait.timeoutMs)}`.execute(trx);
        }
        return { result: await work(trx) };
      },
      { timeoutMs: 0 },
    ),
  ).then(({ result }) => result);
}

/**
 * Retries a step until it has its locks. It polls instead of waiting inside the database, because a waiting session
 * holds a snapshot, for which `create index concurrently` of another process would wait in turn.
 * @param attempt resolves with undefined while another process is migrating
 */
async function untilLocked<R>(
  { step, timeoutMs, retries: mostRetries }: StepWait,
  attempt: () => Promise<R | undefined>,
): Promise<R> {
  for (let retries = 0; ; ) {
    try {
      const outcome = await attempt();
      if (outcome !== undefined) return outcome;
    } catch (error) {
      const cause = error instanceof Error ? (error.cause ?? error) : undefined;
      const isLockMissing = cause instanceof Error && 'code' in cause && LOCK_NOT_AVAILABLE.has(cause.code);
      if (!isLockMissing) throw error;
      retries += 1;
      if (retries > mostRetries)
        throw new DatabaseUnavailableError(
          `the schema change "${step}" did not get its tables in ${retries} tries of ${timeoutMs / 1_000} s: ` +
            'end the transactions that use them (pg_stat_activity shows those that are open for long), and start again',
          error,
        );
    }
    await delay(LOCK_RETRY_MS);
  }
}

async function tryLock(
  executor: Kysely<MigrationTables>,
  lock: 'pg_try_advisory_lock' | 'pg_try_advisory_xact_lock',
): Promise<boolean> {
  const { rows } = await sql<{ locked: number }>`
    select ${sql.raw(lock)}(${sql.lit(POSTGRES_LOCK)}) as locked
  `.execute(executor);
  return rows[0]?.locked === 1;
}

async function noteApplied(executor: Kysely<MigrationTables>, id: string): Promise<void> {
  await executor.insertInto('schema_migrations').values({ id, applied_at: Date.now() }).execute();
}

async function appliedIds(kysely: Kysely<MigrationTables>): Promise<ReadonlySet<string>> {
  const rows = await kysely.selectFrom('schema_migrations').select('id').execute();
  return new Set(rows.map((row) => row.id));
}

function assertDistinct(migrations: readonly Migration[]): void {
  const seen = new Set<string>();
  for (const { id } of migrations) {
    if (seen.has(id)) throw new Error(`two migrations are called ${id}`);
    seen.add(id);
  }
}

/** The schema builder of a migration. */
export type Schema = SchemaModule;

/** A column that is never null. */
export const required: ColumnBuilderCallback = (column) => column.notNull();

/** A number that starts at zero. */
export const zero = (column: ColumnDefinitionBuilder): ColumnDefinitionBuilder => column.notNull().defaultTo(0);

/** Facts about the database as a whole, by name, such as the check value of the master key. */
export interface MetaTables {
  meta: { name: string; value: string };
  /**
   * Background work that one process at a time runs: the holder, the end of its lock, and the next due time (Unix
   * milliseconds).
   */
  scheduled_jobs: { name: string; holder: string; locked_until: number; due_at: number };
}

/** Schema migrations of the platform itself. */
export const metaMigrations: readonly Migration[] = [
  {
    id: '0001-meta',
    up: async (trx, dialect) => {
      await trx.schema
        .createTable('meta')
        .addColumn('name', dialect.text, (column) => column.primaryKey())
        .addColumn('value', dialect.text, required)
        .execute();
      await trx.schema
        .createTable('scheduled_jobs')
        .addColumn('name', dialect.text, (column) => column.primaryKey())
        .addColumn('holder', dialect.text, required)
        .addColumn('locked_until', dialect.int64, required)
        .addColumn('due_at', dialect.int64, required)
        .execute();
    },
  },
];

/** Larger than the free space usually left inside a database's existing pages. */
const PROBE_BYTES = 64 * 1024;

/** Remembers that a write failed because the database's disk was full, and detects when there is space again. */
export class DiskFullState {
  #isFull = false;

  noteFull(): void {
    this.#isFull = true;
  }

  /**
   * Writes nothing as long as no write has failed. After a failure, a larger value is stored and deleted again, because
   * a load balancer sends no requests to a process that is not ready, so no request would reveal the free space.
   * @throws DiskFullError while the disk is full
   */
  async assertFree<T>(database: Kysely<T>): Promise<void> {
    if (!this.#isFull) return;
    const kysely = database as unknown as Kysely<MetaTables>;
    const name = `space_check_${randomBytes(8).toString('hex')}`;
    // Random, because PostgreSQL compresses long values.
    const value = randomBytes(PROBE_BYTES / 2).toString('hex');
    await kysely.insertInto('meta').values({ name, value }).execute();
    await kysely.deleteFrom('meta').where('name', '=', name).execute();
    this.#isFull = false;
  }
}
