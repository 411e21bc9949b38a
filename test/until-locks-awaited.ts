import { type QueryExecutorProvider, sql } from 'kysely';

const awaited = sql<{ count: number }>`
  select count(*) as count from pg_locks
  where not granted and database = (select oid from pg_database where datname = current_database())`;

/** Resolves once this many sessions wait for table locks in this database (PostgreSQL). */
export async function untilLocksAwaited(database: QueryExecutorProvider, sessions: number): Promise<void> {
  while (((await awaited.execute(database)).rows[0]?.count ?? 0) < sessions);
}
