import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { FastifyReply } from 'fastify';
import { AppError } from '../app-error.ts';
import { type PageFailure, showErrorsAsHtmlPage } from './error-responses.ts';

/** What a page shows of its work's end, and the headers it then has. */
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

describe('an error of a page', () => {
  it('is shown with its status, in the language of the page', async () => {
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

  it('says when to come again, in whole seconds', async () => {
    const { shown, headers } = await respond(async () => {
      throw new AppError('rate_limit_exceeded', { retryAfterSeconds: 1.2 });
    });
    assert.deepEqual([shown?.status, headers], [429, { 'retry-after': '2' }]);
  });

  it('is not shown where it is a fault of the service', async () => {
    await assert.rejects(
      respond(async () => {
        throw new TypeError('broken inside');
      }),
      /broken inside/,
    );
  });

  it('is nothing where the work succeeds', async () => {
    assert.deepEqual(await respond(async () => {}), { shown: undefined, headers: {} });
  });
});
