import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { forEachDatabase } from '../../../test/for-each-database.ts';
import { insertTask } from '../../../test/video/task-fixture.ts';
import { DAY_MS } from '../../contract/time-units.ts';
import { manualClock } from '../platform/clock.ts';
import { DurationStatistics } from './task-reports.ts';

describe('video durations', () => {
  forEachDatabase((_name, open) => {
    it('are measured from finished videos of the last thirty days, per model', async () => {
      const database = await open();
      const clock = manualClock();
      let count = 0;
      const add = (model: string, seconds: number, status: 'SUCCESS' | 'FAILURE' = 'SUCCESS', age = 0) => {
        count += 1;
        const created_at = clock.now() - age - seconds * 1_000;
        return insertTask(database, {
          id: `task_${count}`,
          model,
          status,
          created_at,
          finish_time: created_at + seconds * 1_000,
        });
      };
      for (let seconds = 1; seconds <= 10; seconds += 1) await add('measured', seconds * 10);
      await add('measured', 5_000, 'FAILURE');
      await add('measured', 6_000, 'SUCCESS', 31 * DAY_MS);
      for (let added = 0; added < 4; added += 1) await add('too few', 30);
      const durations = new DurationStatistics(database, clock);
      assert.deepEqual(await durations.read(['measured', 'too few', 'never used']), [
        { model: 'measured', p50_seconds: 50, p90_seconds: 90, samples: 10 },
      ]);
    });
  });
});
