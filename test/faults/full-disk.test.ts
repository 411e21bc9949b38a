import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { sql } from 'kysely';
import { chatBody } from '../chat/chat-fixture.ts';
import { idOf, startVideoService, type VideoService } from '../flows/video-fixture.ts';
import { forEachDatabase } from '../for-each-database.ts';
import { assertLedgerConsistent } from './ledger-assertions.ts';
import { addChatModel, untilAllEnded } from './submit-steps.ts';

const MODEL = 'kling-v1-6';

forEachDatabase((name, _open, freshUrl) => {
  // PostgreSQL's own disk handling is out of scope: it reports a full disk with a documented error code.
  if (name === 'postgres') return;

  describe('a full disk', () => {
    let service: VideoService;
    before(async () => {
      const options = { env: { AMBIGUOUS_SUBMIT_TTL_SECONDS: '2' } };
      service = await startVideoService(await freshUrl(), options, [{ name: 'kling', model: MODEL }]);
      await addChatModel(service);
    });
    after(() => service.stop());

    /** Limits the number of pages of the SQLite file; 1 allows only the existing ones. */
    const allow = (pages: number) =>
      sql`pragma max_page_count = ${sql.lit(pages)}`.execute(service.app.database.kysely);
    const submit = (prompt: string) => service.caller.request('POST', '/v1/videos', { model: MODEL, prompt });

    it('writes fail with 503, reads and files continue, and everything recovers once there is space', async () => {
      const { kysely } = service.app.database;
      const { id } = await service.caller.submit({ model: MODEL, prompt: 'before' });
      await service.caller.waitUntilEnded(idOf({ id }));
      const under = await service.caller.submit({ model: MODEL, prompt: 'under way' });

      await allow(1);
      const answered: string[] = [];
      let refused = 0;
      for (let n = 0; n < 400 && refused < 5; n += 1) {
        const { status, body, headers } = await submit(`${'long '.repeat(200)}${n}`);
        const said = `${status} ${JSON.stringify(body)}`;
        if (status === 200) answered.push(idOf(body));
        else {
          assert.equal(status, 503, said);
          assert.equal(body.code, 'unavailable', said);
          assert.ok(Number(headers.get('retry-after')) > 0);
          refused += 1;
        }
      }
      assert.equal(refused, 5, 'there came a point at which nothing more was taken');
      const readiness = async () => (await fetch(`${service.baseUrl}/readyz`)).json();
      assert.deepEqual(await readiness(), { ready: false, reason: 'disk_full' });
      assert.equal((await service.caller.request('GET', '/v1/videos')).status, 200);
      const file = await service.caller.fetchRaw(`/v1/videos/${String(id)}/content`);
      assert.equal(file.status, 200);
      assert.ok((await file.arrayBuffer()).byteLength > 0);
      const call = await service.caller.request('POST', '/v1/chat/completions', chatBody('full'));
      assert.match(String(call.status), /^(200|503)$/, JSON.stringify(call.body));

      await allow(1_000_000);
      assert.deepEqual(await readiness(), { ready: true }, 'without any other write');
      answered.push(idOf(await service.caller.submit({ model: MODEL, prompt: 'after' })), idOf(under));
      await untilAllEnded(service.app.database);
      for (const each of answered) assert.equal((await service.caller.video(each)).status, 'completed');
      for (
        let attempts = 0;
        attempts < 50 && (await kysely.selectFrom('reservations').select('ref').execute()).length > 0;
        attempts += 1
      )
        await new Promise((resolve) => setTimeout(resolve, 100));
      await assertLedgerConsistent(service.app.database);
      const { rows } = await sql<{ integrity_check: string }>`pragma integrity_check`.execute(kysely);
      assert.deepEqual(rows, [{ integrity_check: 'ok' }]);
    });
  });
});
