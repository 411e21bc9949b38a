import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { type AccountsFixture, ROOT, startAccounts } from '../../../test/accounts/accounts-fixture.ts';
import type { TestUser } from '../../../test/accounts/test-user-client.ts';
import { forEachDatabase } from '../../../test/for-each-database.ts';
import type { Notice } from '../notifications/notifier.ts';

forEachDatabase((_name, open) => {
  let service: AccountsFixture;
  let root: TestUser;
  const notices: Notice[] = [];
  before(async () => {
    const notifier = { notify: async (_trx: unknown, notice: Notice) => void notices.push(notice) };
    service = await startAccounts(await open(), { dependencies: { notifier } });
    root = service.anonymous();
    await root.logIn(ROOT.username, ROOT.password);
  });
  after(() => service.close());

  const told = (id: number) => notices.filter(({ userId }) => userId === id).map(({ title }) => title.en);
  const audit = async (id: number, action: string) => {
    const rows = await root.ok<Record<string, unknown>[]>('GET', `/api/admin/audit?target=user:${id}&action=${action}`);
    return rows.map(({ actor_id, before: old, after: now }) => ({ actor: actor_id, old, now }));
  };

  it('T34: notifies the owner of a password or role set by an administrator, and of no other change', async () => {
    const person = await service.newUser('ada');
    await root.ok('PUT', `/api/admin/users/${person.id}`, { display_name: 'Countess', email: 'ada@example.org' });
    assert.deepEqual(told(person.id), []);
    await root.ok('PUT', `/api/admin/users/${person.id}`, { password: 'another fine password' });
    assert.deepEqual(told(person.id), ['Your password was changed']);
    await root.ok('PUT', `/api/admin/users/${person.id}`, { role: 'admin' });
    await root.ok('PUT', `/api/admin/users/${person.id}`, { role: 'admin' });
    assert.deepEqual(told(person.id), ['Your password was changed', 'Your role was changed']);
    notices.length = 0;
    await root.ok('PUT', `/api/admin/users/${person.id}`, { role: 'user', password: 'one more password' });
    assert.deepEqual(told(person.id), ['Your password was changed', 'Your role was changed'], 'both at once');
  });

  it('confirms an address only if an administrator enters one', async () => {
    const person = await service.newUser('eva');
    const confirmedAt = async () =>
      (
        await service.database.kysely
          .selectFrom('accounts')
          .select('email_confirmed_at')
          .where('id', '=', person.id)
          .executeTakeFirst()
      )?.email_confirmed_at;
    await person.ok('PUT', '/api/user/self', { email: 'eva@example.org' });
    await root.ok('PUT', `/api/admin/users/${person.id}`, { display_name: 'Eva' });
    assert.equal(await confirmedAt(), null);
    await root.ok('PUT', `/api/admin/users/${person.id}`, { email: 'eva@example.org' });
    assert.equal(await confirmedAt(), service.clock.now());
    await root.ok('PUT', `/api/admin/users/${person.id}`, { email: '' });
    assert.equal(await confirmedAt(), null);
  });

  it('records who removed an account, and its last state', async () => {
    const person = await service.newUser('gone');
    await root.ok('DELETE', `/api/admin/users/${person.id}`);
    assert.deepEqual(await audit(person.id, 'user.delete'), [
      { actor: root.id, old: { username: 'gone', role: 'user' }, now: null },
    ]);
  });

  it('records a new address with the previous one, and nothing if it stays the same', async () => {
    const person = await service.newUser('mover');
    for (const email of ['one@example.org', 'ONE@example.org', 'two@example.org', ''])
      await person.ok('PUT', '/api/user/self', { email });
    assert.deepEqual(await audit(person.id, 'self.email'), [
      { actor: person.id, old: { email: 'two@example.org' }, now: { email: null } },
      { actor: person.id, old: { email: 'one@example.org' }, now: { email: 'two@example.org' } },
      { actor: person.id, old: { email: null }, now: { email: 'one@example.org' } },
    ]);
  });

  it('shows the audit log and accounts unfiltered, and filtered by account or status', async () => {
    const person = await service.newUser('filtered');
    await person.withManagementToken();
    await root.ok('PUT', `/api/admin/users/${person.id}`, { status: 2 });
    const actors = async (query: string) =>
      new Set(
        (await root.ok<{ actor_id: number }[]>('GET', `/api/admin/audit?page_size=50${query}`)).map(
          (row) => row.actor_id,
        ),
      );
    assert.ok((await actors('')).size > 1);
    assert.deepEqual(await actors(`&actor_id=${person.id}`), new Set([person.id]));
    const statuses = async (query: string) =>
      new Set(
        (await root.ok<{ status: number }[]>('GET', `/api/admin/users?page_size=50${query}`)).map((row) => row.status),
      );
    assert.deepEqual(await statuses(''), new Set([1, 2]));
    assert.deepEqual(await statuses('&status=1'), new Set([1]));
    assert.deepEqual(await statuses('&status=2'), new Set([2]));
  });
});
