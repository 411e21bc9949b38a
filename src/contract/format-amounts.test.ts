import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type AmountUnit,
  amountUnitName,
  formatAmount,
  formatAmountNumber,
  formatListPrice,
} from './format-amounts.ts';

const CREDITS: AmountUnit = { quotaPerCredit: 500_000, currency: '' };
const YUAN: AmountUnit = { quotaPerCredit: 500_000, currency: 'CNY' };

test('without a currency amounts are in credits, in the language', () => {
  assert.equal(formatAmount(70_000, CREDITS, 'en'), '0.14 credits');
  assert.equal(formatAmount(70_000, CREDITS, 'zh-cn'), '0.14 额度');
  assert.equal(formatAmount(617_283_945_000, CREDITS, 'en'), '1,234,567.89 credits');
  assert.deepEqual([amountUnitName(CREDITS, 'en'), amountUnitName(CREDITS, 'zh-CN')], ['credits', '额度']);
});

test('with a currency they are in it, and no word for credits is left', () => {
  assert.equal(formatAmount(70_000, YUAN, 'en'), '¥0.14');
  assert.equal(formatAmount(-70_000, YUAN, 'zh-CN'), '-¥0.14');
  assert.equal(amountUnitName(YUAN, 'zh-CN'), 'CNY');
  assert.equal(formatListPrice(9.5, YUAN, 'en'), '¥9.50');
  assert.equal(formatListPrice(9.5, CREDITS, 'en'), '9.5');
});

test('small amounts keep four decimals, and prices that are multiplied all six', () => {
  assert.equal(formatAmount(1_000, CREDITS, 'en'), '0.002 credits');
  assert.equal(formatAmount(0, CREDITS, 'en'), '0.00 credits');
  assert.equal(formatAmount(14_000, CREDITS, 'en', 'exact'), '0.028 credits');
  assert.equal(formatAmountNumber(1, CREDITS, 'en', 'exact'), '0.000002');
  assert.equal(formatAmountNumber(14_000, YUAN, 'en', 'exact'), '¥0.028');
});

test('a currency without minor units is written with the decimals a credit has', () => {
  assert.equal(formatAmount(70_000, { ...YUAN, currency: 'JPY' }, 'en'), '¥0.14');
});
