import { type RawBuilder, sql } from 'kysely';
import type { Database } from './database.ts';

/** Months since the year 0, UTC. */
type Month = number;

/** Any number no other advisory lock of this database uses. */
const CHANGE_LOCK = 7_264_920_119;
/** How long a change waits for queries on the table; those that come meanwhile wait behind it. The job tries again later. */
const LOCK_TIMEOUT = '2s';

/** The partition for what belongs to no month that has one. */
export const defaultPartitionOf = (table: string): string => `${table}_rest`;

/**
 * The months of a table that PostgreSQL keeps in parts, by `created_at`. A month is made before it begins, and dropped as a whole
 * once it has passed its retention, which takes no time and leaves no dead rows. What belongs to no month goes to the part
 * `…_rest`, so that no insert ever fails, and is moved when its month is made.
 */
export class MonthlyPartitions<T> {
  readonly #database: Database<T>;
  readonly #table: string;

  constructor(database: Database<T>, table: string) {
    this.#database = database;
    this.#table = table;
  }

  /** Makes the months from one time to another (Unix milliseconds) that are missing. @returns how many */
  async add(from: number, to: number): Promise<number> {
    const existing = await this.#months();
    const [first, last] = [monthOf(from), monthOf(to)];
    const missing = Array.from({ length: last - first + 1 }, (_, index) => first + index).filter(
      (month) => !existing.includes(month),
    );
    for (const month of missing) await this.#add(month);
    return missing.length;
  }

  /** Drops the months that ended by a time. @returns how many */
  async dropBefore(before: number): Promise<number> {
    const ended = (await this.#months()).filter((month) => startOf(month + 1) <= before);
    for (const month of ended)
      await this.#change(async (run) => {
        await run(sql`drop table if exists ${sql.table(this.#nameOf(month))}`);
      });
    return ended.length;
  }

  /** How many months after the present one are made already, without a gap; -1 when the present one is missing. */
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
      // Attaching fails where a row of the month is left, so whatever was written meanwhile is moved once nobody can write more. Who
      // waits for this lock to write such a row fails once the month is attached, and does it again (`isConflict`).
      await run(sql`lock table ${rest} in access exclusive mode`);
      await run(move);
      // Unlike `create table … partition of` this lets reads and writes of the other months go on.
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
