import assert from 'node:assert/strict';
import { it } from 'node:test';
import { runWithinTime } from './concurrency.ts';

it('T69: stops an expression with endless backtracking', () => {
  assert.equal(
    runWithinTime(() => /^(a+)+$/u.test(`${'a'.repeat(40)}!`), 20),
    undefined,
  );
});

it('returns the result of the work and rethrows its errors', () => {
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
