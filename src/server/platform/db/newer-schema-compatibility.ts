import type { Kysely } from 'kysely';
import { SchemaMismatchError } from './database-errors.ts';
import type { Database } from './database-interface-and-options.ts';
import { type Migration, migrate } from './migrate.ts';
import { openDatabase } from './open-database.ts';
import type { MetaTables } from './tables.ts';

const FLOOR = 'schema_floor';

/**
 * To be called by a migration that no earlier release can work with, even though tables and columns look the same to it:
 * from then on releases that do not know the migration refuse to start.
 */
export async function raiseSchemaFloor<T>(trx: Kysely<T>, migrationId: string): Promise<void> {
  await (trx as unknown as Kysely<MetaTables>)
    .insertInto('meta')
    .values({ name: FLOOR, value: migrationId })
    .onConflict((conflict) => conflict.column('name').doUpdateSet({ value: migrationId }))
    .execute();
}

/**
 * Whether this release can work on a schema that a newer one has changed: with its migrations applied, every table and
 * column it uses is still there, and no new column demands a value it does not know of. Nothing is compared where all
 * migrations in the database are known.
 *
 * @throws SchemaMismatchError with what does not fit
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

/** Columns by table; the value says whether an insert must name the column. */
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

/** What this release's own migrations make. */
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
