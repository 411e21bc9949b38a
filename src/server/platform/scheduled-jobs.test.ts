import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { forEachDatabase } from '../../../test/for-each-database.ts';
import { DAY_MS, HOUR_MS } from '../../contract/time-units.ts';
import type { Tables } from '../tables.ts';
import { manualClock } from './clock.ts';
import type { Database } from './db/database.ts';
import type { MetaTables } from './db/migrate.ts';
import { openLog } from './log.ts';
import { type ScheduledJob, ScheduledJobs } from './scheduled-jobs.ts';

const log = openLog('silent');
const typed = (database: Database<Tables>) => database as unknown as Database<MetaTables>;

describe('scheduled jobs', () => {
  forEachDatabase((_name, open) => {
    it('run in one process at a time, once per interval', async () => {
      const database = typed(await open());
      const clock = manualClock();
      const runs: string[] = [];
      let active = 0;
      const processOf = (name: string) =>
        new ScheduledJobs({
          database,
          clock,
          log,
          jobs: [
            {
              name: 'sweep',
              intervalMs: HOUR_MS,
              async run() {
                active += 1;
                assert.equal(active, 1);
                await new Promise((resolve) => setImmediate(resolve));
                active -= 1;
                runs.push(name);
              },
            },
          ],
        });
      const processes = ['a', 'b', 'c'].map(processOf);
      await Promise.all(processes.map((each) => each.runDue()));
      assert.equal(runs.length, 1);
      clock.advance(HOUR_MS - 1);
      await Promise.all(processes.map((each) => each.runDue()));
      assert.equal(runs.length, 1, 'not due yet');
      clock.advance(1);
      await Promise.all(processes.map((each) => each.runDue()));
      assert.equal(runs.length, 2);
    });

    it('are taken over from a dead process, and continue elsewhere when a process stops', async () => {
      const database = typed(await open());
      const clock = manualClock();
      const started = Promise.withResolvers<void>();
      let finished = 0;
      const endless: ScheduledJob = {
        name: 'sweep',
        intervalMs: HOUR_MS,
        run: (signal) => {
          started.resolve();
          return new Promise((resolve) => signal.addEventListener('abort', () => resolve()));
        },
      };
      const short: ScheduledJob = {
        ...endless,
        async run() {
          finished += 1;
        },
      };
      const first = new ScheduledJobs({ database, clock, log, jobs: [endless] });
      const second = new ScheduledJobs({ database, clock, log, jobs: [short] });
      const running = first.runDue();
      await started.promise;
      await second.runDue();
      assert.equal(finished, 0, 'the first has it');
      clock.advance(61_000);
      await second.runDue();
      assert.equal(finished, 1, 'its lock has run out');
      await first.stop();
      await running;

      const startedAgain = Promise.withResolvers<void>();
      const again: ScheduledJob = {
        ...endless,
        run: (signal) => {
          startedAgain.resolve();
          return endless.run(signal);
        },
      };
      const third = new ScheduledJobs({ database, clock, log, jobs: [again] });
      clock.advance(HOUR_MS);
      const interrupted = third.runDue();
      await startedAgain.promise;
      await third.stop();
      await interrupted;
      await second.runDue();
      assert.equal(finished, 2, 'what a stop interrupted is due at once');
    });

    it('run although the clock was set back meanwhile, and are left to a process that runs them', async () => {
      const database = typed(await open());
      const clock = manualClock();
      let runs = 0;
      const started = Promise.withResolvers<void>();
      const sweep = { name: 'sweep', intervalMs: HOUR_MS, run: async () => void runs++ };
      const jobs = new ScheduledJobs({ database, clock, log, jobs: [sweep] });
      clock.advance(365 * DAY_MS);
      await jobs.runDue();
      clock.advance(-365 * DAY_MS);
      await jobs.runDue();
      assert.equal(runs, 2);
      await jobs.runDue();
      assert.equal(runs, 2, 'due an hour later again');

      clock.advance(HOUR_MS);
      const run = (signal: AbortSignal): Promise<void> => {
        started.resolve();
        return new Promise((resolve) => signal.addEventListener('abort', () => resolve()));
      };
      const other = new ScheduledJobs({ database, clock, log, jobs: [{ ...sweep, run }] });
      const running = other.runDue();
      await started.promise;
      clock.advance(-5_000);
      await jobs.runDue();
      assert.equal(runs, 2, 'the other process has it');
      clock.advance(-365 * DAY_MS);
      await jobs.runDue();
      assert.equal(runs, 3);
      await other.stop();
      await running;
    });

    it('are retried after a failure, and block no other job', async () => {
      const database = typed(await open());
      const clock = manualClock();
      const runs: string[] = [];
      const job = (name: string, run: () => void): ScheduledJob => ({
        name,
        intervalMs: DAY_MS,
        run: async () => {
          runs.push(name);
          run();
        },
      });
      const fail = () => {
        throw new Error('it failed');
      };
      const jobs = new ScheduledJobs({ database, clock, log, jobs: [job('bad', fail), job('good', () => {})] });
      await jobs.runDue();
      clock.advance(300_000);
      await jobs.runDue();
      assert.deepEqual(runs, ['bad', 'good', 'bad']);
    });
  });
});
