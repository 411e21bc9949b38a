import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import { priceCall } from '../src/contract/pricing.ts';
import { sumOfReceipt, toReceiptLines } from '../src/contract/request-log.ts';

/** RECEIPT_CASES=1000000 runs a million; the suite runs some thousands. */
const CASES = Number(process.env.RECEIPT_CASES ?? 5_000);

const rate = fc.oneof(fc.nat({ max: 100 }), fc.nat({ max: 50_000_000 }), fc.nat({ max: 1_000_000_000_000 }));
const planFactor = fc.oneof(
  fc.constantFrom(0, 0.1, 0.8, 1, 1.5, 0.333333333, 20),
  fc.nat({ max: 3_000 }).map((n) => n / 1_000),
);
const tokens = fc.record({
  price: fc.record(
    {
      input_per_million: rate,
      output_per_million: rate,
      cached_input_per_million: rate,
      per_call: fc.nat({ max: 50 }),
    },
    { requiredKeys: ['input_per_million'] },
  ),
  facts: fc.record(
    {
      input_tokens: fc.nat({ max: 2_000_000 }),
      output_tokens: fc.nat({ max: 200_000 }),
      cached_input: fc.nat({ max: 100_000 }),
      surcharge: fc.nat({ max: 1_000 }),
      plan_factor: planFactor,
    },
    { requiredKeys: ['input_tokens', 'output_tokens'] },
  ),
});
const multiplier = fc.oneof(
  fc.constantFrom(0, 0.1, 0.3, 1.1, 1.5, 2, 0.333333333),
  fc.nat({ max: 1_000_000 }).map((n) => n / 1_000),
);
const media = fc.record({
  price: fc.record(
    {
      per_call: rate,
      per_second: rate,
      multipliers: fc.record({ mode: fc.record({ pro: multiplier }), audio: fc.record({ true: multiplier }) }),
    },
    { requiredKeys: ['per_call'] },
  ),
  facts: fc.record({
    seconds: fc.nat({ max: 3_600 }),
    mode: fc.constantFrom('std', 'pro'),
    audio: fc.constantFrom('true', 'false'),
    surcharge: fc.nat({ max: 9 }),
    plan_factor: planFactor,
  }),
});

/** Vendor units whose rate and count have decimals. */
const units = fc.record({
  price: fc.record({
    lines: fc.tuple(fc.record({ per_unit: fc.nat({ max: 90_000_000 }).map((n) => n / 1_000), max_units: fc.nat() })),
    multipliers: fc.record({ mode: fc.record({ pro: multiplier }) }),
    settle_by: fc.constant('vendor' as const),
  }),
  facts: fc.record({
    seconds: fc.nat({ max: 60 }),
    mode: fc.constantFrom('std', 'pro'),
    units: fc.nat({ max: 9_000_000 }).map((n) => n / 100),
  }),
});

it('receipt lines add up to the charge, also in floating point, for any usage at any price', () => {
  fc.assert(
    fc.property(fc.oneof(tokens, media, units), fc.nat({ max: 3 }), ({ price, facts }, unpaid) => {
      let quota: number;
      try {
        ({ quota } = priceCall(price, facts));
      } catch (error) {
        assert.ok(error instanceof RangeError);
        return;
      }
      const charged = Math.max(0, quota - unpaid);
      const lines = toReceiptLines(price, facts, charged);
      assert.equal(sumOfReceipt(lines), charged);
      // A charge capped at the largest safe integer is less than the sum of its lines.
      if (quota === Number.MAX_SAFE_INTEGER) return;
      for (const line of lines) {
        const product = line.quantity * line.unit_quota * line.multiplier;
        // Precise to a millionth and to a double's precision; whole quota where the amounts are too large for
        // millionths.
        const isSmall = quota < 2 ** 30 && lines.every((each) => Math.abs(each.quota) < 2 ** 30 - 1);
        const tolerance = (isSmall ? 1e-5 : 1) + Math.abs(product) * 1e-8;
        assert.ok(Math.abs(product - line.quota) <= tolerance, `${JSON.stringify(line)} is ${product}`);
      }
    }),
    { numRuns: CASES },
  );
});

it('a cost below a millionth of a quota counts and is charged as one millionth', () => {
  const price = {
    lines: [{ per_unit: 0.001, max_units: 1 }],
    multipliers: { mode: { pro: 0.001 } },
    settle_by: 'vendor',
  } as const;
  const lines = toReceiptLines(price as never, { seconds: 0, mode: 'pro', units: 0.01 }, 1);
  assert.deepEqual(
    lines.map(({ quota }) => quota),
    [0.000001],
  );
  assert.equal(sumOfReceipt(lines), 1);
});

it('a charge whose price is no longer known is a single line', () => {
  assert.deepEqual(toReceiptLines(undefined, {}, 7), [
    { label: 'total', quantity: 1, unit_quota: 7, multiplier: 1, quota: 7 },
  ]);
  assert.deepEqual(toReceiptLines(undefined, {}, 0), []);
});

it('the part that the balance did not cover has its own line', () => {
  const lines = toReceiptLines({ input_per_million: 1_500_000 }, { input_tokens: 3, output_tokens: 0 }, 2);
  assert.deepEqual(
    lines.map(({ label, quota }) => [label, quota]),
    [
      ['input', 4.5],
      ['not_charged', -3],
    ],
  );
});
