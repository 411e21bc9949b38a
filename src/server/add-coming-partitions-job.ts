import { DAY_MS, HOUR_MS } from '../contract/time-units.ts';
import type { Foundation } from './foundation.ts';
import { partitionsOf } from './partitioned-tables.ts';
import type { ScheduledJob } from './platform/scheduled-jobs.ts';

const INTERVAL_MS = HOUR_MS;
/** Months are made this long before they begin, so that a job that fails for weeks is noticed in time. */
const AHEAD_MS = 60 * DAY_MS;

/** The job that makes the months to come. */
export function addComingPartitionsJob(foundation: Pick<Foundation, 'database' | 'clock' | 'log'>): ScheduledJob {
  const { clock, log } = foundation;
  const tables = partitionsOf(foundation);
  return {
    name: 'partitions',
    intervalMs: INTERVAL_MS,
    async run(signal) {
      for (const [table, partitions] of tables) {
        if (signal.aborted) return;
        const now = clock.now();
        const added = await partitions.add(now, now + AHEAD_MS);
        if (added > 0) log.info({ table, added }, 'made partitions for the months to come');
      }
    },
  };
}
