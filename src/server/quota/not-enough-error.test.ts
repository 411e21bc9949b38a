import assert from 'node:assert/strict';
import { test } from 'node:test';
import { toErrorResponse } from '../platform/http/error-responses.ts';
import { notEnoughError } from './ledger-service.ts';

const CREDITS = { quotaPerCredit: 500_000, currency: '' };
const messageOf = (error: Error, locale: 'en' | 'zh-CN'): string =>
  (JSON.parse(toErrorResponse(error, 'api', locale, 'req_1').body) as { message: string }).message;

test('a wallet with too little says what is needed and left in credits, in the language of the caller', () => {
  const error = notEnoughError({ needed: 70_000, available: 1 }, CREDITS);
  assert.equal(error.code, 'quota_not_enough');
  assert.equal(messageOf(error, 'en'), 'Not enough credits: 0.14 credits needed, 0.000002 credits left.');
  assert.equal(messageOf(error, 'zh-CN'), '额度不足：需要 0.14 额度，剩余 0.000002 额度。');
});

test('the limit of an API key is named, in money where the site has a currency', () => {
  const error = notEnoughError(
    { needed: 70_000, available: 50_000, limit: 1_000_000 },
    { quotaPerCredit: 500_000, currency: 'CNY' },
  );
  assert.equal(
    messageOf(error, 'en'),
    "Not enough credits under this API key's own limit of ¥2.00: ¥0.14 needed, ¥0.10 of it left.",
  );
  assert.equal(messageOf(error, 'zh-CN'), '超出该 API 密钥自身的额度上限 ¥2.00：需要 ¥0.14，剩余 ¥0.10。');
});
