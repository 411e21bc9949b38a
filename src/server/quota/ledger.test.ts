import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { dateOf, dayOf, splitSettlement } from './ledger.ts';

describe('splitSettlement', () => {
  it('T74: splits every amount without losing or making any', () => {
    const quota = fc.nat({ max: Number.MAX_SAFE_INTEGER });
    fc.assert(
      fc.property(quota, quota, quota, (amount, part, cost) => {
        const plan_amount = Math.min(part, amount);
        const { charged, walletBack, planBack, extra } = splitSettlement({ amount, plan_amount }, cost);
        assert.equal(charged, cost);
        assert.equal(BigInt(amount) + BigInt(extra), BigInt(charged) + BigInt(walletBack) + BigInt(planBack));
        assert.ok(walletBack >= 0 && walletBack <= amount - plan_amount);
        assert.ok(planBack >= 0 && planBack <= plan_amount);
        assert.ok(extra === 0 || walletBack + planBack === 0);
        assert.ok(planBack === 0 || walletBack === amount - plan_amount, 'the wallet gets back first');
      }),
      { numRuns: 2_000 },
    );
  });
});

describe('utc days', () => {
  it('dayOf counts UTC days and dateOf formats them', () => {
    assert.equal(dayOf(Date.UTC(1970, 0, 1, 23, 59, 59, 999)), 0);
    assert.equal(dayOf(Date.UTC(2026, 1, 28)) + 1, dayOf(Date.UTC(2026, 2, 1)));
    assert.equal(dateOf(dayOf(Date.UTC(2026, 1, 28, 23))), '2026-02-28');
  });
});
