import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import type { LoginAttempt } from '../../src/contract/accounts.ts';
import { forEachDatabase } from '../for-each-database.ts';
import { type AccountsFixture, ROOT, startAccounts } from './accounts-fixture.ts';
import { PASSWORD, type TestUser } from './test-user-client.ts';

forEachDatabase((_name, open) => {
  let service: AccountsFixture;
  let root: TestUser;
  before(async () => {
    service = await startAccounts(await open());
    root = service.anonymous();
    await root.logIn(ROOT.username, ROOT.password);
  });
  after(() => service.close());

  const history = (person: TestUser, query = '') => person.ok<LoginAttempt[]>('GET', `/api/user/logins${query}`);
  const outcomes = (attempts: readonly LoginAttempt[]) => attempts.map(({ outcome }) => outcome);
  const endOf = async (person: TestUser) => (await person.ok('GET', '/api/user/session-end')).reason;

  it('lists logins and failed attempts of an account with their origin, newest first', async () => {
    await service.anonymous().register('watched');
    const elsewhere = service.anonymous('192.0.2.7');
    await elsewhere.fails(200, 'POST', '/api/user/login', { username: 'watched', password: 'wrong password' });
    const person = service.anonymous();
    const headers = { 'user-agent': `Firefox/140 ${'x'.repeat(400)}` };
    const { body } = await person.send('POST', '/api/user/login', { username: 'watched', password: PASSWORD }, headers);
    person.id = (body.data as { id: number }).id;
    await person.logIn('watched');
    const attempts = await history(person);
    assert.deepEqual(outcomes(attempts).sort(), ['success', 'success', 'wrong_password']);
    const failed = attempts.find(({ outcome }) => outcome === 'wrong_password');
    assert.deepEqual([failed?.address, failed?.known_source, failed?.two_step], ['192.0.2.7', false, false]);
    const logins = attempts.filter(({ outcome }) => outcome === 'success');
    assert.deepEqual(
      logins.map(({ known_source: isKnown }) => isKnown),
      [true, false],
    );
    assert.match(logins[1]?.user_agent ?? '', /^Firefox\/140 x{200,300}$/);
    assert.deepEqual(outcomes(await history(person, '?failed=true')), ['wrong_password']);
  });

  it('pages by key and shows an account only its own', async () => {
    const person = await service.newUser('paged');
    for (let login = 0; login < 3; login++) await person.logIn('paged');
    const first = await person.send('GET', '/api/user/logins?page_size=3');
    const { next } = first.body as { next?: string };
    const rest = await history(person, `?page_size=3&after=${next}`);
    assert.deepEqual([(first.body.data as unknown[]).length, rest.length, first.body.total], [3, 1, 4]);
    const foreign = await history(await service.newUser('other'), '?user_id=1');
    assert.equal(foreign.length, 1);
    await person.fails(400, 'GET', '/api/user/logins?failed=maybe');
    await person.fails(403, 'GET', '/api/admin/logins');
  });

  it('records a login to a disabled account, and deletes everything with a removed one', async () => {
    const person = await service.newUser('banned');
    await root.ok('PUT', `/api/admin/users/${person.id}`, { status: 2 });
    await service.anonymous().send('POST', '/api/user/login', { username: 'banned', password: PASSWORD });
    const path = `/api/admin/logins?user_id=${person.id}`;
    assert.deepEqual(outcomes(await root.ok<LoginAttempt[]>('GET', path)), ['disabled', 'success']);
    await root.ok('DELETE', `/api/admin/users/${person.id}`);
    assert.deepEqual(await root.ok('GET', path), []);
  });

  it('shows administrators the logins of accounts they manage, and not those of their equals', async () => {
    const [user, staff] = [await service.newUser('plain'), await service.newUser('staff')];
    await root.ok('PUT', `/api/admin/users/${staff.id}`, { role: 'admin' });
    await staff.logIn('staff');
    const seen = async (person: TestUser) =>
      new Set((await person.ok<LoginAttempt[]>('GET', '/api/admin/logins?page_size=50')).map(({ user_id: id }) => id));
    const [byStaff, byRoot] = [await seen(staff), await seen(root)];
    assert.deepEqual([byStaff.has(user.id), byStaff.has(staff.id), byStaff.has(root.id)], [true, false, false]);
    assert.deepEqual([byRoot.has(user.id), byRoot.has(staff.id), byRoot.has(root.id)], [true, true, true]);
    assert.deepEqual(await staff.ok('GET', `/api/admin/logins?user_id=${root.id}`), []);
  });

  it('tells the browser why its session ended, for a week', async () => {
    const person = await service.newUser('ended');
    assert.equal(await endOf(service.anonymous()), null);
    assert.equal(await endOf(person), null, 'it runs');
    const change = (body: object) => root.ok('PUT', `/api/admin/users/${person.id}`, body);
    const again = async (password = PASSWORD) => {
      const browser = service.anonymous();
      await browser.logIn('ended', password);
      return browser;
    };
    const other = await again();
    const [own] = await other.ok<{ id: number }[]>('GET', '/api/user/sessions?page=2&page_size=1');
    await other.ok('DELETE', `/api/user/sessions/${own?.id}`);
    assert.equal(await endOf(person), 'signed_out_elsewhere');
    const [current] = await root.ok<{ id: number }[]>('GET', `/api/admin/users/${person.id}/sessions`);
    await root.ok('DELETE', `/api/admin/users/${person.id}/sessions/${current?.id}`);
    assert.equal(await endOf(other), 'signed_out_by_administrator');
    const [changing, watching] = [await again(), await again()];
    await changing.ok('PUT', '/api/user/self', { password: 'the second password', original_password: PASSWORD });
    assert.deepEqual([await endOf(changing), await endOf(watching)], [null, 'password_changed']);
    await change({ password: PASSWORD });
    assert.equal(await endOf(changing), 'password_set_by_administrator');
    const promoted = await again();
    await change({ role: 'admin' });
    assert.equal(await endOf(promoted), 'role_changed');
    const [banned, leaving] = [await again(), await again()];
    await leaving.ok('POST', '/api/user/logout');
    assert.equal(await endOf(leaving), null, 'who signs out knows why');
    await change({ status: 2 });
    assert.equal(await endOf(banned), 'account_disabled');
    service.clock.advance(7 * 86_400_000);
    await service.accounts.removeExpired();
    assert.equal(await endOf(banned), null);
  });

  it('reports that a session has expired', async () => {
    const person = await service.newUser('idle');
    service.clock.advance(7 * 86_400_000);
    assert.equal(await endOf(person), 'expired');
    await root.logIn(ROOT.username, ROOT.password);
  });
});
