import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseRetryAfter, reasonForStatus, toVendorError } from './error-mapping.ts';

test('Retry-After is seconds or a date, never nonsense, never longer than an hour', () => {
  const now = Date.parse('Sat, 21 Nov 2026 11:00:00 GMT');
  const read = (text: string) => parseRetryAfter({ 'retry-after': text }, now);
  assert.equal(read('7'), 7_000);
  assert.equal(read('0'), 0);
  assert.equal(read('Sat, 21 Nov 2026 11:00:30 GMT'), 30_000);
  assert.equal(read('Sat, 21 Nov 2026 10:00:00 GMT'), undefined);
  assert.equal(read('999999999'), 3_600_000);
  for (const text of ['', '-1', '1.5', 'soon', '1e9', '99999999999999999999', 'Sat, never']) {
    assert.equal(read(text), undefined, text);
  }
  assert.equal(parseRetryAfter({}, now), undefined);
});

test("the vendor's own code comes before the HTTP status", () => {
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
