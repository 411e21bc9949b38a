import assert from 'node:assert/strict';
import { test } from 'node:test';
import { failedTask, mayHaveStarted, readReason, reasonForStatus, toVendorError } from './json-calls.ts';

test('a Retry-After of more than an hour is cut', () => {
  const response = { status: 429, headers: { 'retry-after': '999999999' }, text: '', json: undefined };
  assert.equal(toVendorError(response, 0, {}).retryAfterMs, 3_600_000);
});

test("the vendor's own code takes precedence over the HTTP status", () => {
  const response = { status: 429, headers: {}, text: '', json: undefined };
  assert.deepEqual([toVendorError(response, 0, {}).reason, toVendorError(response, 0, {}).retryable], ['rate', true]);
  const policy = toVendorError(response, 0, { meaning: { reason: 'policy' }, message: 'no' });
  assert.deepEqual([policy.reason, policy.retryable, policy.message], ['policy', false, 'no']);
});

test('every status has a reason', () => {
  const expected = {
    400: 'user',
    401: 'auth',
    402: 'billing',
    403: 'auth',
    404: 'user',
    413: 'user',
    422: 'user',
  } as const;
  for (const [status, reason] of Object.entries(expected))
    assert.equal(reasonForStatus(Number(status)), reason, status);
  for (const status of [408, 409, 500, 502, 503, 504, 529])
    assert.equal(reasonForStatus(status), 'capacity', `${status}`);
});

test('an error page of a gateway or firewall is the fault of the channel, not of the caller', () => {
  for (const status of [400, 403, 404, 405, 406, 413, 418, 451, 302]) {
    const { reason, retryable, isPage } = toVendorError(
      { status, headers: {}, text: '<html>', json: undefined },
      0,
      {},
    );
    assert.deepEqual([reason, retryable, isPage], ['capacity', true, true], `${status}`);
  }
  const own = toVendorError({ status: 400, headers: {}, text: '', json: {} }, 0, { code: 'X', message: 'no' });
  assert.deepEqual([own.reason, own.isPage], ['user', undefined]);
});

test('a refusal without a known code is a policy refusal if its text says so', () => {
  const response = { status: 400, headers: {}, text: '', json: {} };
  assert.equal(toVendorError(response, 0, { message: 'Input data may contain sensitive content' }).reason, 'policy');
  assert.equal(toVendorError(response, 0, { message: 'duration must be 5' }).reason, 'user');
  assert.equal(failedTask(null, { reason: 'other', message: '内容违规' }).error?.reason, 'policy');
});

test('a reason is found in any known place', () => {
  const text = 'blocked by the safety system';
  for (const place of [
    text,
    { message: text },
    { error: text },
    { error: { message: text } },
    { fail_reason: text },
    { err_msg: text },
    { errors: [{ detail: text }] },
    { status_msg: 'success', failure: text },
  ])
    assert.equal(readReason(undefined, null, '', place).message, text, JSON.stringify(place));
  assert.deepEqual(readReason({ error: { code: 1301, message: 'no' } }), { code: '1301', message: 'no' });
  assert.deepEqual(readReason({ code: 0, message: 'SUCCEED' }, { code: 200, msg: 'ok' }), {
    code: '',
    message: undefined,
  });
});

test('a gateway timeout may have started a job', () => {
  const lost = (status: number, details = {}) => {
    const response = { status, headers: {}, text: '', json: undefined };
    return mayHaveStarted(response, toVendorError(response, 0, details));
  };
  assert.deepEqual(
    [504, 524, 500, 502, 503].map((status) => lost(status)),
    [true, true, false, false, false],
  );
  assert.equal(lost(504, { code: '5002', message: 'timeout', meaning: { reason: 'capacity' } }), false);
});
