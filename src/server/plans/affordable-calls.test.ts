import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import { affordableCount, allowancesUntil } from './affordable-calls.ts';

/** Brute force: every way to spend the wallet, one call at a time. */
function tryAll(price: number, balance: number, allowances: readonly number[]): number {
  let most = 0;
  const [first, ...others] = allowances;
  if (first === undefined) return Math.floor(balance / price);
  // Calls started while this allowance lasts; the wallet pays the rest.
  for (let count = 0; count * price <= first + balance; count++) {
    const fromWallet = Math.max(0, count * price - first);
    most = Math.max(most, count + tryAll(price, balance - fromWallet, others));
  }
  return most;
}

it('the count equals the best result of all ways to spend', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 12 }),
      fc.nat({ max: 30 }),
      fc.array(fc.nat({ max: 30 }), { minLength: 1, maxLength: 3 }),
      (price, balance, allowances) => {
        assert.equal(
          affordableCount(price, { balance, allowances, ceiling: Number.POSITIVE_INFINITY }),
          tryAll(price, balance, allowances),
        );
      },
    ),
    { numRuns: 500 },
  );
});

it('the limits of key and account cap the count, and free calls are unlimited', () => {
  assert.equal(affordableCount(10, { balance: 1_000, allowances: [], ceiling: 35 }), 3);
  assert.equal(affordableCount(10, { balance: 1_000, allowances: [], ceiling: -5 }), 0);
  assert.equal(affordableCount(0, { balance: 0, allowances: [], ceiling: 0 }), undefined);
});

it('intervals that start before the end of the day count, within weekly and monthly caps', () => {
  const main = { endsAt: 100, limit: 50, used: 20 };
  assert.deepEqual(allowancesUntil(350, main, [], 100), [30, 50, 50, 50]);
  assert.deepEqual(allowancesUntil(50, main, [], 100), [30]);
  const week = { startsAt: -9_750, endsAt: 250, limit: 300, used: 210 };
  assert.deepEqual(allowancesUntil(350, main, [week], 100), [30, 50, 10, 50]);
  assert.deepEqual(allowancesUntil(350, { ...main, used: 70 }, [], 100), [0, 50, 50, 50]);
  const month = { startsAt: -9_000, endsAt: 1_000, limit: 85, used: 0 };
  assert.deepEqual(allowancesUntil(350, main, [week, month], 100), [30, 50, 5, 0]);
});
