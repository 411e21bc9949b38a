import assert from 'node:assert/strict';
import { registerHooks } from 'node:module';
import { test } from 'node:test';

// The texts are loaded by the bundler.
registerHooks({
  load: (url, context, next) =>
    url.endsWith('/strings/language.ts')
      ? { format: 'module', source: "export const currentLanguage = () => 'en';", shortCircuit: true }
      : next(url, context),
});
const { formatRecentPast, formatWhole, isBelowDecimals, spaceNumber, toDurationText } = await import(
  './format-values.ts'
);

test('every duration has one form', () => {
  const seconds = [0, 0.0004, 0.84, 1, 3.83, 9.96, 45, 89.6, 125, 120, 3_600, 6_000];
  assert.deepEqual(
    seconds.map((each) => toDurationText(each, 'en')),
    ['0 s', '1 ms', '840 ms', '1 s', '3.8 s', '10 s', '45 s', '1 min 30 s', '2 min 5 s', '2 min', '1 h', '1 h 40 min'],
  );
  assert.equal(toDurationText(-3, 'en'), '0 s');
  assert.equal(toDurationText(125, 'zh-cn'), '2 分钟 5 秒');
});

test('recent times match Intl, and times under a minute read just now', () => {
  assert.deepEqual([formatRecentPast('en', 'minute', 0), formatRecentPast('zh-cn', 'minute', 0)], ['just now', '刚刚']);
  let written = 0;
  for (const language of ['en', 'zh-cn'] as const) {
    const intl = new Intl.RelativeTimeFormat(language, { numeric: 'auto' });
    for (const unit of ['minute', 'hour', 'day', 'month', 'year'] as const)
      for (let count = -3; count < 60; count += 1) {
        const text = formatRecentPast(language, unit, count);
        if (text === undefined || count === 0) continue;
        written += 1;
        assert.equal(text, spaceNumber(intl.format(-count, unit)));
      }
  }
  assert.ok(written > 300, 'most are formatted without Intl');
});

test('whole numbers match Intl, and others are left to it', () => {
  for (const count of [0, 7, -7, 999, 1_000, -1_000, 12_345, 100_000, 1_234_567, Number.MAX_SAFE_INTEGER])
    for (const language of ['en', 'zh-cn'])
      assert.equal(formatWhole(count), new Intl.NumberFormat(language).format(count));
  assert.deepEqual([0.5, -0, 2 ** 60, Number.NaN].map(formatWhole), [undefined, undefined, undefined, undefined]);
});

test('a unit price that six decimals would change is not shown per unit', () => {
  assert.deepEqual([0.0000006, 0.0000014, 0.00000049].map(isBelowDecimals), [true, true, true]);
  assert.deepEqual([0, 0.000001, 0.000002, 0.028, 1.25, 1 / 3].map(isBelowDecimals), [
    false,
    false,
    false,
    false,
    false,
    false,
  ]);
});
