import assert from 'node:assert/strict';
import { test } from 'node:test';
import { countTokens } from './usage.ts';

test("counts like the models' tokenizer", async () => {
  for (const [text, tokens] of [
    ['', 0],
    ['hello world', 2],
    ['<|endoftext|>', 7],
    ['\ud800', 1],
  ] as const)
    assert.ok(Math.abs((await countTokens(text)) - tokens) <= 2, text);
  assert.equal(await countTokens(' the light of day'.repeat(1_000)), 4_000);
  // Longer than the counted length, so the count is sampled.
  const long = await countTokens(' the light of day'.repeat(20_000));
  assert.ok(Math.abs(long - 80_000) < 100, String(long));
});

test('texts crafted to be slow to tokenize do not block other requests', async () => {
  await countTokens('warm');
  const letters = (length: number, from: number, span: number): string =>
    Array.from({ length }, (_, index) => String.fromCodePoint(from + ((index * 7_919) % span))).join('');
  for (const text of [
    letters(500_000, 0x4e00, 20_000),
    letters(500_000, 0x61, 26),
    '👩‍👩‍👧'.repeat(60_000),
    'a'.repeat(500_000),
    ' '.repeat(500_000),
    '\n'.repeat(500_000),
  ]) {
    let longest = 0;
    let last = performance.now();
    const watch = setInterval(() => {
      longest = Math.max(longest, performance.now() - last);
      last = performance.now();
    }, 1);
    assert.ok((await countTokens(text)) > 0);
    clearInterval(watch);
    assert.ok(longest < 1_500, `${text.slice(0, 4)}: ${longest} ms`);
  }
});
