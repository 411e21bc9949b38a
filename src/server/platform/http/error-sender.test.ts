import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { AppError } from '../app-error.ts';
import type { Log } from '../log.ts';
import { BadVideoError } from '../media.ts';
import { ErrorSender } from './error-responses.ts';

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
