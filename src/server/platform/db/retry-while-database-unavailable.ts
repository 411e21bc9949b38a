import { setTimeout as pause } from 'node:timers/promises';
import { DatabaseUnavailableError } from './database-errors.ts';

/** Longer than PostgreSQL takes to restart, or a pool to replace its dead connections (12 s). */
const RETRY_MS = 20_000;
const FIRST_DELAY_MS = 100;
const LONGEST_DELAY_MS = 2_000;

/**
 * Repeats a write that must not be lost, as what it records has happened outside the database and happens no second time. The write has to be
 * safe to repeat: where an answer was lost, it may have been made.
 *
 * @param stopping ends the waiting: a service that stops makes a last try and no further one
 * @throws DatabaseUnavailableError when the database is away for more than 20 s; any other error of `write` at once
 */
export async function retryWhileDatabaseUnavailable<T>(write: () => Promise<T>, stopping: AbortSignal): Promise<T> {
  const endsAt = performance.now() + RETRY_MS;
  for (let delayMs = FIRST_DELAY_MS; ; delayMs = Math.min(2 * delayMs, LONGEST_DELAY_MS)) {
    const isLast = stopping.aborted || performance.now() >= endsAt;
    try {
      return await write();
    } catch (error) {
      if (isLast || !(error instanceof DatabaseUnavailableError)) throw error;
    }
    await pause(delayMs, undefined, { signal: stopping }).catch(() => {});
  }
}
