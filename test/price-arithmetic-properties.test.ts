import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { priceMedia, priceTokens, TOKENS_PER_PRICE } from '../src/contract/pricing.ts';

const SAFE = BigInt(Number.MAX_SAFE_INTEGER);
const quota = fc.nat({ max: 1_000_000_000_000 });
/** A decimal as whole units and billionths, so that the model uses no floats. */
const decimal = fc.record({
  whole: fc.nat({ max: 1000 }),
  billionths: fc.constantFrom(0, 5e8, 1e8, 25e7, 1, 333333333),
});

describe('video price', () => {
  it('equals an integer model, rounded up once', () => {
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
          const price = () => priceMedia({ per_call, per_second, multipliers }, { seconds, factors }).quota;
          if (expected > SAFE) assert.throws(price, RangeError);
          else assert.equal(BigInt(price()), expected);
        },
      ),
      { numRuns: 20_000 },
    );
  });

  it('ignores multipliers named like inherited properties', () => {
    const multipliers = { mode: { pro: 2 } };
    for (const mode of ['constructor', '__proto__', 'toString', 'std'])
      assert.equal(
        priceMedia({ per_call: 10, per_second: 0, multipliers }, { seconds: 1, factors: { mode } }).quota,
        10,
      );
  });

  it('treats 1.1 as exactly eleven tenths', () => {
    const multipliers = { mode: { pro: 1.1 } };
    assert.equal(
      priceMedia({ per_call: 10, per_second: 0, multipliers }, { seconds: 0, factors: { mode: 'pro' } }).quota,
      11,
    );
  });
});

describe('price lines', () => {
  it('add up to the quota for any usage at any price', () => {
    fc.assert(
      fc.property(quota, quota, fc.nat(), fc.nat(), (input, output, promptTokens, completionTokens) => {
        const price = { input_per_million: input, output_per_million: output };
        const priced = priceTokens(price, { promptTokens, completionTokens });
        let sum = 0n;
        for (const { quantity, unitQuota } of priced.lines) sum += BigInt(quantity) * BigInt(unitQuota);
        const per = BigInt(TOKENS_PER_PRICE);
        const expected = (sum + per - 1n) / per;
        assert.equal(BigInt(priced.quota), expected > SAFE ? SAFE : expected);
      }),
      { numRuns: 5_000 },
    );
  });

  it('name the usage, its price and the multipliers that applied', () => {
    const price = { per_call: 100, per_second: 28_000, multipliers: { mode: { pro: 1.1 }, audio: { true: 2 } } };
    const { lines, multipliers, quota: total } = priceMedia(price, { seconds: 5, factors: { mode: 'pro' } });
    assert.deepEqual(
      lines.map(({ label, quantity, unitQuota, per }) => [label, quantity, unitQuota, per]),
      [
        ['per_call', 1, 100, 1],
        ['per_second', 5, 28_000, 1],
      ],
    );
    assert.deepEqual(multipliers, [{ factor: 'mode', value: 'pro', by: 1.1 }]);
    assert.equal(total, 154_110);
  });

  it('ignore names that every object inherits', () => {
    const price = { per_call: 10, multipliers: { constructor: { x: 2 } } };
    assert.equal(priceMedia(price, { seconds: 0, factors: {} }).quota, 10);
  });
});
