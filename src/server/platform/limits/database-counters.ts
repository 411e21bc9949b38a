import { type Kysely, sql } from 'kysely';
import type { Clock } from '../clock.ts';
import { type Counters, EMPTY_WINDOW } from './counters.ts';
import type { RateLimitTables } from './tables.ts';

/** One addition in so many clears what has ended, which keeps the table small without a job of its own. */
const SWEEP_EVERY = 500;

/** For several processes around one PostgreSQL and no Valkey: one statement an addition. */
export function databaseCounters(
  kysely: Kysely<RateLimitTables>,
  name: string,
  durationMs: number,
  clock: Clock,
): Counters {
  const rowKey = (key: string): string => `${name}:${key}`;
  let additions = 0;
  return {
    async add(key, points) {
      const now = clock.now();
      if (++additions % SWEEP_EVERY === 0) {
        await kysely.deleteFrom('rate_limits').where('ends_at', '<=', now).execute();
      }
      const row = await kysely
        .insertInto('rate_limits')
        .values({ key: rowKey(key), points, ends_at: now + durationMs })
        .onConflict((conflict) =>
          conflict.column('key').doUpdateSet({
            points: sql`case when rate_limits.ends_at <= ${now} then excluded.points else rate_limits.points + excluded.points end`,
            ends_at: sql`case when rate_limits.ends_at <= ${now} then excluded.ends_at else rate_limits.ends_at end`,
          }),
        )
        .returning(['points', 'ends_at'])
        .executeTakeFirstOrThrow();
      return { used: Math.max(0, row.points), endsInMs: row.ends_at - now };
    },
    async read(key) {
      const now = clock.now();
      const row = await kysely
        .selectFrom('rate_limits')
        .select(['points', 'ends_at'])
        .where('key', '=', rowKey(key))
        .where('ends_at', '>', now)
        .executeTakeFirst();
      return row === undefined ? EMPTY_WINDOW : { used: Math.max(0, row.points), endsInMs: row.ends_at - now };
    },
    async remove(key) {
      await kysely.deleteFrom('rate_limits').where('key', '=', rowKey(key)).execute();
    },
  };
}
