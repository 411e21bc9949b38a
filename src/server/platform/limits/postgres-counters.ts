import { type Kysely, sql } from 'kysely';
import { LRUCache } from 'lru-cache';
import { upToEntries } from '../cache.ts';
import type { Clock } from '../clock.ts';
import { type Migration, required } from '../db/migrate.ts';
import { type Counters, MAX_KEYS, type MemoryCounters, type SlotStore } from './counters.ts';

/** Every 500th use deletes ended windows, which keeps the table small without a separate job. */
const SWEEP_EVERY = 500;

/** For several processes with one PostgreSQL and no Valkey: one statement per use. */
export function postgresCounters(
  kysely: Kysely<RateLimitTables>,
  name: string,
  durationMs: number,
  clock: Clock,
): Counters {
  const rowKey = (key: string): string => `${name}:${key}`;
  let uses = 0;
  const sweep = async (now: number): Promise<void> => {
    if (++uses % SWEEP_EVERY === 0) await kysely.deleteFrom('rate_limits').where('ends_at', '<=', now).execute();
  };
  const readRow = (key: string, now: number) =>
    kysely
      .selectFrom('rate_limits')
      .select(['points', 'ends_at'])
      .where('key', '=', rowKey(key))
      .where('ends_at', '>', now)
      .executeTakeFirst();
  return {
    async take(key, points, max) {
      const now = clock.now();
      await sweep(now);
      const row =
        points > max
          ? undefined
          : await kysely
              .insertInto('rate_limits')
              .values({ key: rowKey(key), points: Math.max(0, points), ends_at: now + durationMs })
              .onConflict((conflict) =>
                conflict
                  .column('key')
                  .doUpdateSet(addedTo(now, points))
                  .where(sql<boolean>`rate_limits.ends_at <= ${now} or rate_limits.points + ${points} <= ${max}`),
              )
              .returning(['points', 'ends_at'])
              .executeTakeFirst();
      const { points: used, ends_at: endsAt } = row ?? (await readRow(key, now)) ?? { points: 0, ends_at: now };
      // Another process may have started the window while this one waited.
      return { taken: row !== undefined, used, endsAt, endsInMs: Math.min(durationMs, endsAt - now) };
    },
    async adjust(key, endsAt, points) {
      await kysely
        .updateTable('rate_limits')
        .set({ points: sql`case when points + ${points} < 0 then 0 else points + ${points} end` })
        .where('key', '=', rowKey(key))
        .where('ends_at', '=', endsAt)
        .execute();
    },
    async remove(key) {
      await kysely.deleteFrom('rate_limits').where('key', '=', rowKey(key)).execute();
    },
  };
}

/** The current window with the points added, or a new window with only these points. */
const addedTo = (now: number, points: number) => ({
  points: sql<number>`case when rate_limits.ends_at <= ${now} then excluded.points
    when rate_limits.points + ${points} < 0 then 0 else rate_limits.points + ${points} end`,
  ends_at: sql<number>`case when rate_limits.ends_at <= ${now} then excluded.ends_at else rate_limits.ends_at end`,
});

const HOLDERS_PER_UPDATE = 500;

/**
 * Slots in PostgreSQL, for several processes without a Valkey. The slots of a key are numbered from 1 to its maximum,
 * and the number is part of the primary key, so no interleaving admits more, without a lock.
 */
export function postgresSlots(kysely: Kysely<RateLimitTables>, name: string, clock: Clock): SlotStore {
  const rowKey = (key: string): string => `${name}:${key}`;
  const findFree = async (key: string, max: number, now: number): Promise<number | undefined> => {
    const { rows } = await sql<{ slot: number }>`
      select slot from generate_series(1, ${sql.lit(max)}) as slot
      where not exists (select 1 from limit_slots as held where held.key = ${rowKey(key)} and held.slot = slot.slot and held.ends_at > ${now})
      order by random() limit 1`.execute(kysely);
    return rows[0]?.slot;
  };
  return {
    async acquire({ key, holder }, max, ttlMs) {
      for (;;) {
        const now = clock.now();
        const slot = await findFree(key, max, now);
        if (slot === undefined) return false;
        const row = { key: rowKey(key), slot, holder, ends_at: now + ttlMs };
        const taken = await kysely
          .insertInto('limit_slots')
          .values(row)
          .onConflict((conflict) =>
            conflict
              .columns(['key', 'slot'])
              .doUpdateSet({ holder, ends_at: row.ends_at })
              .where('limit_slots.ends_at', '<=', now),
          )
          .returning('slot')
          .executeTakeFirst();
        if (taken !== undefined) return true;
        // Another process took the slot in between; each iteration means that one process got a slot.
      }
    },
    async renew(slots, ttlMs) {
      const holders = slots.map(({ holder }) => holder);
      for (let at = 0; at < holders.length; at += HOLDERS_PER_UPDATE)
        await kysely
          .updateTable('limit_slots')
          .set({ ends_at: clock.now() + ttlMs })
          .where('holder', 'in', holders.slice(at, at + HOLDERS_PER_UPDATE))
          .execute();
    },
    async release({ key, holder }) {
      await kysely.deleteFrom('limit_slots').where('key', '=', rowKey(key)).where('holder', '=', holder).execute();
    },
  };
}

const SAVE_INTERVAL_MS = 1_000;
/** Rows per statement and per save: a flood of keys must not keep the database busy. */
const ROWS_PER_STATEMENT = 200;
const ROWS_PER_SAVE = 2_000;

