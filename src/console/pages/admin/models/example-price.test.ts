import assert from 'node:assert/strict';
import { test } from 'node:test';
import { examplePrice } from './price-form-values.ts';

test('the example multiplies the applicable factors, rounds up once, and ignores floating-point errors', () => {
  const price = { per_call: 0, per_second: 28_000, multipliers: { mode: { pro: 1.1 }, audio: { true: 2 } } };
  const terms = [{ label: 'per_second', quantity: 5, unitQuota: 28_000, per: 1 }];
  assert.deepEqual(examplePrice(price, 5, { mode: 'pro' }), { quota: 154_000, terms, times: [1.1] });
  assert.deepEqual(examplePrice(price, 5, { mode: 'std', audio: 'true' }), { quota: 280_000, terms, times: [2] });
  assert.equal(examplePrice({ per_call: 1, multipliers: { mode: { pro: 1.5 } } }, 5, { mode: 'pro' })?.quota, 2);
  assert.equal(examplePrice({ lines: [{ when: { mode: ['std'] }, per_call: 1 }] }, 5, { mode: 'pro' }), undefined);
});
