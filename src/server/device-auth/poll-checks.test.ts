import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { DeviceCodeRow } from './code-store.ts';
import { toDeviceCodeStatus } from './codes.ts';
import { findPollFailure, isComplete } from './tokens.ts';

describe('the state of a code', () => {
  it('is expired once its lifetime is over, unless it was decided', () => {
    assert.equal(toDeviceCodeStatus(undefined, 0), 'invalid');
    assert.equal(toDeviceCodeStatus({ status: 'pending', expires_at: 5 }, 4), 'pending');
    assert.equal(toDeviceCodeStatus({ status: 'pending', expires_at: 5 }, 5), 'expired');
    for (const status of ['approved', 'denied', 'used'] as const)
      assert.equal(toDeviceCodeStatus({ status, expires_at: 5 }, 9), status);
  });

  const complete = {
    client_id: 'c',
    status: 'approved',
    expires_at: 5,
    user_id: 1,
    decided_at: 1,
    access_expires_at: 1,
    refresh_expires_at: 1,
  } as DeviceCodeRow;
  const client = { id: 'c', name: 'C' };

  it('determines the response to a poll, the first failure first', () => {
    const failure = (code: DeviceCodeRow | undefined, by: typeof client | undefined = client) =>
      findPollFailure({ client: by, code, now: 9 });
    assert.equal(failure(complete), undefined);
    assert.equal(findPollFailure({ client: undefined, code: undefined, now: 9 }), 'invalid_client');
    assert.equal(failure(undefined), 'device_code_invalid');
    assert.equal(failure(complete, { id: 'other', name: '' }), 'device_code_invalid');
    assert.equal(failure({ ...complete, status: 'used' }), 'device_code_used');
    assert.equal(failure({ ...complete, status: 'denied' }), 'access_denied');
    assert.equal(failure({ ...complete, status: 'pending' }), 'expired_token');
    assert.equal(failure({ ...complete, status: 'pending', expires_at: 10 }), 'authorization_pending');
  });

  it('issues no tokens from an incomplete record', () => {
    assert.equal(isComplete(complete), true);
    for (const column of ['user_id', 'decided_at', 'access_expires_at', 'refresh_expires_at'] as const) {
      const code = { ...complete, [column]: null };
      assert.equal(isComplete(code), false, column);
      assert.equal(findPollFailure({ client, code, now: 9 }), 'record_incomplete');
    }
  });
});
