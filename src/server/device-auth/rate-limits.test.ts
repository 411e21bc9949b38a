import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { POLL_INTERVAL_SECONDS } from '../../contract/device-auth.ts';
import { PollRateTracker } from './rate-limits.ts';

const INTERVAL_MS = POLL_INTERVAL_SECONDS * 1000;

describe('the poll rate', () => {
  it('is tracked per code, from its first poll on', () => {
    const rate = new PollRateTracker();
    assert.deepEqual(rate.record('a', 0), { retryAfterSeconds: undefined, isFlooding: false });
    assert.deepEqual(rate.record('b', 1), { retryAfterSeconds: undefined, isFlooding: false });
    assert.equal(rate.record('a', 2).retryAfterSeconds, POLL_INTERVAL_SECONDS);
  });

  it('may be a second faster than recommended, measured from the previous poll', () => {
    const early = (afterMs: number) => {
      const rate = new PollRateTracker();
      rate.record('a', 0);
      rate.record('a', 100_000);
      return rate.record('a', 100_000 + afterMs).retryAfterSeconds;
    };
    assert.equal(early(INTERVAL_MS), undefined);
    assert.equal(early(INTERVAL_MS - 1_000), undefined);
    assert.equal(early(INTERVAL_MS - 1_001), POLL_INTERVAL_SECONDS);
  });

  it('counts as a flood above sixty polls in ten seconds', () => {
    const rate = new PollRateTracker();
    const polls = (count: number, at: number) =>
      Array.from({ length: count }, () => rate.record('a', at)).map(({ isFlooding }) => isFlooding);
    assert.ok(!polls(60, 5_000).includes(true));
    assert.deepEqual(polls(1, 14_999), [true]);
    assert.ok(!polls(60, 15_000).includes(true), 'the next ten seconds');
    assert.deepEqual(polls(1, 24_999), [true]);
  });
});
