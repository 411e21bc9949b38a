import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { makeApp } from '../../src/server/app.ts';
import { parseConfig } from '../../src/server/platform/config.ts';
import { openLog } from '../../src/server/platform/log.ts';
import { callModelApi } from '../call-model-api.ts';
import { forEachDatabase } from '../for-each-database.ts';
import { startSandboxService, testEnvironment } from '../service-with-sandbox.ts';

const TASKS = 40;
const PERIOD_MS = 2_000;

forEachDatabase((name, _open, freshUrl) => {
  // SQLite supports a single process only.
  if (name === 'sqlite') return;

  describe('two processes on one database', () => {
    test('share the polls, none twice in a period, and take over from each other', async () => {
      const url = await freshUrl();
      const env = { SYNC_PERIOD_SECONDS: String(PERIOD_MS / 1000) };
      const running = await startSandboxService(url, { env });
      const second = await makeApp(parseConfig(testEnvironment(url, env)), { log: openLog('silent') });
      let secondRuns = true;
      try {
        await second.listen();
        await running.addChannel('kling', ['kling-v1-6']);
        await running.operator.grantQuota(1_000_000_000);
        const key = await running.operator.makeToken();
        const startedAt = performance.now();
        const answers = await Promise.all(
          Array.from({ length: TASKS }, (_, index) =>
            callModelApi(running.baseUrl, key, 'POST', '/v1/videos', {
              model: 'kling-v1-6',
              prompt: `[stuck] number ${index}`,
            }),
          ),
        );
        assert.ok(answers.every(({ status }) => status === 200));
        await pause(3 * PERIOD_MS);
        const periods = Math.ceil((performance.now() - startedAt) / PERIOD_MS);
        const polls = running.sandbox.control.jobs('kling').map((job) => job.polls);
        assert.equal(polls.length, TASKS);
        assert.ok(
          Math.max(...polls) <= periods,
          `at most one poll in each of ${periods} periods, not ${Math.max(...polls)}`,
        );
        assert.ok(Math.min(...polls) >= 1, 'every task was polled');

        secondRuns = false;
        await second.close(1_000);
        await pause(2 * PERIOD_MS + 1_000);
        const later = running.sandbox.control.jobs('kling').map((job) => job.polls);
        assert.ok(
          later.every((count, index) => count > (polls[index] ?? 0)),
          'the process that is left polls all of them',
        );
      } finally {
        if (secondRuns) await second.close(1_000);
        await running.stop();
      }
    });

    test('a key revoked on one is refused by the other on the next request', async () => {
      const url = await freshUrl();
      const running = await startSandboxService(url);
      const second = await makeApp(parseConfig(testEnvironment(url)), { log: openLog('silent') });
      try {
        const { port } = await second.listen();
        const made = await running.operator.requestData<{ id: number; key: string }>('POST', '/api/tokens', {
          name: 'short',
        });
        const there = () => callModelApi(`http://127.0.0.1:${port}`, made.key, 'GET', '/v1/models');
        assert.equal((await there()).status, 200);
        await running.operator.requestData('DELETE', `/api/tokens/${made.id}`);
        assert.equal((await there()).status, 401);
      } finally {
        await second.close(1_000);
        await running.stop();
      }
    });
  });
});
