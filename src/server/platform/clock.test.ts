import assert from 'node:assert/strict';
import { it } from 'node:test';
import { manualClock } from './clock.ts';

it('a manual clock changes only when set', () => {
  const clock = manualClock(1000);
  assert.equal(clock.now(), 1000);
  clock.advance(50);
  assert.equal(clock.now(), 1050);
});
