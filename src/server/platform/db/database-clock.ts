import { sql } from 'kysely';
import { type Clock, systemClock } from '../clock.ts';
import type { Database } from './database.ts';

const ASK_EVERY_MS = 60_000;

export interface DatabaseClock extends Clock {
  stop(): void;
}

/**
 * The one clock all processes on a database go by: PostgreSQL's, asked now and then and counted on from there by the
 * monotonic timer, so that a replica whose own clock is wrong, or is set, agrees with the others on what has expired.
 * On SQLite there is one machine and its clock.
 */
export async function openDatabaseClock<T>(database: Database<T>): Promise<DatabaseClock> {
  if (database.dialect === 'sqlite') return { now: systemClock.now, stop() {} };
  const ask = async (): Promise<number> => {
    const asked = performance.now();
    const { rows } = await sql<{ now: number }>`
      select floor(extract(epoch from clock_timestamp()) * 1000)::bigint as now
    `.execute(database.kysely);
    const half = (performance.now() - asked) / 2;
    return (rows[0]?.now ?? systemClock.now()) + half - performance.now();
  };
  let offset = await ask();
  const timer = setInterval(() => {
    // While the database is away the timer counts on; nothing could be decided then anyway.
    ask().then(
      (fresh) => {
        offset = fresh;
      },
      () => {},
    );
  }, ASK_EVERY_MS).unref();
  return { now: () => Math.floor(performance.now() + offset), stop: () => clearInterval(timer) };
}
