import { type Kysely, sql, type Transaction } from 'kysely';
import type { Database } from './database.ts';
import { type Dialect, type DialectName, dialectFor } from './dialect.ts';

/** The schema a migration works on: no types, since it must go on naming tables and columns that later code dropped. */
export interface UntypedTables {
  readonly [table: string]: { readonly [column: string]: unknown };
}

/**
 * One step forward of the schema. It runs in a transaction of its own together with the note that it ran, on both
 * engines, and exactly once. There is no way back, and an entry that was released is never edited: add another one.
 * While servers are replaced one by one the previous release works on the new schema, so add columns with a default and
 * drop one only a release after the last code that used it.
 */
export interface Migration {
  /** `0001-accounts`: four digits and a name, unique over all capabilities. */
  readonly id: string;
  up(trx: Transaction<UntypedTables>, dialect: Dialect): Promise<void>;
}

interface MigrationTables {
  schema_migrations: { id: string; applied_at: number };
}

/** Any number no other advisory lock of this database uses. */
const POSTGRES_LOCK = 7_264_920_117;

/**
 * Brings the schema up to date, in the order of the list, and answers with the ids that were applied now. Processes that
 * start together wait for each other; an id in the database that the list does not know (a newer release) is left alone.
 */
export async function migrate<T>(database: Database<T>, migrations: readonly Migration[]): Promise<readonly string[]> {
  assertDistinct(migrations);
  const dialect = dialectFor(database.dialect);
  await locked(database, (trx) =>
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
    const ran = await locked(database, async (trx) => {
      if ((await appliedIds(trx)).has(migration.id)) return false;
      await migration.up(trx as unknown as Transaction<UntypedTables>, dialect);
      await trx.insertInto('schema_migrations').values({ id: migration.id, applied_at: Date.now() }).execute();
      return true;
    });
    if (ran) applied.push(migration.id);
  }
  return applied;
}

/** A transaction no other migrating process is in. On SQLite every transaction is. */
function locked<T, R>(database: Database<T>, work: (trx: Transaction<MigrationTables>) => Promise<R>) {
  return database.transaction(async (typed) => {
    const trx = typed as unknown as Transaction<MigrationTables>;
    await LOCK[database.dialect](trx);
    return work(trx);
  });
}

const LOCK: Readonly<Record<DialectName, (trx: Transaction<MigrationTables>) => Promise<unknown>>> = {
  sqlite: async () => {},
  postgres: async (trx) => {
    await sql`set local statement_timeout = 0`.execute(trx);
    await sql`select pg_advisory_xact_lock(${sql.lit(POSTGRES_LOCK)})`.execute(trx);
  },
};

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
