import assert from 'node:assert/strict';
import { it } from 'node:test';
import { mapRedemptionCode } from './plans.ts';

const NOW_SECONDS = 1_760_000_000;
const CODE = { id: '1', key: '01'.repeat(16), status: '1', quota: '500', created_time: '1' };
const read = (row: Record<string, string>) => {
  const outcome = mapRedemptionCode({ ...CODE, ...row }, NOW_SECONDS * 1000);
  return outcome.kind === 'mapped' ? outcome.value.expiresAt : outcome.reason;
};

it("reads the period and the kind of Veloera's codes", () => {
  assert.equal(read({ valid_from: '0', valid_until: '0', is_gift: '0' }), undefined);
  assert.equal(read({ valid_until: String(NOW_SECONDS + 9) }), (NOW_SECONDS + 9) * 1000);
  assert.equal(read({ valid_until: String(NOW_SECONDS - 9) }), 'the code has expired');
  assert.equal(read({ valid_from: String(NOW_SECONDS + 9) }), 'the code is not valid yet');
  assert.match(String(read({ is_gift: '1', max_uses: '-1' })), /^several accounts may use the code/);
});

it('imports no code that would be redeemed by another text', () => {
  const reason = 'the code has characters that codes here do not have';
  for (const key of ['新年快乐', '新年快乐8', '--', 'é1']) assert.equal(read({ key }), reason, key);
  for (const key of ['HAPPY-2026', 'happy_2026', 'ＨＡＰＰＹ']) assert.equal(read({ key }), undefined, key);
});
