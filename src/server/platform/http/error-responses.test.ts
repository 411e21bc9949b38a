import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { EnvelopeKind } from '../../../contract/endpoint.ts';
import type { ErrorCode } from '../../../contract/error-codes.ts';
import { AppError } from '../app-error.ts';
import { DatabaseUnavailableError } from '../db/database.ts';
import type { Log } from '../log.ts';
import { BadVideoError } from '../media.ts';
import {
  ErrorSender,
  type PageFailure,
  showErrorsAsPage,
  toAnthropicError,
  toClaudeCodeError,
  toClaudeCodeOauthError,
  toErrorResponse,
  toGeminiError,
  toJimengBody,
  toJimengError,
  toKlingError,
} from './error-responses.ts';

describe('error responses', () => {
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
});

describe('error pages', () => {
  /** The page shown for the result of the work, and its headers. */
  async function respond(work: () => Promise<void>, locale: 'en' | 'zh-CN' = 'en') {
    const headers: Record<string, string> = {};
    const reply = {
      header(name: string, value: string) {
        headers[name] = value;
        return reply;
      },
    } as unknown as FastifyReply;
    let shown: PageFailure | undefined;
    const given = await showErrorsAsPage(
      reply,
      locale,
      async () => {
        await work();
        return reply;
      },
      (failure) => {
        shown = failure;
        return reply;
      },
    );
    assert.equal(given, reply);
    return { shown, headers };
  }

  describe('error page', () => {
    it('has the status of the error and the language of the page', async () => {
      const fail = async () => {
        throw new AppError('not_exist', { params: { what: 'video' } });
      };
      const { shown, headers } = await respond(fail);
      assert.equal(shown?.code, 'not_exist');
      assert.match(shown?.message ?? '', /video/);
      assert.deepEqual(headers, {});
      const translated = (await respond(fail, 'zh-CN')).shown;
      assert.match(translated?.message ?? '', /\p{Script=Han}/u);
      assert.equal(translated?.status, shown?.status);
    });

    it('states when to retry, in whole seconds', async () => {
      const { shown, headers } = await respond(async () => {
        throw new AppError('rate_limit_exceeded', { retryAfterSeconds: 1.2 });
      });
      assert.deepEqual([shown?.status, headers], [429, { 'retry-after': '2' }]);
    });

    it('hides the cause of an internal error', async () => {
      await assert.rejects(
        respond(async () => {
          throw new TypeError('broken inside');
        }),
        /broken inside/,
      );
    });

    it('is not sent when the work succeeds', async () => {
      assert.deepEqual(await respond(async () => {}), { shown: undefined, headers: {} });
    });
  });
});

describe('error sender', () => {
  /** The response sent for an error, and its log line. */
  function reply(error: unknown, headersSent = false) {
    const logged: string[] = [];
    const sent: { status?: number; body?: { code: string; message: string }; isDestroyed: boolean } = {
      isDestroyed: false,
    };
    const raw = {
      headersSent,
      destroy() {
        sent.isDestroyed = true;
      },
    };
    const chain = {
      raw,
      status(status: number) {
        sent.status = status;
        return chain;
      },
      headers: () => chain,
      header: () => chain,
      removeHeader: () => chain,
      serializer: () => chain,
      send(body: string) {
        sent.body = JSON.parse(body);
      },
    };
    const note = (level: string) => () => void logged.push(level);
    const log = { warn: note('warn'), error: note('error') } as unknown as Log;
    const request = { url: '/v1/videos', id: 'r1', headers: {}, raw: { url: '/v1/videos', headers: {} } };
    new ErrorSender({ log, defaultLocale: 'en' }).reply(
      error,
      request as unknown as FastifyRequest,
      chain as unknown as FastifyReply,
    );
    return { ...sent, logged };
  }

  it("a caller's error is sent unchanged and not logged", () => {
    const { status, body, logged } = reply(Object.assign(new AppError('not_exist'), { statusCode: 400 }));
    assert.deepEqual([status, body?.code, logged], [404, 'not_exist', []]);
  });

  it('a framework failure is an invalid request if caused by the caller, and an internal error otherwise', () => {
    const refused = reply(Object.assign(new Error('bad'), { statusCode: 415 }));
    assert.deepEqual([refused.status, refused.body?.code, refused.logged], [400, 'invalid_request', []]);
    const large = reply(Object.assign(new Error('large'), { code: 'FST_ERR_CTP_BODY_TOO_LARGE', statusCode: 413 }));
    assert.equal(large.status, 413);
    for (const error of [new Error('inside'), Object.assign(new Error('inside'), { statusCode: 500 })]) {
      const { status, logged } = reply(error);
      assert.deepEqual([status, logged], [500, ['error']]);
    }
  });

  it('a file found to be broken before its first byte is unavailable, and the reason is logged', () => {
    const { body, logged } = reply(new BadVideoError('no video'));
    assert.deepEqual([body?.code, logged], ['content_unavailable', ['warn']]);
  });

  it('after the head was sent, the connection is closed, because no error can be reported any more', () => {
    const { isDestroyed, body, logged } = reply(new Error('inside'), true);
    assert.deepEqual([isDestroyed, body, logged], [true, undefined, ['error']]);
  });
});

