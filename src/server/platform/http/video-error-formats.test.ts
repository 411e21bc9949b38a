import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ErrorCode } from '../../../contract/error-codes.ts';
import { toJimengBody, toJimengError, toKlingError } from './error-responses.ts';

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
