import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { forEachDatabase } from '../../../test/for-each-database.ts';
import { startTestService, type TestService } from '../../../test/test-service.ts';
import { PASSWORD_COST } from './passwords.ts';

const LOGINS = 200;
/** The queue's capacity plus one running hash per core. */
const MOST_TAKEN = 64 + 4;

forEachDatabase((name, _open, freshUrl) => {
  // Hashing does not use the database, so one database suffices.
  if (name === 'postgres') return;
  let running: TestService;
  before(async () => {
    running = await startTestService(await freshUrl(), {}, { passwordCost: PASSWORD_COST });
  });
  after(() => running.stop());

  it('T24: tries some logins of a flood, rejects the rest immediately, and serves other requests meanwhile', async () => {
    const { fastify } = running.app.http;
    const memory = process.memoryUsage().rss;
    const flood = Array.from({ length: LOGINS }, async (_, n) => {
      const answer = await fastify.inject({
        method: 'POST',
        url: '/api/user/login',
        remoteAddress: `198.51.${100 + (n >> 7)}.${n & 127}`,
        payload: { username: `nobody-${n}`, password: 'wrong-password-1' },
      });
      return { status: answer.statusCode, retry: Number(answer.headers['retry-after']) };
    });
    const startedAt = performance.now();
    assert.equal((await fetch(`${running.url}/api/status`)).status, 200);
    const waited = performance.now() - startedAt;
    const answers = await Promise.all(flood);
    const away = answers.filter(({ status }) => status === 503);
    const tried = answers.filter(({ status }) => status === 200);
    assert.equal(
      away.length + tried.length,
      LOGINS,
      JSON.stringify(
        Map.groupBy(answers, ({ status }) => status)
          .keys()
          .toArray(),
      ),
    );
    assert.ok(away.length > 0 && tried.length >= 64, `${tried.length} were tried`);
    assert.ok(tried.length <= 2 * MOST_TAKEN, `${tried.length} were tried`);
    assert.ok(away.every(({ retry }) => retry > 0));
    assert.ok(waited < 5_000, `others waited ${waited} ms`);
    assert.ok(process.memoryUsage().rss - memory < 200 * 1024 ** 2);
    await running.signUp('ada');
  });
});
