import { type RawBuilder, sql } from 'kysely';
import type { Database } from './database.ts';

/** Months since the year 0, UTC. */
type Month = number;

/** An arbitrary number that no other advisory lock of this database uses. */
const CHANGE_LOCK = 7_264_920_119;
/** How long a change waits for queries on the table; newer queries queue behind it meanwhile. The job retries later. */
const LOCK_TIMEOUT = '2s';

/** The partition for rows whose month has no partition. */
export const defaultPartitionOf = (table: string): string => `${table}_rest`;

/**
 * Monthly partitions by `created_at` of a PostgreSQL table. A month's partition is created before the month starts and
 * dropped as a whole after its retention, which is instant and leaves no dead rows. Rows without a month go to the
 * partition `…_rest`, so that no insert ever fails, and are moved when their month is created.
 */
export class MonthlyPartitions<T> {
  readonly #database: Database<T>;
  readonly #table: string;

  constructor(database: Database<T>, table: string) {
    this.#database = database;
    this.#table = table;
  }

  /**
   * Creates the missing partitions between two times (Unix milliseconds).
   * @returns the number of partitions created
   */
  async add(from: number, to: number): Promise<number> {
    const existing = await this.#months();
    const [first, last] = [monthOf(from), monthOf(to)];
    const missing = Array.from({ length: last - first + 1 }, (_, index) => first + index).filter(
      (month) => !existing.includes(month),
    );
    for (const month of missing) await this.#add(month);
    return missing.length;
  }

  /**
   * Drops the months that ended before a time.
   * @returns the number of partitions dropped
   */
  async dropBefore(before: number): Promise<number> {
    const ended = (await this.#months()).filter((month) => startOf(month + 1) <= before);
    for (const month of ended)
      await this.#change(async (run) => {
        await run(sql`drop table if exists ${sql.table(this.#nameOf(month))}`);
      });
    return ended.length;
  }

  /** Number of months after the current one that already exist, without a gap; -1 when the current one is missing. */
  async countAhead(now: number): Promise<number> {
    const existing = new Set(await this.#months());
    let month = monthOf(now);
    while (existing.has(month)) month += 1;
    return month - monthOf(now) - 1;
  }

  async #add(month: Month): Promise<void> {
    const [table, name] = [sql.table(this.#table), sql.table(this.#nameOf(month))];
    const [from, to] = [sql.lit(startOf(month)), sql.lit(startOf(month + 1))];
    await this.#change(async (run) => {
      // Two processes may have found it missing.
      if ((await this.#months(run)).includes(month)) return;
      await run(sql`create table ${name} (like ${table} including defaults)`);
      const rest = sql.table(defaultPartitionOf(this.#table));
      const move = sql`
        with moved as (delete from ${rest} where created_at >= ${from} and created_at < ${to} returning *)
        insert into ${name} select * from moved`;
      await run(move);
      // Attaching fails while `…_rest` still has a row of the month, so late rows are moved under a lock that stops
      // writers. A writer that waits for this lock fails once the month is attached, and retries (`isConflict`).
      await run(sql`lock table ${rest} in access exclusive mode`);
      await run(move);
      // Unlike `create table … partition of`, this does not block reads and writes of the other months.
      await run(sql`alter table ${table} attach partition ${name} for values from (${from}) to (${to})`);
    });
  }

  async #change(work: (run: Run) => Promise<void>): Promise<void> {
    await this.#database.transaction(
      async (trx) => {
        await sql`set local lock_timeout = ${sql.lit(LOCK_TIMEOUT)}`.execute(trx);
        await sql`select pg_advisory_xact_lock(${sql.lit(CHANGE_LOCK)})`.execute(trx);
        await work(async (statement) => (await statement.execute(trx)).rows);
      },
      { timeoutMs: 0 },
    );
  }

  async #months(run: Run = async (query) => (await query.execute(this.#database.kysely)).rows): Promise<Month[]> {
    const rows = await run<{ name: string }>(sql`
      select part.relname as name from pg_inherits join pg_class part on part.oid = inhrelid
      where inhparent = to_regclass(${this.#table})`);
    return rows.flatMap(({ name }) => {
      const [, year, month] = /_(\d{4})_(\d{2})$/.exec(name) ?? [];
      return year === undefined ? [] : [Number(year) * 12 + Number(month) - 1];
    });
  }

  #nameOf(month: Month): string {
    return `${this.#table}_${Math.floor(month / 12)}_${String((month % 12) + 1).padStart(2, '0')}`;
  }
}

type Run = <R = unknown>(query: RawBuilder<R>) => Promise<readonly R[]>;

function monthOf(at: number): Month {
  const date = new Date(at);
  return date.getUTCFullYear() * 12 + date.getUTCMonth();
}

const startOf = (month: Month): number => Date.UTC(Math.floor(month / 12), month % 12);
