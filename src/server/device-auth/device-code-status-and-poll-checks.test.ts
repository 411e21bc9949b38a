import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { HOUR_MS } from '../../contract/time-units.ts';
import { hashToken } from '../platform/generate-and-hash-tokens.ts';
import { verifyClientSecret } from './client-service.ts';
import { toDeviceCodeStatus } from './device-code-status.ts';
import type { DeviceCodeRow } from './device-code-store.ts';
import { CsrfProtection } from './pages/csrf-protection.ts';
import { formatRequestTime } from './pages/format-request-time.ts';
import { findPollFailure, isComplete } from './poll-checks.ts';
import { formatUserCode, parseUserCode, toSingleLine } from './user-code.ts';

describe('the state of a code', () => {
  it('is expired from its end on, unless it was decided', () => {
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

  it('decides the answer to a poll, the first failure first', () => {
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

  it('issues nothing from a record in which something is missing', () => {
    assert.equal(isComplete(complete), true);
    for (const column of ['user_id', 'decided_at', 'access_expires_at', 'refresh_expires_at'] as const) {
      const code = { ...complete, [column]: null };
      assert.equal(isComplete(code), false, column);
      assert.equal(findPollFailure({ client, code, now: 9 }), 'record_incomplete');
    }
  });
});

describe('the code a person types', () => {
  it('is shown in two halves and taken in any spelling', () => {
    assert.equal(formatUserCode('BCDFGHJK'), 'BCDF-GHJK');
    for (const typed of ['BCDFGHJK', 'bcdf-ghjk', ' b c d f\u2013g h j k\t'])
      assert.equal(parseUserCode(typed), 'BCDFGHJK', typed);
    for (const typed of ['', 'BCDFGHJ', 'BCDFGHJKL', 'BCDFGHJA', 'BCDFGHJ1'])
      assert.equal(parseUserCode(typed), undefined);
  });

  it('comes with names that fit on one line', () => {
    assert.equal(toSingleLine(' a\u202e\n b\u0000  c ', 99), 'a b c');
    assert.equal(toSingleLine(`e${'\u0301'.repeat(9)}`, 99), `e${'\u0301'.repeat(2)}`);
    assert.equal(toSingleLine('abcdef', 4).length <= 4, true);
  });
});

describe('the forms of the pages', () => {
  const guard = new CsrfProtection(Buffer.alloc(32, 1));
  const binding = { browser: 'b', session: 's', code: 'BCDFGHJK' };
  const value = guard.issue('approve', binding, 0);

  it('are taken for an hour, for what they were made for', () => {
    assert.equal(guard.check(value, 'approve', binding, HOUR_MS - 1), true);
    assert.equal(guard.check(value, 'approve', binding, HOUR_MS), false);
    assert.equal(guard.check(value, 'deny', binding, 0), false);
    assert.equal(guard.check(value, 'approve', { ...binding, browser: 'x' }, 0), false);
    assert.equal(guard.check(value, 'approve', { ...binding, session: undefined }, 0), false);
    assert.equal(guard.check(value, 'approve', { ...binding, code: 'x' }, 0), false);
  });

  it('cannot be made longer or forged', () => {
    const [, signature] = value.split('.');
    assert.equal(guard.check(`${9 * HOUR_MS}.${signature}`, 'approve', binding, 0), false);
    assert.equal(new CsrfProtection(Buffer.alloc(32, 2)).check(value, 'approve', binding, 0), false);
    for (const junk of ['', '.', value.slice(0, -1), `${9 * HOUR_MS}.`])
      assert.equal(guard.check(junk, 'approve', binding, 0), false);
  });

  it('say when the request came', () => {
    const at = Date.UTC(2026, 10, 21, 12);
    assert.equal(formatRequestTime(at, at + 59_999, 'en'), 'this minute (Nov 21, 2026, 12:00 PM UTC)');
    assert.match(formatRequestTime(at, at + 60_000, 'en'), /^1 minute ago/);
    assert.match(formatRequestTime(at, at + 150_000, 'en'), /^2 minutes ago/);
    assert.match(formatRequestTime(at, at - 150_000, 'en'), /^this minute/, 'clocks that differ');
  });
});

describe('the secret of a client', () => {
  const row = (secret: string, enabled: 0 | 1 = 1) => ({ secret_hash: hashToken(secret), enabled, name: 'C' }) as never;

  it('is any of its active ones, while it is enabled', () => {
    const rows = [row('one'), row('two')];
    assert.deepEqual(verifyClientSecret('c', 'one', rows), { id: 'c', name: 'C' });
    assert.deepEqual(verifyClientSecret('c', 'two', rows), { id: 'c', name: 'C' });
    assert.equal(verifyClientSecret('c', 'three', rows), undefined);
    assert.equal(verifyClientSecret('c', 'one', []), undefined);
    assert.equal(verifyClientSecret('c', 'one', [row('one', 0)]), undefined);
  });
});
