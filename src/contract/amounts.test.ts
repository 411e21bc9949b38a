import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  type AmountUnit,
  amountUnitName,
  formatAmount,
  formatAmountNumber,
  formatListPrice,
  roundingOf,
  toDisplayedQuota,
} from './amounts.ts';

const CREDITS: AmountUnit = { quotaPerCredit: 500_000, currency: '' };
const YUAN: AmountUnit = { quotaPerCredit: 500_000, currency: 'CNY' };

test('formats amounts in credits, in the requested language, without a currency', () => {
  assert.equal(formatAmount(70_000, CREDITS, 'en'), '0.14 credits');
  assert.equal(formatAmount(70_000, CREDITS, 'zh-cn'), '0.14 积分');
  assert.equal(formatAmount(617_283_945_000, CREDITS, 'en'), '1,234,567.89 credits');
  assert.deepEqual([amountUnitName(CREDITS, 'en'), amountUnitName(CREDITS, 'zh-CN')], ['credits', '积分']);
});

test('formats amounts in the currency, without the word for credits, when one is set', () => {
  assert.equal(formatAmount(70_000, YUAN, 'en'), '¥0.14');
  assert.equal(formatAmount(-70_000, YUAN, 'zh-CN'), '-¥0.14');
  assert.equal(amountUnitName(YUAN, 'zh-CN'), 'CNY');
  assert.equal(formatListPrice(9.5, YUAN, 'en'), '¥9.50');
  assert.equal(formatListPrice(9.5, CREDITS, 'en'), '9.50 credits');
  assert.equal(formatListPrice(1_200, CREDITS, 'zh-CN'), '1,200.00 积分');
});

test('keeps four decimals of small amounts and all six of unit prices', () => {
  assert.equal(formatAmount(1_000, CREDITS, 'en'), '0.002 credits');
  assert.equal(formatAmount(0, CREDITS, 'en'), '0.00 credits');
  assert.equal(formatAmount(14_000, CREDITS, 'en', 'exact'), '0.028 credits');
  assert.equal(formatAmountNumber(1, CREDITS, 'en', 'exact'), '0.000002');
  assert.equal(formatAmountNumber(14_000, YUAN, 'en', 'exact'), '¥0.028');
});

test('formats a currency without minor units with the decimals of a credit', () => {
  assert.equal(formatAmount(70_000, { ...YUAN, currency: 'JPY' }, 'en'), '¥0.14');
});

test('formats credits exactly as Intl does, in both languages', () => {
  const intl = (language: string, maximumFractionDigits: number) =>
    new Intl.NumberFormat(language, { minimumFractionDigits: 2, maximumFractionDigits });
  const formats = ['en', 'zh-CN'].map(
    (language) => [language, intl(language, 2), intl(language, 4), intl(language, 6)] as const,
  );
  const unit = { quotaPerCredit: 500_000, currency: '' };
  // Halves of a hundredth, negative and large amounts, and values that numbers print with an exponent.
  const quotas = [
    0,
    -0,
    1,
    24,
    25,
    -25,
    2_500,
    502_500,
    1_007_500,
    4_999,
    5_000,
    617_283_945_000,
    2 ** 60,
    1e30,
    0.2,
    0.25,
    0.3,
  ];
  for (let index = 0; index < 4_000; index += 1) quotas.push(Math.round(((index * 7919) % 4001) ** 2.9) - 10_000);
  for (const quota of quotas)
    for (const [language, two, four, six] of formats) {
      const credits = quota / 500_000;
      const short = credits !== 0 && Math.abs(credits) < 0.01 ? four : two;
      assert.equal(formatAmountNumber(quota, unit, language), short.format(credits), `${quota}`);
      assert.equal(formatAmountNumber(quota, unit, language, 'exact'), six.format(credits), `${quota}, exact`);
    }
});

test('displayed amounts add up', () => {
  const [balance, price] = [499_716_000, 72_500].map((quota) => toDisplayedQuota(quota, CREDITS));
  assert.equal(formatAmount(Number(balance), CREDITS, 'en'), '999.43 credits');
  assert.equal(formatAmount(Number(price), CREDITS, 'en'), '0.15 credits');
  assert.equal(formatAmount(Number(balance) - Number(price), CREDITS, 'en'), '999.28 credits');
  assert.equal(toDisplayedQuota(1_001, CREDITS), 1_000, 'four decimals below a hundredth');
});

test('shows what displayed parts lack to their displayed total as rounding', () => {
  const shown = (quota: number): number =>
    Number(formatAmountNumber(quota, CREDITS, 'en', 'exact').replaceAll(',', ''));
  const micro = (credits: number): number => Math.round(credits * 1_000_000);
  // 0.3 quota each is 0.0000006 credits, displayed as 0.000001; one quota is charged: 0.000002.
  assert.equal(roundingOf([0.3, 0.3, 0.3], 1, CREDITS, 'exact'), -0.5);
  assert.equal(roundingOf([0.2, 0.2], 1, CREDITS, 'exact'), 1);
  assert.equal(roundingOf([], 0, CREDITS, 'exact'), 0);
  assert.equal(roundingOf([62_500, 62_500], 125_000, CREDITS), -5_000);
  fc.assert(
    fc.property(
      fc.array(
        fc.nat({ max: 2 ** 40 }).map((n) => n / 1_000),
        { maxLength: 8 },
      ),
      (parts) => {
        const total = Math.ceil(parts.reduce((sum, part) => sum + part, 0));
        const lines = [...parts, roundingOf(parts, total, CREDITS, 'exact')];
        const sum = lines.reduce((whole, part) => whole + micro(shown(part)), 0);
        assert.equal(sum, micro(shown(total)));
      },
    ),
  );
});
