import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import { affordableCount, allowancesUntil } from './affordable-calls.ts';

/** Every way to spend the wallet, tried one work at a time. */
function tryAll(price: number, balance: number, allowances: readonly number[]): number {
  let most = 0;
  const [first, ...others] = allowances;
  if (first === undefined) return Math.floor(balance / price);
  // So many works begun while this allowance lasts; what it does not reach is the wallet's.
  for (let count = 0; count * price <= first + balance; count++) {
    const fromWallet = Math.max(0, count * price - first);
    most = Math.max(most, count + tryAll(price, balance - fromWallet, others));
  }
  return most;
}

it('counts what any way of spending reaches at most', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 12 }),
      fc.nat({ max: 30 }),
      fc.array(fc.nat({ max: 30 }), { minLength: 1, maxLength: 3 }),
      (price, balance, allowances) => {
        assert.equal(
          affordableCount(price, { balance, allowances, keyLeft: undefined }),
          tryAll(price, balance, allowances),
        );
      },
    ),
    { numRuns: 500 },
  );
});

it('knows the limit of the key, and that what costs nothing has none', () => {
  assert.equal(affordableCount(10, { balance: 1_000, allowances: [], keyLeft: 35 }), 3);
  assert.equal(affordableCount(10, { balance: 1_000, allowances: [], keyLeft: -5 }), 0);
  assert.equal(affordableCount(0, { balance: 0, allowances: [], keyLeft: 0 }), undefined);
});

it('takes the intervals that begin before the end of the day, as far as the week leaves them', () => {
  const main = { endsAt: 100, limit: 50, used: 20 };
  const lengths = { main: 100, week: 10_000 };
  assert.deepEqual(allowancesUntil(350, main, undefined, lengths), [30, 50, 50, 50]);
  assert.deepEqual(allowancesUntil(50, main, undefined, lengths), [30]);
  const week = { endsAt: 250, limit: 300, used: 210 };
  assert.deepEqual(allowancesUntil(350, main, week, lengths), [30, 50, 10, 50]);
  assert.deepEqual(allowancesUntil(350, { ...main, used: 70 }, undefined, lengths), [0, 50, 50, 50]);
});
