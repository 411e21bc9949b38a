import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type AccountsFixture, startAccounts } from '../../../test/accounts/accounts-fixture.ts';
import type { TestUser } from '../../../test/accounts/test-user-client.ts';
import { forEachDatabase } from '../../../test/for-each-database.ts';
import { hashToken } from '../platform/tokens.ts';

interface KeyRow {
  readonly id: number;
  readonly key_hint: string;
  readonly quota_limit: number | null;
  readonly old_keys: readonly { key_hint: string; expires_at: number; last_used_time: number | null }[];
}

describe('key rotation', () => {
  forEachDatabase((_name, open) => {
    let service: AccountsFixture;
    let ada: TestUser;
    let bob: TestUser;
    before(async () => {
      service = await startAccounts(await open());
      [ada, bob] = [await service.newUser('ada'), await service.newUser('bob')];
    });
    after(() => service.close());

    const make = () => ada.ok<{ id: number; key: string }>('POST', '/api/tokens', { name: 'ci', quota_limit: 100 });
    const rotate = (id: number, body: object = {}) =>
      ada.ok<{ key: string; old_key_expires_at: number | null }>('POST', `/api/tokens/${id}/rotate`, body);
    const row = (id: number) => ada.ok<KeyRow>('GET', `/api/tokens/${id}`);
    const tokenOf = async (key: string): Promise<number | undefined> => {
      const credentials = { headers: { 'x-api-key': key }, session: undefined, clientIp: '192.0.2.1' };
      return service.accounts.authenticator.model(credentials).then(
        ({ tokenId }) => tokenId,
        (error: { code?: string }) => {
          assert.equal(error.code, 'invalid_api_key');
          return undefined;
        },
      );
    };

    it('gives the same key a new secret; the old one works for a day by default, and shows its last use', async () => {
      const { id, key } = await make();
      const rotated = await rotate(id);
      assert.match(rotated.key, /^sk-[A-Za-z0-9]{48}$/);
      assert.notEqual(rotated.key, key);
      const now = Math.floor(service.clock.now() / 1_000);
      assert.equal(rotated.old_key_expires_at, now + 86_400);
      assert.deepEqual([await tokenOf(key), await tokenOf(rotated.key)], [id, id]);
      await service.accounts.rotation.recordUse(
        (await service.database.kysely.selectFrom('old_key_secrets').select('id').execute()).map((each) => each.id),
      );
      const shown = await row(id);
      assert.deepEqual([shown.key_hint, shown.quota_limit], [rotated.key.slice(0, 7), 100]);
      assert.deepEqual(shown.old_keys, [{ key_hint: key.slice(0, 7), expires_at: now + 86_400, last_used_time: now }]);
      service.clock.advance(86_400_000);
      assert.deepEqual([await tokenOf(key), await tokenOf(rotated.key)], [undefined, id]);
      assert.deepEqual((await row(id)).old_keys, []);
      await service.accounts.removeExpired();
      const left = await service.database.kysely.selectFrom('old_key_secrets').select('id').execute();
      assert.deepEqual(left, []);
    });

    it('lets several old secrets work, ends them by request or at once, and with the key', async () => {
      const { id, key } = await make();
      const second = await rotate(id, { overlap_seconds: 604_800 });
      const third = await rotate(id, { overlap_seconds: 60 });
      assert.deepEqual(await Promise.all([key, second.key, third.key].map(tokenOf)), [id, id, id]);
      await ada.ok('DELETE', `/api/tokens/${id}/rotation`);
      assert.deepEqual(await Promise.all([key, second.key, third.key].map(tokenOf)), [undefined, undefined, id]);
      assert.equal((await ada.send('DELETE', `/api/tokens/${id}/rotation`)).body.success, false);
      const fourth = await rotate(id, { overlap_seconds: 0 });
      assert.equal(fourth.old_key_expires_at, null);
      assert.deepEqual(await Promise.all([third.key, fourth.key].map(tokenOf)), [undefined, id]);
      const fifth = await rotate(id);
      await ada.ok('DELETE', `/api/tokens/${id}`);
      assert.deepEqual(await Promise.all([fourth.key, fifth.key].map(tokenOf)), [undefined, undefined]);
    });

    it('is refused for keys of others and for wrong overlaps, and leaves the secret as it was', async () => {
      const { id, key } = await make();
      assert.equal((await bob.send('POST', `/api/tokens/${id}/rotate`, {})).body.success, false);
      for (const body of [
        { overlap_seconds: 604_801 },
        { overlap_seconds: -1 },
        { overlap_seconds: '60' },
        { days: 1 },
      ])
        assert.equal((await ada.send('POST', `/api/tokens/${id}/rotate`, body)).status, 400, JSON.stringify(body));
      assert.equal(await tokenOf(key), id);
      for (let count = 0; count < 10; count++) await rotate(id);
      assert.equal((await ada.send('POST', `/api/tokens/${id}/rotate`, {})).body.success, false);
      assert.equal(await tokenOf(key), id);
    });

    it('stores hashes only, and records who rotated which key', async () => {
      const { id, key } = await make();
      const rotated = await rotate(id);
      const { kysely } = service.database;
      const old = await kysely.selectFrom('old_key_secrets').selectAll().where('token_id', '=', id).execute();
      assert.deepEqual(
        old.map(({ hash }) => hash),
        [hashToken(key)],
      );
      const entries = await kysely.selectFrom('audit_log').selectAll().where('target', '=', `token:${id}`).execute();
      assert.deepEqual(
        entries.map(({ action, actor_id: actor }) => [action, actor]),
        [['token.rotate', ada.id]],
      );
      for (const table of ['tokens', 'old_key_secrets', 'audit_log', 'notifications'] as const) {
        const text = JSON.stringify(await kysely.selectFrom(table).selectAll().execute());
        for (const secret of [key, rotated.key]) assert.equal(text.includes(secret.slice(8)), false, table);
      }
    });

    it('keeps every secret that was given out when many rotate at once', async () => {
      const { id, key } = await make();
      const rotated = await Promise.all(Array.from({ length: 8 }, () => rotate(id)));
      assert.deepEqual(await Promise.all([key, ...rotated.map((each) => each.key)].map(tokenOf)), Array(9).fill(id));
      assert.equal((await row(id)).old_keys.length, 8);
    });
  });
});
