import { setTimeout as pause } from 'node:timers/promises';
import { DAY_MS, HOUR_MS } from '../../contract/time-units.ts';
import type { Clock } from './clock.ts';
import type { Database } from './db/database-interface-and-options.ts';
import type { Log } from './log.ts';
import type { ScheduledJob } from './scheduled-jobs.ts';

/** What is removed after a time. */
export interface RetentionRule {
  readonly name: string;
  /** Age at which it is removed, as it is set now; 0: it is kept for ever. */
  readonly days: () => number;
  /** Removes at most `limit` of what is older than `before` (Unix milliseconds), in one short transaction. @returns how many */
  remove(before: number, limit: number): Promise<number>;
}

const INTERVAL_MS = HOUR_MS;
const BATCH = 500;
/** Between batches everybody else gets the database for at least as long as the batch had it. */
const MIN_PAUSE_MS = 10;
/** Two megabytes: some milliseconds. */
const PAGES_AT_ONCE = 512;

/** The job that removes rows older than their retention period, in small steps, so that no request waits for it. */
export const retentionJob = (
  rules: readonly RetentionRule[],
  clock: Clock,
  log: Log,
  database?: Pick<Database<unknown>, 'releaseSpace'>,
): ScheduledJob => ({
  name: 'retention',
  intervalMs: INTERVAL_MS,
  async run(signal) {
    for (const rule of rules) {
      const removed = await removeOld(rule, clock.now(), signal);
      if (removed > 0) log.info({ rule: rule.name, removed }, 'removed what has passed its retention');
    }
    if (database !== undefined) await releaseSpace(database, signal);
  },
});

async function removeOld(rule: RetentionRule, now: number, signal: AbortSignal): Promise<number> {
  const [days, { remove }] = [rule.days(), rule];
  if (days === 0) return 0;
  let removed = 0;
  while (!signal.aborted) {
    const startedAt = performance.now();
    const count = await remove(now - days * DAY_MS, BATCH);
    removed += count;
    if (count < BATCH) break;
    await pause(Math.max(MIN_PAUSE_MS, performance.now() - startedAt), undefined, { signal }).catch(() => {});
  }
  return removed;
}

async function releaseSpace(database: Pick<Database<unknown>, 'releaseSpace'>, signal: AbortSignal): Promise<void> {
  while (!signal.aborted && (await database.releaseSpace?.(PAGES_AT_ONCE)) === true)
    await pause(MIN_PAUSE_MS, undefined, { signal }).catch(() => {});
}