describe('model error formats', () => {
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

  for (const [seconds, retryAfter, period, reason] of [
    [undefined, 3_600, 'daily', 'out_of_credits'],
    [0.2, 1, 'daily', 'org_spend_cap_reached'],
    [86_401, 86_401, 'weekly', 'org_spend_cap_reached'],
    [604_801, 604_801, 'monthly', 'org_spend_cap_reached'],
  ] as const)
    it(`Claude Code's error at a limit that renews after ${seconds ?? 'unknown'} seconds`, () => {
      const { status, body, headers = {} } = toClaudeCodeError(facts('quota_not_enough', 403, seconds), 1_000_000);
      assert.deepEqual([status, (body as { error: { type: string } }).error.type], [429, 'billing_error']);
      assert.deepEqual([headers['x-should-retry'], headers['retry-after']], ['false', String(retryAfter)]);
      const {
        'anthropic-ratelimit-unified-status': state,
        'anthropic-ratelimit-unified-reset': reset,
        'anthropic-ratelimit-unified-overage-period': shownPeriod,
        'anthropic-ratelimit-unified-overage-disabled-reason': why,
      } = headers;
      assert.deepEqual([state, reset, shownPeriod, why], ['rejected', String(1_000 + retryAfter), period, reason]);
    });

  it("Claude Code's other errors: only a dead token stops repetitions", () => {
    const headersOf = (code: ErrorCode, status: number) => toClaudeCodeError(facts(code, status)).headers;
    assert.deepEqual(headersOf('invalid_api_key', 401), { 'x-should-retry': 'false' });
    assert.equal(headersOf('rate_limit_exceeded', 429), undefined);
    assert.equal(headersOf('upstream_unavailable', 503), undefined);
  });

  for (const [internalCode, status, expected] of [
    ['refresh_token_spent', 400, [401, 'invalid_grant']],
    ['refresh_token_expired', 400, [401, 'invalid_grant']],
    ['device_code_used', 400, [400, 'expired_token']],
    ['slow_down', 400, [429, 'slow_down']],
    ['rate_limit_exceeded', 429, [429, 'slow_down']],
    ['unavailable', 503, [503, 'temporarily_unavailable']],
  ] as const)
    it(`Claude Code's sign-in error for ${internalCode}`, () => {
      const { status: shown, body } = toClaudeCodeOauthError(facts(internalCode, status));
      assert.deepEqual([shown, body], [expected[0], { error: expected[1], error_description: 'why' }]);
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
});

describe('video error formats', () => {
  const facts = (internalCode: ErrorCode, status = 400, code: string = internalCode) => ({
    internalCode,
    code,
    message: 'why',
    status,
    requestId: 'r1',
    retryAfterSeconds: undefined,
  });

  describe("errors in Kling's format", () => {
    for (const [internalCode, status, code, expected] of [
      ['invalid_api_key', 401, undefined, [401, 1002]],
      ['quota_not_enough', 402, undefined, [429, 1102]],
      ['invalid_request', 400, undefined, [400, 1201]],
      ['internal_error', 499, undefined, [400, 1201]],
      ['internal_error', 500, undefined, [500, 5000]],
      ['upstream_refused', 400, '1300', [400, 1300]],
      ['upstream_refused', 500, '1301', [400, 1301]],
      ['upstream_refused', 400, '1302', [400, 1201]],
    ] as const)
      it(`${internalCode} ${status} ${code ?? ''}`, () => {
        const { status: given, body } = toKlingError(facts(internalCode as ErrorCode, status, code));
        assert.equal(given, expected[0]);
        assert.deepEqual(body, { code: expected[1], message: 'why', request_id: 'r1', data: null });
      });
  });

  describe("errors in Jimeng's format", () => {
    for (const [internalCode, status, code, expected] of [
      ['quota_not_enough', 402, undefined, [400, 50400]],
      ['rate_limit_exceeded', 429, undefined, [429, 50429]],
      ['invalid_request', 400, undefined, [400, 50200]],
      ['internal_error', 499, undefined, [400, 50200]],
      ['internal_error', 500, undefined, [500, 50500]],
      ['upstream_refused', 500, '50411', [400, 50411]],
      ['upstream_refused', 400, '50429', [429, 50429]],
      ['upstream_refused', 400, '50430', [429, 50430]],
      ['upstream_refused', 400, '50431', [400, 50431]],
      ['upstream_refused', 400, '50499', [400, 50499]],
      ['upstream_refused', 400, '50500', [500, 50500]],
      ['upstream_refused', 400, '50501', [500, 50501]],
      ['upstream_refused', 400, '50502', [400, 50502]],
      ['upstream_refused', 400, '60400', [400, 50200]],
    ] as const)
      it(`${internalCode} ${status} ${code ?? ''}`, () => {
        const { status: given, body } = toJimengError(facts(internalCode as ErrorCode, status, code));
        assert.equal(given, expected[0]);
        assert.deepEqual(body, {
          code: expected[1],
          data: null,
          message: 'why',
          request_id: 'r1',
          status: expected[1],
          time_elapsed: '0.000ms',
        });
      });

    it("a wrong key gets the envelope of the vendor's gateway", () => {
      assert.deepEqual(toJimengError(facts('invalid_api_key', 401)), {
        status: 401,
        body: {
          ResponseMetadata: {
            RequestId: 'r1',
            Version: '2022-08-31',
            Service: 'cv',
            Region: 'cn-north-1',
            Error: { CodeN: 100009, Code: 'InvalidAccessKey', Message: 'why' },
          },
        },
      });
    });

    it('a missing task is a result', () => {
      const { status, body } = toJimengError(facts('task_not_exist', 404));
      assert.equal(status, 200);
      assert.deepEqual(body, toJimengBody(10_000, 'Success', { status: 'not_found', video_url: '' }, 'r1'));
      assert.equal(toJimengBody(1, '', null, '', 1.5).time_elapsed, '1.500ms');
    });
  });
});
