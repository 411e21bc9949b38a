import assert from 'node:assert/strict';
import { test } from 'node:test';
import { toErrorResponse } from '../platform/http/error-responses.ts';
import { notEnoughError } from './ledger-service.ts';

const CREDITS = { quotaPerCredit: 500_000, currency: '' };
const messageOf = (error: Error, locale: 'en' | 'zh-CN'): string =>
  (JSON.parse(toErrorResponse(error, 'api', locale, 'req_1').body) as { message: string }).message;

test('a wallet shortage states the required and the remaining credits in the language of the caller', () => {
  const error = notEnoughError({ needed: 70_000, available: 1 }, CREDITS);
  assert.equal(error.code, 'quota_not_enough');
  assert.equal(messageOf(error, 'en'), 'Not enough credits: 0.14 credits needed, 0.000002 credits left.');
  assert.equal(messageOf(error, 'zh-CN'), '余额不足：需要 0.14 积分，剩余 0.000002 积分。');
});

test('a reached API key limit is stated in money when the site has a currency', () => {
  const error = notEnoughError(
    { needed: 70_000, available: 50_000, limit: 1_000_000 },
    { quotaPerCredit: 500_000, currency: 'CNY' },
  );
  assert.equal(messageOf(error, 'en'), 'This key’s limit is ¥2.00: ¥0.14 needed, ¥0.10 left.');
  assert.equal(messageOf(error, 'zh-CN'), '超出该 API 密钥的消费上限 ¥2.00：需要 ¥0.14，剩余 ¥0.10。');
});
