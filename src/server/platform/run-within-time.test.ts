import assert from 'node:assert/strict';
import { it } from 'node:test';
import { runWithinTime } from './run-within-time.ts';

it('T69: stops an expression that backtracks without end', () => {
  assert.equal(
    runWithinTime(() => /^(a+)+$/u.test(`${'a'.repeat(40)}!`), 20),
    undefined,
  );
});

it('returns what the work returns and throws what it throws', () => {
  assert.equal(
    runWithinTime(() => 7, 1_000),
    7,
  );
  assert.throws(
    () =>
      runWithinTime(() => {
        throw new RangeError('own');
      }, 1_000),
    RangeError,
  );
});
