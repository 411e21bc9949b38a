import { type Kysely, sql } from 'kysely';
import { defined } from '../../../contract/omit-undefined.ts';
import { hasConcurrentWriters } from './sql-dialect.ts';

/** A table whose rows are written with the time of their writing and never changed. */
export interface TimedRows {
  readonly table: string;
  /** Numbers its rows upwards. */
  readonly key: string;
  /** Unix milliseconds. */
  readonly time: string;
}

/** Unix milliseconds; `to` is not included. */
export interface Period {
  readonly from?: number | undefined;
  readonly to?: number | undefined;
}

/** Rows between two keys; `before` is not included. */
export interface KeyRange {
  readonly first?: number;
  readonly before?: number;
}

/** The first key, and the one behind the last. */
export type KeyBounds = readonly [first: number, end: number];

/**
 * The rows of a period by their keys, which ascend with the time on SQLite, as it has one writer. There an index on the time would
 * cost each insert more than the 25 look-ups in ten million rows cost a list. Rows that were written while the clock of the
 * machine was being set back may be missing from a period. On PostgreSQL writers overtake each other: the table has an index, and the range
 * is empty.
 */
export async function toKeyRange<T>(kysely: Kysely<T>, rows: TimedRows, { from, to }: Period): Promise<KeyRange> {
  if (hasConcurrentWriters(kysely) || (from === undefined && to === undefined)) return {};
  const [key, table] = [sql.ref(rows.key), sql.table(rows.table)];
  const newest = await sql<{ key: number }>`select ${key} as key from ${table} order by ${key} desc limit 1`.execute(
    kysely,
  );
  const bounds = [1, (newest.rows[0]?.key ?? 0) + 1] as const;
  const keyOf = async (at: number | undefined): Promise<number | undefined> =>
    at === undefined ? undefined : firstKeySince(kysely, rows, at, bounds);
  return defined({ first: await keyOf(from), before: await keyOf(to) });
}

/**
 * The lowest key from which on all rows are of this time or later, by halving.
 *
 * @param bounds between which keys ascend with the time; the end where all rows are older
 */
export async function firstKeySince<T>(
  kysely: Kysely<T>,
  { table, key, time }: TimedRows,
  at: number,
  [first, end]: KeyBounds,
): Promise<number> {
  const [rows, keyColumn, timeColumn] = [sql.table(table), sql.ref(key), sql.ref(time)];
  let [low, high] = [first, end];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const query = sql<{ key: number; time: number }>`
      select ${keyColumn} as key, ${timeColumn} as time from ${rows} where ${keyColumn} >= ${middle} order by ${keyColumn} limit 1`;
    const row = (await query.execute(kysely)).rows[0];
    if (row === undefined || row.time >= at) high = middle;
    else low = row.key + 1;
  }
  return low;
}
