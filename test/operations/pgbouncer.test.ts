import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { makeApp } from '../../src/server/app.ts';
import { parseConfig } from '../../src/server/platform/config.ts';
import { openLog } from '../../src/server/platform/log.ts';
import { chatBody } from '../chat/chat-fixture.ts';
import { assertLedgerConsistent, openReadOnly } from '../faults/ledger-assertions.ts';
import { addChatModel, untilAllEnded } from '../faults/submit-steps.ts';
import { startVideoService, type VideoService } from '../flows/video-fixture.ts';
import { forEachDatabase } from '../for-each-database.ts';
import { testEnvironment } from '../service-with-sandbox.ts';
import { type RunningPgBouncer, startPgBouncer } from './pgbouncer.ts';

const CALLERS = 12;
const ROUNDS = 8;
/** Fewer than the concurrent callers, and than the connections of the service's own pool. */
const SERVER_CONNECTIONS = 3;
const MODEL = 'kling-v1-6';

forEachDatabase((name, _open, freshUrl) => {
  if (name === 'sqlite') return;

  describe('behind PgBouncer in transaction mode', () => {
    let direct: string;
    let pooler: RunningPgBouncer;
    let service: VideoService | undefined;
    before(async () => {
      direct = await freshUrl();
      pooler = await startPgBouncer(direct, SERVER_CONNECTIONS);
    });
    after(async () => {
      await service?.stop();
      await pooler?.stop();
    });

    it("names the missing setting at startup if only the pooler's URL is given", async () => {
      const config = parseConfig(testEnvironment(pooler.url));
      await assert.rejects(makeApp(config, { log: openLog('silent') }), /startup parameter.*DATABASE_DIRECT_URL/s);
    });

    it('serves submits, model calls and live signals, and the ledger is consistent', async () => {
      const env = { DATABASE_DIRECT_URL: direct };
      service = await startVideoService(pooler.url, { env }, [{ name: 'kling', model: MODEL }]);
      await addChatModel(service);
      const { caller, app, operator } = service;
      const work = async (label: number) => {
        for (let n = 0; n < ROUNDS; n += 1) {
          const submitted = await caller.request('POST', '/v1/videos', { model: MODEL, prompt: `${label} ${n}` });
          assert.equal(submitted.status, 200, JSON.stringify(submitted.body));
          const called = await caller.request('POST', '/v1/chat/completions', chatBody(`${label} ${n}`));
          assert.equal(called.status, 200, JSON.stringify(called.body));
          assert.equal((await caller.request('GET', '/v1/videos')).status, 200);
        }
      };
      const stream = await fetch(`${service.baseUrl}/api/notifications/stream`, { headers: operator.headers });
      assert.equal(stream.status, 200);
      await Promise.all(Array.from({ length: CALLERS }, (_, n) => work(n)));
      await operator.requestData('POST', '/api/admin/announcements', { title: 'Maintenance', content: 'tonight' });
      await untilReads(stream, 'Maintenance');
      await untilAllEnded(app.database, 30);

      const database = openReadOnly(direct);
      try {
        const rows = await database.kysely.selectFrom('tasks').select('status').execute();
        assert.equal(rows.length, CALLERS * ROUNDS);
        assert.ok(rows.every(({ status }) => status === 'SUCCESS'));
        await assertLedgerConsistent(database);
      } finally {
        await database.close();
      }
    });
  });
});

async function untilReads(response: Response, text: string): Promise<void> {
  let read = '';
  for await (const chunk of response.body ?? []) {
    read += Buffer.from(chunk).toString();
    if (read.includes(text)) return;
  }
  assert.fail(`the stream ended without "${text}": ${read}`);
}
