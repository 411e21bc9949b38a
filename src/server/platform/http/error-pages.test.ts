import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { FastifyReply } from 'fastify';
import { AppError } from '../app-error.ts';
import { type PageFailure, showErrorsAsHtmlPage } from './error-responses.ts';

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
  const given = await showErrorsAsHtmlPage(
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
