import assert from 'node:assert/strict';
import { it } from 'node:test';
import { mapKey } from './accounts.ts';

const KEY = { id: '1', user_id: '2', key: 'k'.repeat(48), status: '1', unlimited_quota: '1' };
const modelsOf = (row: Record<string, string>) => {
  const outcome = mapKey({ ...KEY, ...row });
  return outcome.kind === 'mapped' ? outcome.value.models : outcome.reason;
};

it('imports no key that may call nothing as one that may call everything', () => {
  const none = 'it is limited to certain models and names none';
  assert.equal(modelsOf({ model_limits_enabled: '1', model_limits: '' }), none);
  assert.equal(modelsOf({ model_limits_enabled: '1', model_limits: ' , ' }), none);
  assert.deepEqual(modelsOf({ model_limits_enabled: '1', model_limits: 'a,b' }), ['a', 'b']);
  assert.deepEqual(modelsOf({ model_limits_enabled: '0', model_limits: 'a,b' }), []);
  assert.deepEqual(modelsOf({ models: '' }), []);
});

it('reads a bit of MySQL as a boolean', () => {
  const outcome = mapKey({ ...KEY, unlimited_quota: '\u0001', remain_quota: '5' });
  assert.equal(outcome.kind === 'mapped' && outcome.value.limit, undefined);
});
