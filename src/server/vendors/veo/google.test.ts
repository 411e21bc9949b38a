import assert from 'node:assert/strict';
import { test } from 'node:test';
import { recordedReplies } from '../../../../test/recorded-replies.ts';
import { ERROR_INFO, GOOGLE_STATUS, parseGoogleError, toFailedOperation } from './google.ts';

const replies = recordedReplies('veo');
const response = (status: number, json: unknown) => ({ status, headers: {}, text: '', json });
const RETRIED = ['auth', 'billing', 'rate', 'capacity', 'model'];

for (const [status, { grpc, http, reason }] of Object.entries(GOOGLE_STATUS)) {
  test(`${status} is ${reason} by its name in HTTP and by ${grpc} in an operation`, () => {
    const error = { code: http, message: 'words', status };
    const read = parseGoogleError(response(http, { error }), 0, 'missing');
    const retryable = RETRIED.includes(reason);
    assert.deepEqual(read, { reason, retryable, httpStatus: http, code: status, message: 'words' });
    const failed = toFailedOperation({ code: grpc, message: 'words' }, null);
    assert.equal(failed.state, 'FAILURE');
    assert.deepEqual([failed.error?.reason, failed.error?.code], [reason, status]);
  });
}

for (const [word, reason] of Object.entries(ERROR_INFO)) {
  test(`detail ${word} is ${reason}, and precedes the canonical code`, () => {
    const error = { code: 400, message: 'words', status: 'INVALID_ARGUMENT', details: [{ reason: word }] };
    assert.equal(parseGoogleError(response(400, { error }), 0, 'missing').reason, reason);
  });
}

test('an invalid Gemini key is reported as 400 and is still the channel’s fault', () => {
  const read = parseGoogleError(response(400, replies['gemini-key-invalid']), 0, 'model');
  assert.deepEqual([read.reason, read.retryable], ['auth', true]);
});

test('refused content is recognised only by its message', () => {
  const error = { code: 400, message: 'Support codes: 62263041', status: 'INVALID_ARGUMENT' };
  assert.equal(parseGoogleError(response(400, { error }), 0, 'model').reason, 'policy');
});

test('NOT_FOUND at a submit is a model that another channel may serve, and later a lost operation', () => {
  const json = { error: { code: 404, message: 'gone', status: 'NOT_FOUND' } };
  const at = (notFound: 'model' | 'missing') => parseGoogleError(response(404, json), 0, notFound);
  assert.deepEqual([at('model').reason, at('model').retryable], ['model', true]);
  assert.deepEqual([at('missing').reason, at('missing').retryable], ['missing', false]);
});

test('an error inside an array is read, with its delay', () => {
  const read = parseGoogleError(response(429, replies.rate), 0, 'model');
  assert.deepEqual([read.reason, read.code, read.retryAfterMs], ['rate', 'RESOURCE_EXHAUSTED', 34_500]);
});

test('an error page is the fault of the connection to the vendor, unless its HTTP status is more specific', () => {
  const reasons = [401, 403, 404, 418, 429, 500, 502, 503].map(
    (status) => parseGoogleError({ ...response(status, undefined), text: '<html>' }, 0, 'missing').reason,
  );
  assert.deepEqual(reasons, ['auth', 'capacity', 'capacity', 'capacity', 'rate', 'capacity', 'capacity', 'capacity']);
});
