import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { type AccountsFixture, ROOT, startAccounts } from '../../../../test/accounts/accounts-fixture.ts';
import { PASSWORD, type TestUser } from '../../../../test/accounts/test-user.ts';
import { forEachDatabase } from '../../../../test/databases.ts';
import { formatMessage } from '../../../contract/messages/messages.ts';
import type { Notice } from '../../notifications/notifier.ts';
import { TokenStore } from '../tokens/token-store.ts';

forEachDatabase((_name, open) => {
  let service: AccountsFixture;
  let root: TestUser;
  const notices: Notice[] = [];
  before(async () => {
    notices.length = 0;
    service = await startAccounts(await open(), {
      dependencies: { notifier: { notify: async (_trx, notice) => void notices.push(notice) } },
    });
    root = service.anonymous();
    await root.logIn(ROOT.username, ROOT.password);
  });
  after(() => service.close());

  const audited = async (id: number, action: string) =>
    (await root.ok<Record<string, unknown>[]>('GET', `/api/admin/audit?target=user:${id}&action=${action}`)).map(
      ({ actor_id, before, after }) => ({ actor_id, before, after }),
    );

  it('tells an account of a password that an administrator set, and of nothing else', async () => {
    const ada = await service.newUser('ada');
    await root.ok('PUT', `/api/admin/users/${ada.id}`, { display_name: 'Ada' });
    assert.equal(notices.length, 0);
    await root.ok('PUT', `/api/admin/users/${ada.id}`, { password: 'another fine password' });
    assert.deepEqual(
      notices.map(({ userId, title }) => [userId, title.en]),
      [[ada.id, 'Your password was changed']],
    );
  });

  it('audits who removed which account, and keeps no name in it but the one it had', async () => {
    const bob = await service.newUser('bob');
    await root.ok('DELETE', `/api/admin/users/${bob.id}`);
    assert.deepEqual(await audited(bob.id, 'user.delete'), [
      { actor_id: root.id, before: { username: 'bob', role: 'user' }, after: null },
    ]);
  });

  it('gives a user name to one of two accounts that are renamed at once', async () => {
    const ids = [(await service.newUser('left')).id, (await service.newUser('right')).id];
    const answers = await Promise.all(
      ids.map((id) => root.send('PUT', `/api/admin/users/${id}`, { username: 'wanted' })),
    );
    const refused = answers.filter(({ body }) => !body.success).map(({ status, body }) => [status, body.message]);
    assert.deepEqual(refused, [[200, formatMessage('username_taken', 'en')]]);
  });

  it('ends the own session of a user who changes the password by a management token, as all others', async () => {
    const cyd = await service.newUser('cyd');
    const program = await cyd.withManagementToken();
    await program.ok('PUT', '/api/user/self', { password: 'another fine password', original_password: PASSWORD });
    await cyd.fails(401, 'GET', '/api/user/self');
    await program.fails(401, 'GET', '/api/user/self');
  });

  it('removes keys with their limits some time after they were revoked, the oldest first', async () => {
    const dee = await service.newUser('dee');
    const { kysely } = service.database;
    const store = new TokenStore(service.database);
    for (const [hash, revoked_at] of [
      ['newer', 7],
      ['older', 5],
      ['kept', 9],
      ['alive', null],
    ] as const) {
      const key = { user_id: dee.id, kind: 'sk', name: hash, hash, hint: '', models: null } as const;
      const row = await kysely
        .insertInto('tokens')
        .values({ ...key, created_at: 0, revoked_at })
        .returning('id')
        .executeTakeFirstOrThrow();
      await kysely.insertInto('token_limits').values({ token_id: row.id, quota_limit: 1, used: 0 }).execute();
    }
    const left = async () => {
      const rows = await kysely
        .selectFrom('tokens')
        .innerJoin('token_limits', 'token_limits.token_id', 'tokens.id')
        .select('name')
        .where('user_id', '=', dee.id)
        .orderBy('name')
        .execute();
      const limits = await kysely.selectFrom('token_limits').select('token_id').execute();
      assert.equal(limits.length, rows.length);
      return rows.map(({ name }) => name);
    };
    assert.equal(await store.deleteRevokedBefore(5, 10), 0);
    assert.equal(await store.deleteRevokedBefore(9, 1), 1);
    assert.deepEqual(await left(), ['alive', 'kept', 'newer']);
    assert.equal(await store.deleteRevokedBefore(9, 10), 1);
    assert.deepEqual(await left(), ['alive', 'kept']);
  });
});
