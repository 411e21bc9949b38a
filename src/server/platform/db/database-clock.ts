import { sql } from 'kysely';
import { type Clock, systemClock } from '../clock.ts';
import type { Database } from './database-interface-and-options.ts';

const RESYNC_INTERVAL_MS = 60_000;

export interface DatabaseClock extends Clock {
  stop(): void;
}

/**
 * The one clock all processes on a database use: PostgreSQL's, queried at intervals and advanced in between by the
 * monotonic timer, so that a replica whose own clock is wrong, or is adjusted, agrees with the others on what has expired.
 * On SQLite there is one machine and its clock.
 */
export async function openDatabaseClock<T>(database: Database<T>): Promise<DatabaseClock> {
  if (database.dialect === 'sqlite') return { now: systemClock.now, stop() {} };
  const readOffset = async (): Promise<number> => {
    const asked = performance.now();
    const { rows } = await sql<{ now: number }>`
      select floor(extract(epoch from clock_timestamp()) * 1000)::bigint as now
    `.execute(database.kysely);
    const half = (performance.now() - asked) / 2;
    return (rows[0]?.now ?? systemClock.now()) + half - performance.now();
  };
  let offset = await readOffset();
  const timer = setInterval(() => {
    // While the database is unavailable the timer continues; no decision that needs the time can be stored then anyway.
    readOffset().then(
      (fresh) => {
        offset = fresh;
      },
      () => {},
    );
  }, RESYNC_INTERVAL_MS).unref();
  return { now: () => Math.floor(performance.now() + offset), stop: () => clearInterval(timer) };
}
