import type { Foundation } from './foundation.ts';
import { MonthlyPartitions } from './platform/db/monthly-partitions.ts';
import { hasConcurrentWriters } from './platform/db/sql.ts';
import type { Tables } from './tables.ts';

/** Tables that PostgreSQL keeps by month. The ledger, tasks and events have unique columns, which a part could not keep unique. */
const TABLES = ['requests'] as const;

/** The partitions of each table by its name; none on SQLite. */
export const partitionsOf = ({
  database,
}: Pick<Foundation, 'database'>): readonly (readonly [string, MonthlyPartitions<Tables>])[] =>
  hasConcurrentWriters(database.kysely) ? TABLES.map((table) => [table, new MonthlyPartitions(database, table)]) : [];
