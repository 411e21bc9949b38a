import { type Kysely, type RawBuilder, sql } from 'kysely';
import type { TimedRows } from './time-to-key-range.ts';

/** Rows that are deleted once they are old. */
export interface OldRows extends TimedRows {
  /** Keys ascend with time, so that the oldest rows are found without an index on the time. */
  readonly keysAscendWithTime?: true;
  /** A further condition. */
  readonly only?: RawBuilder<boolean>;
}

/**
 * Deletes at most `limit` of the rows from before a time, the oldest first: a short statement at a time, so that others wait
 * little. Fewer than `limit` deleted: there are no more.
 *
 * @param before Unix milliseconds
 * @returns how many
 */
export async function deleteOldRows<T>(
  db: Kysely<T>,
  { table, key, time, keysAscendWithTime, only }: OldRows,
  before: number,
  limit: number,
): Promise<number> {
  const [rows, keyColumn, timeColumn] = [sql.table(table), sql.ref(key), sql.ref(time)];
  const old =
    keysAscendWithTime === true
      ? sql`select ${keyColumn} from (select ${keyColumn}, ${timeColumn} from ${rows} order by ${keyColumn} limit ${limit}) oldest
          where ${timeColumn} < ${before}`
      : sql`select ${keyColumn} from ${rows} where ${timeColumn} < ${before}${only === undefined ? sql`` : sql` and ${only}`}
          order by ${timeColumn} limit ${limit}`;
  const { numAffectedRows } = await sql`delete from ${rows} where ${keyColumn} in (${old})`.execute(db);
  return Number(numAffectedRows ?? 0);
}
