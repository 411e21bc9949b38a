import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { type ChatPrice, maxTokenQuota, priceTokens, TOKEN_PARTS, type TokenPart } from '../src/contract/pricing.ts';

const PARTS = Object.keys(TOKEN_PARTS) as TokenPart[];
const rate = fc.option(fc.nat({ max: 50_000_000 }), { nil: undefined });
const rates = fc
  .record(
    Object.fromEntries(['input', 'output', ...PARTS].map((name) => [`${name}_per_million`, rate])) as Record<
      `${TokenPart | 'input' | 'output'}_per_million`,
      typeof rate
    >,
  )
  .map((all) => Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined)));
const prices: fc.Arbitrary<ChatPrice> = fc
  .tuple(
    rates,
    fc.nat({ max: 1_000 }),
    fc.array(fc.tuple(fc.integer({ min: 1, max: 400_000 }), rates), { maxLength: 3 }),
  )
  .map(([base, per_call, tiers]) => ({
    ...base,
    per_call,
    ...(tiers.length === 0 ? {} : { tiers: tiers.map(([above, own]) => ({ above_input_tokens: above, ...own })) }),
  }));
/** Tokens by category, text last; the totals follow from them. */
const usages = fc.record({
  text: fc.nat({ max: 300_000 }),
  shown: fc.nat({ max: 100_000 }),
  parts: fc.record(
    Object.fromEntries(PARTS.map((part) => [part, fc.nat({ max: 100_000 })])) as Record<
      TokenPart,
      fc.Arbitrary<number>
    >,
  ),
});
const totalOf = (parts: Record<TokenPart, number>, whole: 'input' | 'output'): number =>
  PARTS.filter((part) => TOKEN_PARTS[part] === whole).reduce((sum, part) => sum + parts[part], 0);

describe('price of a model call', () => {
  it('equals an independent calculation for every category, tier and fee', () => {
    fc.assert(
      fc.property(prices, usages, (price, { text, shown, parts }) => {
        const promptTokens = text + totalOf(parts, 'input');
        const completionTokens = shown + totalOf(parts, 'output');
        const reached = (price.tiers ?? [])
          .filter((tier) => tier.above_input_tokens < promptTokens)
          .sort((a, b) => a.above_input_tokens - b.above_input_tokens)
          .at(-1);
        // Of tiers with the same threshold the first applies.
        const tier = price.tiers?.find((each) => each.above_input_tokens === reached?.above_input_tokens);
        const of = (name: string): number | undefined =>
          (tier as Record<string, number> | undefined)?.[`${name}_per_million`] ??
          (price as Record<string, number>)[`${name}_per_million`];
        let millionths = BigInt(price.per_call ?? 0) * 1_000_000n;
        millionths += BigInt(text) * BigInt(of('input') ?? 0) + BigInt(shown) * BigInt(of('output') ?? 0);
        for (const part of PARTS) millionths += BigInt(parts[part]) * BigInt(of(part) ?? of(TOKEN_PARTS[part]) ?? 0);
        const expected = Number((millionths + 999_999n) / 1_000_000n);
        const facts = { promptTokens, completionTokens, parts };
        const priced = priceTokens(price, facts);
        assert.equal(priced.quota, expected);
        const sum = priced.lines.reduce((total, line) => total + (line.quantity * line.unitQuota) / line.per, 0);
        assert.ok(Math.abs(sum - expected) <= 1, 'the lines add up to it');
      }),
      { numRuns: 5_000 },
    );
  });

  it('never exceeds the reservation for at least as many tokens', () => {
    fc.assert(
      fc.property(prices, usages, fc.nat({ max: 1_000 }), (price, { text, shown, parts }, more) => {
        const facts = {
          promptTokens: text + totalOf(parts, 'input'),
          completionTokens: shown + totalOf(parts, 'output'),
          parts,
        };
        const bound = { promptTokens: facts.promptTokens + more, completionTokens: facts.completionTokens + more };
        assert.ok(priceTokens(price, facts).quota <= maxTokenQuota(price, bound, true));
      }),
      { numRuns: 5_000 },
    );
  });

  it('charges cached tokens at their own price, and other categories at the general price', () => {
    const price = { input_per_million: 2_000_000, output_per_million: 8_000_000, cached_input_per_million: 200_000 };
    const facts = { promptTokens: 1_000, completionTokens: 10, parts: { cached_input: 900, audio_input: 50 } };
    assert.deepEqual(
      priceTokens(price, facts).lines.map(({ label, quantity, unitQuota }) => [label, quantity, unitQuota]),
      [
        ['input', 100, 2_000_000],
        ['output', 10, 8_000_000],
        ['cached_input', 900, 200_000],
      ],
    );
    assert.equal(priceTokens(price, facts).quota, 200 + 80 + 180);
  });

  it('applies a tier to the whole call once its threshold is exceeded', () => {
    const price = {
      input_per_million: 1_000_000,
      tiers: [{ above_input_tokens: 200_000, input_per_million: 2_000_000 }],
    };
    assert.equal(priceTokens(price, { promptTokens: 200_000, completionTokens: 0 }).quota, 200_000);
    assert.equal(priceTokens(price, { promptTokens: 200_001, completionTokens: 0 }).quota, 400_002);
  });
});
