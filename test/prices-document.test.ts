import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { it } from 'node:test';
import { priceCall, toTokenCallFacts } from '../src/contract/call-facts.ts';
import { sumOfReceipt, toReceiptLines } from '../src/contract/receipt-lines.ts';
import { parseUsage } from '../src/server/chat/usage-record.ts';

const text = readFileSync(new URL('../docs/prices.md', import.meta.url), 'utf8');
const PRICE = {
  input_per_million: 1_000_000,
  output_per_million: 2_000_000,
  cached_input_per_million: 100_000,
  per_call: 3,
};
/** The call of the document as each dialect reports it. */
const USAGES = {
  OpenAI: { prompt_tokens: 1_000, completion_tokens: 10, prompt_tokens_details: { cached_tokens: 800 } },
  Anthropic: { input_tokens: 200, cache_read_input_tokens: 800, output_tokens: 10 },
  Gemini: { promptTokenCount: 1_000, cachedContentTokenCount: 800, candidatesTokenCount: 10, totalTokenCount: 1_010 },
};

/** The lines of the example's table: what it is, the quantity, the quota. */
const rows = [...text.matchAll(/^\| ([a-z ]+) \| ([\d,]+) \| [^|]+ \| ([\d,]+) \|$/gm)].map(
  ([, label = '', quantity = '', quota = '']) =>
    [label.replaceAll(' ', '_'), Number(quantity.replaceAll(',', '')), Number(quota.replaceAll(',', ''))] as const,
);
const charged = Number(/^\| charged \| \| \| (\d+) \|$/m.exec(text)?.[1]);

for (const [dialect, reported] of Object.entries(USAGES))
  it(`docs/prices.md explains what a call of ${dialect} costs, line by line`, () => {
    const usage = parseUsage(reported);
    assert.ok(usage);
    const facts = toTokenCallFacts(usage, 0);
    assert.equal(priceCall(PRICE, facts).quota, charged);
    const lines = toReceiptLines(PRICE, facts, charged);
    const byLabel = (each: readonly (readonly [string, number, number])[]) =>
      [...each].sort(([a], [b]) => a.localeCompare(b));
    assert.deepEqual(
      byLabel(lines.map(({ label, quantity, quota }) => [label, quantity, quota] as const)),
      byLabel(rows),
    );
    assert.equal(sumOfReceipt(lines), charged);
  });

it('docs/prices.md multiplies a video as it is charged', () => {
  const [, json = ''] = /times every multiplier that applies: `(\{.*?\})`/.exec(text) ?? [];
  const price = { per_second: 100, multipliers: JSON.parse(json) };
  assert.equal(priceCall(price, { seconds: 5, mode: 'pro', audio: 'true' }).quota, 5 * 100 * 2 * 1.5);
});
