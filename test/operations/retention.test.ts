import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { DAY_MS } from '../../src/contract/time-units.ts';
import { assertLedgerConsistent } from '../faults/ledger-assertions.ts';
import { idOf, startVideoService, type VideoService } from '../flows/video-fixture.ts';
import { forEachDatabase } from '../for-each-database.ts';

const MODELS = [
  { name: 'kling', model: 'kling-v1-6' },
  { name: 'sora', model: 'sora-2' },
] as const;

forEachDatabase((_name, _open, freshUrl) => {
  describe('data past its retention', () => {
    let service: VideoService;
    before(async () => {
      service = await startVideoService(await freshUrl(), {}, MODELS);
    });
    after(() => service.stop());

    it('is emptied or deleted; newer data stays, and videos, counts and the ledger remain complete', async () => {
      const { app, caller, operator } = service;
      const { kysely } = app.database;
      const old = await Promise.all(MODELS.map(({ model }) => caller.submit({ model, prompt: `old ${model}` })));
      const failed = await caller.submit({ model: 'kling-v1-6', prompt: 'old [fail]' });
      const young = await caller.submit({ model: 'kling-v1-6', prompt: 'young' });
      for (const each of [...old, failed, young]) await caller.waitUntilEnded(idOf(each));
      const before = await Promise.all(old.map((each) => caller.video(idOf(each))));
      const ids = [...old, failed].map(idOf);
      await kysely
        .updateTable('tasks')
        .set({ finish_time: Date.now() - 31 * DAY_MS })
        .where('public_id', 'in', ids)
        .execute();
      const makeKey = async () =>
        (await operator.requestData<{ id: number }>('POST', '/api/tokens', { name: 'revoked' })).id;
      const [longAgo, lately] = [await makeKey(), await makeKey()];
      for (const id of [longAgo, lately]) await operator.requestData('DELETE', `/api/tokens/${id}`);
      await kysely.updateTable('tokens').set({ revoked_at: 1 }).where('id', '=', longAgo).execute();
      await operator.requestData('POST', '/api/admin/announcements', { title: 'to all', content: 'x' });
      const note = {
        for_admin: 0,
        type: 'system',
        topic: 'system',
        title_zh: null,
        content_zh: null,
        target_url: '',
        related_id: 0,
      };
      const texts = { title_en: 't', content_en: 'c', is_read: 0, deduplication_key: null };
      const own = { ...note, ...texts, user_id: operator.id };
      await kysely
        .insertInto('inboxes')
        .values({
          user_id: operator.id,
          total_user: 2,
          total_admin: 0,
          unread_user: 2,
          unread_admin: 0,
          read_to_user: 0,
          read_to_admin: 0,
          announcements_read_to: 0,
        })
        .onConflict((conflict) =>
          conflict.column('user_id').doUpdateSet({ total_user: 2, total_admin: 0, unread_user: 2, unread_admin: 0 }),
        )
        .execute();
      await kysely.deleteFrom('notifications').where('user_id', '=', operator.id).execute();
      await kysely
        .insertInto('notifications')
        .values([
          { ...own, created_at: 1 },
          { ...own, created_at: Date.now() },
        ])
        .execute();
      const login = { user_id: operator.id, outcome: 'success', two_step: 0, known_source: 1, user_agent: '' } as const;
      // The default is 90 days.
      const attempts = [
        { ...login, address: 'long ago', created_at: Date.now() - 91 * DAY_MS },
        { ...login, address: 'lately', created_at: Date.now() - 89 * DAY_MS },
      ];
      await kysely.insertInto('login_history').values(attempts).execute();
      await kysely.updateTable('audit_log').set({ created_at: 1 }).where('action', '=', 'channel.create').execute();

      await app.runDueJobs();

      const tasks = await kysely.selectFrom('tasks').select(['public_id', 'request', 'data']).execute();
      for (const { public_id, request, data } of tasks)
        assert.equal(request === '{}' && data === '{}', ids.includes(public_id), public_id);
      for (const [index, video] of before.entries()) {
        const now = await caller.video(idOf(video));
        assert.deepEqual(
          [now.id, now.status, now.object],
          [idOf(video), 'completed', 'video'],
          String(MODELS[index]?.model),
        );
        assert.equal((await caller.unified(idOf(video))).status, 'SUCCESS');
        const shown = await operator.requestData<{ status: string }>('GET', `/api/videos/${idOf(video)}`);
        assert.equal(shown.status, 'SUCCESS');
      }
      assert.equal((await caller.video(idOf(failed))).status, 'failed');
      const native = await caller.request('GET', `/kling/v1/videos/text2video/${idOf(old[0] ?? {})}`);
      assert.equal(native.status, 200, JSON.stringify(native.body));
      assert.deepEqual(
        (await kysely.selectFrom('tokens').select('id').where('id', 'in', [longAgo, lately]).execute()).map(
          ({ id }) => id,
        ),
        [lately],
      );
      const addresses = (await kysely.selectFrom('login_history').select('address').execute()).map(
        ({ address }) => address,
      );
      assert.deepEqual([addresses.includes('long ago'), addresses.includes('lately')], [false, true]);
      const inbox = await kysely
        .selectFrom('inboxes')
        .selectAll()
        .where('user_id', '=', operator.id)
        .executeTakeFirstOrThrow();
      assert.deepEqual([inbox.total_user, inbox.unread_user], [1, 1]);
      const left = await kysely.selectFrom('audit_log').select('action').execute();
      assert.equal(
        left.some(({ action }) => action === 'channel.create'),
        false,
      );
      assert.ok(left.length > 0, 'younger entries are there');
      await assertLedgerConsistent(app.database);
      const { ok, full_checked_at } = await operator.requestData<{ ok: boolean; full_checked_at: number }>(
        'GET',
        '/api/admin/ledger/check',
      );
      assert.equal(ok, true);
      assert.ok(full_checked_at > 0, 'the first job read the whole ledger');
    });
  });
});
