import { sql } from 'kysely';
import type { Database } from '../../src/server/platform/db/database.ts';

interface IndexRow {
  readonly name: string;
  readonly definition: string;
}

/**
 * Drops every index except those of keys, runs the work, and recreates the indexes, so that millions of rows are
 * written in minutes.
 */
export async function withoutIndexes<T>(
  { kysely, dialect }: Database<T>,
  tables: readonly string[],
  work: () => Promise<void>,
): Promise<void> {
  const names = sql.join(tables);
  const find =
    dialect === 'sqlite'
      ? sql<IndexRow>`select name, sql as definition from sqlite_master where type = 'index' and sql is not null and tbl_name in (${names})`
      : sql<IndexRow>`select indexname as name, indexdef as definition from pg_indexes where schemaname = current_schema()
          and tablename in (${names}) and indexname not in (select conname from pg_constraint)`;
  const { rows } = await find.execute(kysely);
  for (const { name } of rows) await sql`drop index ${sql.ref(name)}`.execute(kysely);
  await work();
  // PostgreSQL writes `ON ONLY` for a partitioned table, which would leave its partitions without the index.
  for (const { definition } of rows) await sql.raw(definition.replace(' ON ONLY ', ' ON ')).execute(kysely);
}
