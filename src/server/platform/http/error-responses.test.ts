import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { EnvelopeKind } from '../../../contract/endpoint.ts';
import { AppError } from '../app-error.ts';
import { DatabaseUnavailableError } from '../db/database.ts';
import { toErrorResponse } from './error-responses.ts';

const render = (error: unknown, envelope: EnvelopeKind, more?: { readonly isOpenAiSdk?: boolean }) => {
  const { body, ...response } = toErrorResponse(error, envelope, 'en', 'r1', more);
  return { ...response, body: envelope === 'page' ? body : (JSON.parse(body) as Record<string, unknown>) };
};

describe('errors in the envelope of their path', () => {
  const error = new AppError('model_not_found', { message: 'no such', param: 'model' });

  it('video and model formats', () => {
    const { status, contentType, headers, body } = render(error, 'model');
    assert.deepEqual([status, contentType, headers], [404, 'application/json; charset=utf-8', {}]);
    assert.deepEqual(Object.keys(body as object), ['error']);
    const inner = (body as { error: Record<string, unknown> }).error;
    assert.deepEqual([inner.message, inner.param, inner.code], ['no such', 'model', 'model_not_found']);
    assert.deepEqual(render(error, 'video').body, { code: 'model_not_found', message: 'no such', data: null });
    const both = render(error, 'openai-video').body as Record<string, unknown>;
    assert.deepEqual(both, { code: 'model_not_found', message: 'no such', data: null, error: inner });
  });

  it("a missing task follows the contract, and is readable by OpenAI's own client", () => {
    const missing = new AppError('task_not_exist', { message: 'task_not_exist' });
    assert.deepEqual(Object.keys(render(missing, 'openai-video').body as object), ['code', 'message', 'data']);
    assert.equal(render(missing, 'openai-video').status, 400);
    const forSdk = render(missing, 'openai-video', { isOpenAiSdk: true });
    assert.equal(forSdk.status, 404);
    const { error } = forSdk.body as { error: { param: unknown; code: string; message: string } };
    assert.deepEqual([error.param, error.code], [null, 'task_not_exist']);
    assert.match(error.message, /^There is no such video/);
    const elsewhere = render(new AppError('task_not_exist'), 'openai-video');
    assert.deepEqual([elsewhere.status, (elsewhere.body as { code: string }).code], [400, 'task_not_exist']);
    assert.match((elsewhere.body as { message: string }).message, /^There is no such video/);
  });

  it('device sign-in: invalid requests are a documented failure, unreadable ones are not', () => {
    assert.equal(render(new AppError('invalid_request'), 'device').status, 200);
    const unreadable = render(new AppError('invalid_json'), 'device');
    assert.notEqual(unreadable.status, 200);
    assert.equal((unreadable.body as { error: string }).error, 'invalid_request');
    for (const { body } of [unreadable, render(new AppError('device_code_invalid'), 'device')])
      assert.equal((body as { success: boolean }).success, false);
    assert.equal(render(new AppError('device_code_invalid'), 'device').status, 200);
  });

  it('OAuth: the codes of RFC 6749, and the scheme with a 401', () => {
    const client = render(new AppError('client_unknown'), 'oauth');
    assert.deepEqual((client.body as { error: string }).error, 'invalid_client');
    assert.equal(client.status, 401);
    assert.equal(client.headers['www-authenticate'], 'Basic realm="reelgate"');
    const other = render(new AppError('invalid_json'), 'oauth');
    assert.deepEqual([(other.body as { error: string }).error, other.headers], ['invalid_request', {}]);
    assert.equal(render(new AppError('unauthorized'), 'model').headers['www-authenticate'], undefined);
  });

  it('vendor formats use the status codes of their tables', () => {
    assert.equal(render(new AppError('quota_not_enough'), 'kling').status, 429);
    assert.equal((render(new AppError('quota_not_enough'), 'kling').body as { code: number }).code, 1102);
    assert.equal((render(new AppError('quota_not_enough'), 'jimeng').body as { code: number }).code, 50400);
  });

  it('pages: escaped, with their own headers', () => {
    const { contentType, headers, body } = render(new AppError('not_found', { message: '<b>' }), 'page');
    assert.equal(contentType, 'text/html; charset=utf-8');
    assert.match(body as string, /<p>&#60;b&#62;<\/p>/);
    assert.ok(headers['content-security-policy']);
  });

  it('an internal error reveals nothing about its cause', () => {
    const { status, body } = render(new Error('secret'), 'model');
    assert.equal(status, 500);
    assert.doesNotMatch(JSON.stringify(body), /secret/);
    assert.match(JSON.stringify(body), /r1/);
  });

  it('an unavailable database states when to retry', () => {
    const { status, headers } = render(new DatabaseUnavailableError('gone'), 'model');
    assert.deepEqual([status, headers], [503, { 'retry-after': '2' }]);
  });

  it('retry-after is in whole seconds, at least one', () => {
    for (const [retryAfterSeconds, expected] of [
      [0, '1'],
      [0.2, '1'],
      [1.2, '2'],
      [60, '60'],
    ] as const)
      assert.equal(
        render(new AppError('rate_limit_exceeded', { retryAfterSeconds }), 'api').headers['retry-after'],
        expected,
      );
  });

  it('names known to callers replace internal ones', () => {
    const { body } = render(new AppError('upstream_error', { publicCode: 'content_policy' }), 'video');
    assert.equal((body as { code: string }).code, 'content_policy');
  });
});