type Row = RateLimitTables['rate_limits'];

interface SavedLimit {
  readonly name: string;
  readonly counters: MemoryCounters;
  readonly minPoints: number;
  /** Keys of the rows in the table; bounded like the counters, whose keys callers choose. */
  readonly saved: LRUCache<string, true>;
}

interface SnapshotLog {
  warn(details: object, message: string): void;
}

/**
 * Saves the counters of a single process, so that a restart lifts no lockout. Counting stays in memory; windows with at
 * least half of their points used are written every second and when the service stops, and restored at the next start.
 */
export class CounterSnapshots {
  readonly #kysely: Kysely<RateLimitTables>;
  readonly #clock: Clock;
  readonly #log: SnapshotLog | undefined;
  readonly #restored: Map<string, Row[]>;
  readonly #limits: SavedLimit[] = [];
  readonly #timer: NodeJS.Timeout;
  #saving: Promise<void> = Promise.resolve();

  static async open(kysely: Kysely<RateLimitTables>, clock: Clock, log?: SnapshotLog): Promise<CounterSnapshots> {
    await kysely.deleteFrom('rate_limits').where('ends_at', '<=', clock.now()).execute();
    const rows = await kysely.selectFrom('rate_limits').selectAll().execute();
    return new CounterSnapshots(kysely, clock, rows, log);
  }

  private constructor(kysely: Kysely<RateLimitTables>, clock: Clock, rows: readonly Row[], log?: SnapshotLog) {
    this.#kysely = kysely;
    this.#clock = clock;
    this.#log = log;
    this.#restored = Map.groupBy(rows, ({ key }) => key.slice(0, key.indexOf(':')));
    this.#timer = setInterval(() => {
      this.#saving = this.#saving.then(() => this.#save());
    }, SAVE_INTERVAL_MS).unref();
  }

  /** @param points the maximum of the limit */
  register(name: string, points: number, counters: MemoryCounters): void {
    const restored = this.#restored.get(name) ?? [];
    const toKey = (key: string): string => key.slice(name.length + 1);
    counters.restore(restored.map(({ key, points: used, ends_at: endsAt }) => ({ key: toKey(key), used, endsAt })));
    const saved = new LRUCache<string, true>(upToEntries(MAX_KEYS));
    for (const { key } of restored) saved.set(key, true);
    this.#restored.delete(name);
    this.#limits.push({ name, counters, minPoints: Math.max(1, points / 2), saved });
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#saving;
    await this.#save();
  }

  async #save(): Promise<void> {
    const rows: Row[] = [];
    const taken: { readonly counters: MemoryCounters; readonly key: string }[] = [];
    const forgotten: (() => void)[] = [];
    for (const { name, counters, minPoints, saved } of this.#limits)
      for (const { key, used, endsAt } of counters.takeChanged(ROWS_PER_SAVE - rows.length)) {
        taken.push({ counters, key });
        const rowKey = `${name}:${key}`;
        const isWorthSaving = used >= minPoints;
        // A saved window that was refunded since must be written too, or a restart would restore the lockout.
        if (isWorthSaving || saved.has(rowKey)) rows.push({ key: rowKey, points: used, ends_at: endsAt });
        if (isWorthSaving) saved.set(rowKey, true);
        else forgotten.push(() => saved.delete(rowKey));
      }
    if (rows.length === 0) return;
    try {
      for (let at = 0; at < rows.length; at += ROWS_PER_STATEMENT)
        await this.#write(rows.slice(at, at + ROWS_PER_STATEMENT));
      for (const forget of forgotten) forget();
      await this.#kysely.deleteFrom('rate_limits').where('ends_at', '<=', this.#clock.now()).execute();
    } catch (error) {
      for (const { counters, key } of taken) counters.keepChanged(key);
      this.#log?.warn({ err: error }, 'the counters of rate limits could not be saved');
    }
  }

  async #write(rows: readonly Row[]): Promise<void> {
    await this.#kysely
      .insertInto('rate_limits')
      .values(rows)
      .onConflict((conflict) =>
        conflict
          .column('key')
          .doUpdateSet((eb) => ({ points: eb.ref('excluded.points'), ends_at: eb.ref('excluded.ends_at') })),
      )
      .execute();
  }
}

/** Rate limit counters shared by several processes. A row past `ends_at` is void. */
export interface RateLimitTables {
  rate_limits: { key: string; points: number; ends_at: number };
  /** Occupied concurrency slots, by key and number; a row past `ends_at` belongs to a process that died. */
  limit_slots: { key: string; slot: number; holder: string; ends_at: number };
}

/** Schema migrations of the rate limits. */
export const rateLimitMigrations: readonly Migration[] = [
  {
    id: '0001-rate-limits',
    up: async (trx, dialect) => {
      await trx.schema
        .createTable('rate_limits')
        .addColumn('key', dialect.text, (column) => column.primaryKey())
        .addColumn('points', dialect.int64, required)
        .addColumn('ends_at', dialect.int64, required)
        .execute();
      await trx.schema.createIndex('rate_limits_ends_at').on('rate_limits').column('ends_at').execute();
      await trx.schema
        .createTable('limit_slots')
        .addColumn('key', dialect.text, required)
        .addColumn('slot', dialect.int64, required)
        .addColumn('holder', dialect.text, (column) => column.notNull().unique())
        .addColumn('ends_at', dialect.int64, required)
        .addPrimaryKeyConstraint('limit_slots_key', ['key', 'slot'])
        .execute();
    },
  },
];
