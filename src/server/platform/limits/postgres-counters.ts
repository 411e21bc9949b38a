import { type Kysely, sql } from 'kysely';
import type { Clock } from '../clock.ts';
import { type BudgetCounters, type Counters, EMPTY_WINDOW } from './counter-types.ts';
import type { RateLimitTables } from './tables.ts';

/** One addition in so many clears what has ended, which keeps the table small without a job of its own. */
const SWEEP_EVERY = 500;

/** For several processes around one PostgreSQL and no Valkey: one statement an addition. */
export function postgresCounters(
  kysely: Kysely<RateLimitTables>,
  name: string,
  durationMs: number,
  clock: Clock,
): Counters & BudgetCounters {
  const rowKey = (key: string): string => `${name}:${key}`;
  let additions = 0;
  const sweep = async (now: number): Promise<void> => {
    if (++additions % SWEEP_EVERY === 0) await kysely.deleteFrom('rate_limits').where('ends_at', '<=', now).execute();
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
              .values({ key: rowKey(key), points, ends_at: now + durationMs })
              .onConflict((conflict) =>
                conflict
                  .column('key')
                  .doUpdateSet(addedTo(now))
                  .where(sql<boolean>`rate_limits.ends_at <= ${now} or rate_limits.points + excluded.points <= ${max}`),
              )
              .returning(['points', 'ends_at'])
              .executeTakeFirst();
      const { points: used, ends_at: endsAt } = row ?? (await readRow(key, now)) ?? { points: 0, ends_at: now };
      // The window may have been begun by another process while this one waited for its turn.
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
    async add(key, points) {
      const now = clock.now();
      await sweep(now);
      const row = await kysely
        .insertInto('rate_limits')
        .values({ key: rowKey(key), points, ends_at: now + durationMs })
        .onConflict((conflict) => conflict.column('key').doUpdateSet(addedTo(now)))
        .returning(['points', 'ends_at'])
        .executeTakeFirstOrThrow();
      return { used: Math.max(0, row.points), endsInMs: row.ends_at - now };
    },
    async read(key) {
      const now = clock.now();
      const row = await readRow(key, now);
      return row === undefined ? EMPTY_WINDOW : { used: Math.max(0, row.points), endsInMs: row.ends_at - now };
    },
    async remove(key) {
      await kysely.deleteFrom('rate_limits').where('key', '=', rowKey(key)).execute();
    },
  };
}

/** The current window and what is added to it, or a new window with that alone. */
const addedTo = (now: number) => ({
  points: sql<number>`case when rate_limits.ends_at <= ${now} then excluded.points else rate_limits.points + excluded.points end`,
  ends_at: sql<number>`case when rate_limits.ends_at <= ${now} then excluded.ends_at else rate_limits.ends_at end`,
});
