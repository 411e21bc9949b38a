import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { DAY_MS } from '../../contract/time-units.ts';
import { manualClock } from './clock.ts';
import { openLog } from './log.ts';
import { type RetentionRule, retentionJob } from './scheduled-jobs.ts';

const log = openLog('silent');

describe('retention job', () => {
  const rule = (days: number, left: number) => {
    const calls: { before: number; limit: number }[] = [];
    const made: RetentionRule = {
      name: 'rows',
      days: () => days,
      async remove(before, limit) {
        calls.push({ before, limit });
        const count = Math.min(left, limit);
        left -= count;
        return count;
      },
    };
    return { made, calls };
  };

  it('deletes expired rows batch by batch, and nothing with a retention of 0 days', async () => {
    const clock = manualClock(100 * DAY_MS);
    const [some, none] = [rule(30, 1_200), rule(0, 1_200)];
    await retentionJob([some.made, none.made], clock, log).run(new AbortController().signal);
    assert.deepEqual(
      some.calls,
      Array.from({ length: 3 }, () => ({ before: 70 * DAY_MS, limit: 500 })),
    );
    assert.equal(none.calls.length, 0);
  });

  it('applies the other rules after one has failed', async () => {
    const { made, calls } = rule(1, 1);
    const failing: RetentionRule = { ...made, remove: () => Promise.reject(new Error('locked')) };
    const job = retentionJob([failing, made], manualClock(), log);
    await assert.rejects(job.run(new AbortController().signal), /locked/);
    assert.equal(calls.length, 1);
  });

  it('stops between two batches when the process stops', async () => {
    const { made, calls } = rule(1, Number.MAX_SAFE_INTEGER);
    const stopping = new AbortController();
    const stoppingMeanwhile: RetentionRule = {
      ...made,
      remove(...old) {
        stopping.abort();
        return made.remove(...old);
      },
    };
    await retentionJob([stoppingMeanwhile], manualClock(), log).run(stopping.signal);
    assert.equal(calls.length, 1);
  });
});
