import assert from 'node:assert/strict';
import { test } from 'node:test';
import { estimateTimeLeft } from './estimate-time-left.ts';

test('estimates the remaining time from the measured quantiles and never reaches the end by itself', () => {
  const measured = { p50_seconds: 60, p90_seconds: 120 };
  assert.deepEqual(estimateTimeLeft(30, measured), { kind: 'left', seconds: 30, share: 0.25 });
  assert.deepEqual(estimateTimeLeft(90, measured), { kind: 'almost', share: 0.75 });
  assert.deepEqual(estimateTimeLeft(500, measured), { kind: 'slow', share: 0.95 });
  assert.deepEqual(estimateTimeLeft(0, { p50_seconds: 0, p90_seconds: 0 }), { kind: 'almost', share: 0 });
});
