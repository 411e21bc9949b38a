import { type Kysely, type RawBuilder, sql } from 'kysely';
import { defined } from '../../../contract/omit-undefined.ts';
import { hasConcurrentWriters } from './dialect.ts';

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

/**
 * The rows of a period by their keys, which ascend with the time on SQLite, as it has one writer. There an index on the time would
 * cost each insert more than the 25 look-ups in ten million rows cost a list. Rows that were written while the clock of the
 * machine was being set back may be missing from a period. On PostgreSQL writers overtake each other: the table has an index, and the range
 * is empty.
 */
export async function toKeyRange<T>(kysely: Kysely<T>, rows: TimedRows, { from, to }: Period): Promise<KeyRange> {
  if (hasConcurrentWriters(kysely)) return {};
  const keyOf = async (at: number | undefined): Promise<number | undefined> =>
    at === undefined ? undefined : firstKeySince(kysely, rows, at);
  return defined({ first: await keyOf(from), before: await keyOf(to) });
}

/** The lowest key from which on all rows are of this time or later, by halving. */
async function firstKeySince<T>(kysely: Kysely<T>, { table, key, time }: TimedRows, at: number): Promise<number> {
  const [rows, keyColumn, timeColumn] = [sql.table(table), sql.ref(key), sql.ref(time)];
  const read = async (
    rest: RawBuilder<unknown>,
  ): Promise<{ readonly key: number; readonly time: number } | undefined> => {
    const query = sql<{
      key: number;
      time: number;
    }>`select ${keyColumn} as key, ${timeColumn} as time from ${rows} ${rest}`;
    return (await query.execute(kysely)).rows[0];
  };
  let older = 0;
  let since = ((await read(sql`order by ${keyColumn} desc limit 1`))?.key ?? 0) + 1;
  while (since - older > 1) {
    const middle = Math.floor((older + since) / 2);
    const row = await read(sql`where ${keyColumn} >= ${middle} order by ${keyColumn} limit 1`);
    if (row === undefined || row.time >= at) since = middle;
    else older = row.key;
  }
  return since;
}
