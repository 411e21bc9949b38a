import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { sql } from 'kysely';
import { question } from '../chat/service.ts';
import { forEachDatabase } from '../databases.ts';
import { idOf, startVideoService, type VideoService } from '../flows/video-service.ts';
import { assertBooks } from './books.ts';
import { addChat, untilAllEnded } from './money-path.ts';

const MODEL = 'kling-v1-6';

forEachDatabase((name, _open, freshUrl) => {
  // The disk of PostgreSQL is its own affair; that it is full is one of the errors it names.
  if (name === 'postgres') return;

  describe('R9: a disk without space', () => {
    let service: VideoService;
    before(async () => {
      const options = { env: { AMBIGUOUS_SUBMIT_TTL_SECONDS: '2' } };
      service = await startVideoService(await freshUrl(), options, [{ name: 'kling', letter: 'A', model: MODEL }]);
      await addChat(service);
    });
    after(() => service.stop());

    /** SQLite takes no page beyond so many; 1 stands for those it has. */
    const allow = (pages: number) =>
      sql`pragma max_page_count = ${sql.lit(pages)}`.execute(service.app.database.kysely);
    const submit = (prompt: string) => service.viewer.ask('POST', '/v1/videos', { model: MODEL, prompt });

    it('writes say 503, reads and files go on, and all is well once there is space', async () => {
      const { kysely } = service.app.database;
      const { id } = await service.viewer.submit({ model: MODEL, prompt: 'before' });
      await service.viewer.ended(idOf({ id }));
      const under = await service.viewer.submit({ model: MODEL, prompt: 'under way' });

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
      assert.equal((await service.viewer.ask('GET', '/v1/videos')).status, 200);
      const file = await service.viewer.raw(`/v1/videos/${String(id)}/content`);
      assert.equal(file.status, 200);
      assert.ok((await file.arrayBuffer()).byteLength > 0);
      const call = await service.viewer.ask('POST', '/v1/chat/completions', question('full'));
      assert.match(String(call.status), /^(200|503)$/, JSON.stringify(call.body));

      await allow(1_000_000);
      answered.push(idOf(await service.viewer.submit({ model: MODEL, prompt: 'after' })), idOf(under));
      await untilAllEnded(service.app.database);
      for (const each of answered) assert.equal((await service.viewer.video(each)).status, 'completed');
      for (
        let looks = 0;
        looks < 50 && (await kysely.selectFrom('holds').select('ref').execute()).length > 0;
        looks += 1
      )
        await new Promise((resolve) => setTimeout(resolve, 100));
      await assertBooks(service.app.database);
      const { rows } = await sql<{ integrity_check: string }>`pragma integrity_check`.execute(kysely);
      assert.deepEqual(rows, [{ integrity_check: 'ok' }]);
    });
  });
});
