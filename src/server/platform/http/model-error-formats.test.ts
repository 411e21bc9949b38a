import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { ErrorCode } from '../../../contract/error-codes.ts';
import { toAnthropicError, toGeminiError } from './error-responses.ts';

const facts = (internalCode: ErrorCode, status: number, retryAfterSeconds?: number) => ({
  internalCode,
  code: internalCode,
  message: 'why',
  status,
  requestId: 'r1',
  retryAfterSeconds,
});

for (const [internalCode, status, expected] of [
  ['invalid_request', 400, [400, 'invalid_request_error']],
  ['invalid_api_key', 401, [401, 'authentication_error']],
  ['quota_not_enough', 402, [402, 'billing_error']],
  ['quota_not_enough', 403, [403, 'billing_error']],
  ['forbidden', 403, [403, 'permission_error']],
  ['rate_limit_exceeded', 429, [429, 'rate_limit_error']],
  ['invalid_request', 499, [499, 'invalid_request_error']],
  ['internal_error', 500, [500, 'api_error']],
  ['upstream_error', 502, [502, 'api_error']],
  ['upstream_unavailable', 503, [529, 'overloaded_error']],
] as const)
  it(`Anthropic's error for ${internalCode} with ${status}`, () => {
    const { status: given, body } = toAnthropicError(facts(internalCode, status));
    assert.equal(given, expected[0]);
    assert.deepEqual(body, { type: 'error', error: { type: expected[1], message: 'why' }, request_id: 'r1' });
  });

for (const [status, word] of [
  [400, 'INVALID_ARGUMENT'],
  [401, 'UNAUTHENTICATED'],
  [404, 'NOT_FOUND'],
  [413, 'INVALID_ARGUMENT'],
  [499, 'INVALID_ARGUMENT'],
  [500, 'INTERNAL'],
  [502, 'INTERNAL'],
  [503, 'UNAVAILABLE'],
] as const)
  it(`Google's error with ${status}`, () =>
    assert.deepEqual(toGeminiError(facts('internal_error', status)), {
      status,
      body: { error: { code: status, message: 'why', status: word } },
    }));

it("Google's error states the retry delay in its body", () => {
  const { body } = toGeminiError(facts('rate_limit_exceeded', 429, 7));
  const details = [{ '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '7s' }];
  assert.deepEqual(body, { error: { code: 429, message: 'why', status: 'RESOURCE_EXHAUSTED', details } });
});
