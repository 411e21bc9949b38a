import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { ALL_SIMULATORS, type Sandbox, startSandbox } from '../../src/sandbox/sandbox.ts';
import { callModelApi } from '../call-model-api.ts';
import { forEachDatabase } from '../for-each-database.ts';
import { assertLedgerConsistent, openReadOnly } from './ledger-assertions.ts';
import { startCrashingServer } from './start-crashing-server.ts';
import { assertOneJobEach, prepare, untilAllEnded, VIDEO_MODELS } from './submit-steps.ts';

const ENV = { AMBIGUOUS_SUBMIT_TTL_SECONDS: '2' };
/**
 * How long a dead process may count as alive. With `Retry-After` a caller who repeats a submit gets its response within
 * ten seconds.
 */
const LEASE_MS = 8_000;
const MOST_RETRY_AFTER = 2;

forEachDatabase((_name, _open, freshUrl) => {
  describe('a submit with an Idempotency-Key whose process is killed', { concurrency: 2 }, () => {
    let sandbox: Sandbox;
    before(async () => {
      sandbox = await startSandbox({ simulators: ALL_SIMULATORS });
    });
    after(() => sandbox.stop());

    for (const at of ['after-reserve', 'after-answer'])
      it(`at ${at} is answered within ten seconds when repeated, and starts nothing twice`, async () => {
        const url = await freshUrl();
        const crashing = await startCrashingServer(url, ENV, { at, count: 1 });
        const key = await prepare(crashing.baseUrl, sandbox);
        const submit = (baseUrl: string) =>
          callModelApi(
            baseUrl,
            key,
            'POST',
            '/v1/videos',
            { model: VIDEO_MODELS.kling, prompt: `${at} once` },
            { 'idempotency-key': 'once' },
          );
        await assert.rejects(submit(crashing.baseUrl));
        assert.equal(await crashing.ended, 'SIGKILL');
        const crashedAt = Date.now();

        const again = await startCrashingServer(url, ENV);
        const database = openReadOnly(url);
        try {
          const keys = database.kysely.selectFrom('idempotency_keys').select('alive_until');
          const { alive_until: aliveUntil } = await keys.executeTakeFirstOrThrow();
          assert.ok(aliveUntil <= crashedAt + LEASE_MS);
          let askedAt = Date.now();
          let answer = await submit(again.baseUrl);
          while (answer.status === 409) {
            assert.ok(askedAt < aliveUntil, 'it is refused only while the dead process may be alive');
            const seconds = Number(answer.headers.get('retry-after'));
            assert.ok(seconds <= MOST_RETRY_AFTER);
            await pause(1_000 * seconds);
            askedAt = Date.now();
            answer = await submit(again.baseUrl);
          }
          assert.equal(answer.status, 200, JSON.stringify(answer.body));
          await untilAllEnded(database);
          await assertLedgerConsistent(database);
          const tasks = await database.kysely.selectFrom('tasks').select('public_id').execute();
          assert.deepEqual(
            tasks.map(({ public_id }) => public_id),
            [answer.body.id],
          );
          assertOneJobEach(sandbox, at);
        } finally {
          await database.close();
          await again.stop();
        }
      });
  });
});
