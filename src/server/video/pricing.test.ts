import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { priceOf } from './pricing.ts';

const SAFE = BigInt(Number.MAX_SAFE_INTEGER);
const quota = fc.nat({ max: 1_000_000_000_000 });
/** A decimal as whole and billionths, so that the model never sees a float. */
const decimal = fc.record({
  whole: fc.nat({ max: 1000 }),
  billionths: fc.constantFrom(0, 5e8, 1e8, 25e7, 1, 333333333),
});

describe('the price of a video', () => {
  it('is what a model in whole numbers says, rounded up once', () => {
    fc.assert(
      fc.property(
        quota,
        quota,
        fc.nat({ max: 3600 }),
        fc.dictionary(fc.constantFrom('mode', 'resolution', 'size', 'audio'), decimal, { maxKeys: 4 }),
        (per_call, per_second, seconds, parts) => {
          const multipliers: Record<string, Record<string, number>> = {};
          const factors: Record<string, string> = {};
          let top = BigInt(per_call) + BigInt(per_second) * BigInt(seconds);
          let bottom = 1n;
          for (const [factor, { whole, billionths }] of Object.entries(parts)) {
            multipliers[factor] = { chosen: Number(`${whole}.${String(billionths).padStart(9, '0')}`), other: 999 };
            factors[factor] = 'chosen';
            top *= BigInt(whole) * 1_000_000_000n + BigInt(billionths);
            bottom *= 1_000_000_000n;
          }
          const expected = top === 0n ? 0n : (top - 1n) / bottom + 1n;
          const price = () => priceOf({ per_call, per_second, multipliers }, { seconds, factors });
          if (expected > SAFE) assert.throws(price, RangeError);
          else assert.equal(BigInt(price()), expected);
        },
      ),
      { numRuns: 20_000 },
    );
  });

  it('knows no multiplier by names every object has', () => {
    const multipliers = { mode: { pro: 2 } };
    for (const mode of ['constructor', '__proto__', 'toString', 'std'])
      assert.equal(priceOf({ per_call: 10, per_second: 0, multipliers }, { seconds: 1, factors: { mode } }), 10);
  });

  it('takes eleven tenths for 1.1', () => {
    const multipliers = { mode: { pro: 1.1 } };
    assert.equal(priceOf({ per_call: 10, per_second: 0, multipliers }, { seconds: 0, factors: { mode: 'pro' } }), 11);
  });
});
