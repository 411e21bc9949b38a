import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { after, before, it } from 'node:test';
import { type AccountsFixture, ROOT, startAccounts } from '../../../test/accounts/accounts-fixture.ts';
import { PASSWORD, type TestUser } from '../../../test/accounts/test-user-client.ts';
import { forEachDatabase } from '../../../test/for-each-database.ts';
import { formatMessage } from '../../contract/messages/format-message.ts';
import { AccountStore } from './account-store.ts';

type Rows = Record<string, unknown>[];

forEachDatabase((_name, open) => {
  let service: AccountsFixture;
  let root: TestUser;
  let admin: TestUser;
  let count = 0;
  const ended: number[] = [];
  before(async () => {
    service = await startAccounts(await open(), {
      dependencies: {
        linkedLogins: [{ revokeAll: async (_trx, userId) => void ended.push(userId) }],
      },
    });
    root = service.anonymous();
    await root.logIn(ROOT.username, ROOT.password);
    admin = await staff('admin');
  });
  after(() => service.close());

  /** Creates and logs in an account with a role. */
  const staff = async (role: string): Promise<TestUser> => {
    const username = `${role}-${count++}`;
    await root.ok('POST', '/api/admin/users', { username, password: PASSWORD, role });
    const person = service.anonymous();
    await person.logIn(username);
    return person;
  };
  const get = async (id: number) => root.ok('GET', `/api/admin/users/${id}`);

  it('creates, shows, changes and removes an account', async () => {
    const body = { username: 'made-by-root', password: PASSWORD, quota: 1000, display_name: 'Made' };
    const { id } = await root.ok<{ id: number }>('POST', '/api/admin/users', body);
    const own = Object.keys(await root.ok('GET', '/api/user/self'));
    assert.deepEqual(Object.keys(await get(id)).sort(), [...own, 'concurrent_tasks', 'queued_tasks'].sort());
    assert.equal((await get(id)).quota, 1000);
    await root.ok('PUT', `/api/admin/users/${id}`, { quota_delta: -400, note: 'refund' });
    assert.equal((await get(id)).quota, 600);
    await root.fails(200, 'PUT', `/api/admin/users/${id}`, { quota_delta: -601, display_name: 'Not this' });
    const row = await get(id);
    assert.deepEqual([row.quota, row.display_name], [600, 'Made']);
    await root.ok('PUT', `/api/admin/users/${id}`, { quota: 50 });
    await root.ok('PUT', `/api/admin/users/${id}`, { username: 'renamed-by-root', email: 'r@example.org' });
    assert.deepEqual([(await get(id)).quota, (await get(id)).username], [50, 'renamed-by-root']);
    await root.fails(400, 'PUT', `/api/admin/users/${id}`, { quota: 1, quota_delta: 1 });
    const poor = { username: 'made-without-quota', password: PASSWORD };
    const made = await root.ok<{ id: number }>('POST', '/api/admin/users', poor);
    assert.equal((await get(made.id)).quota, 0);
    await root.ok('DELETE', `/api/admin/users/${id}`);
    await root.fails(200, 'GET', `/api/admin/users/${id}`);
    await root.fails(200, 'DELETE', `/api/admin/users/${id}`);
    await root.ok('POST', '/api/admin/users', { username: 'renamed-by-root', password: PASSWORD });
  });

  it('sets a wallet to the requested quota despite concurrent changes', async () => {
    const { id } = await staff('user');
    for (let round = 0; round < 5; round++) {
      const changes = [700, 500, 900].map((quota) => root.ok('PUT', `/api/admin/users/${id}`, { quota }));
      await Promise.all(changes);
      assert.ok([700, 500, 900].includes(Number((await get(id)).quota)), String((await get(id)).quota));
      await root.ok('PUT', `/api/admin/users/${id}`, { quota: 0 });
    }
  });

  it('changes a wallet once per Idempotency-Key, however often the request is repeated', async () => {
    const { id } = await staff('user');
    const pay = (quota_delta: number, key = 'pay_1', to = id) =>
      root.send('PUT', `/api/admin/users/${to}`, { quota_delta }, { 'idempotency-key': key });
    const answers = await Promise.all(Array.from({ length: 8 }, () => pay(700)));
    assert.deepEqual([...new Set(answers.map(({ body }) => body.success))], [true]);
    assert.equal((await get(id)).quota, 700);
    const other = await pay(900);
    assert.deepEqual([other.body.success, /used with another request/.test(other.body.message ?? '')], [false, true]);
    assert.equal((await pay(-701, 'pay_2')).body.success, false);
    assert.equal((await pay(-700, 'pay_2')).body.success, true, 'a refused change leaves its key free');
    const { id: another } = await staff('user');
    await pay(700, 'pay_1', another);
    assert.deepEqual([(await get(id)).quota, (await get(another)).quota], [0, 700]);
    assert.match((await pay(1, 'two words')).body.message ?? '', /Idempotency-Key must be/);
    const set = () => root.send('PUT', `/api/admin/users/${id}`, { quota: 500 }, { 'idempotency-key': 'set_1' });
    assert.equal((await set()).body.success, true);
    await pay(-20, 'between');
    assert.equal((await set()).body.success, true, 'a repeated request, although the balance has changed');
    assert.equal((await get(id)).quota, 480);
  });

  it('keeps the session of a root who changes their own password, and ends the others', async () => {
    const [here, elsewhere] = [await staff('root'), service.anonymous()];
    const { username } = await here.ok('GET', '/api/user/self');
    await elsewhere.logIn(String(username));
    await here.ok('PUT', `/api/admin/users/${here.id}`, { password: 'another fine password' });
    await here.ok('GET', '/api/user/self');
    await elsewhere.fails(401, 'GET', '/api/user/self');
    await root.ok('DELETE', `/api/admin/users/${here.id}`);
  });

  it('rejects every change by an administrator who was disabled or demoted in the meantime', async () => {
    const [disabled, lowered, below] = [await staff('admin'), await staff('admin'), await staff('user')];
    const { access } = service.accounts;
    const manage = (actorId: number) =>
      service.database.transaction((trx) => access.assertCanManage(trx, actorId, below.id));
    await manage(disabled.id);
    await root.ok('PUT', `/api/admin/users/${disabled.id}`, { status: 2 });
    await root.ok('PUT', `/api/admin/users/${lowered.id}`, { role: 'user' });
    for (const { id } of [disabled, lowered]) await assert.rejects(manage(id), { code: 'rank_too_low' });
  });

  it('rejects what an administrator began before being disabled or demoted', async () => {
    const [disabled, lowered, below] = [await staff('root'), await staff('root'), await staff('user')];
    await root.ok('PUT', `/api/admin/users/${disabled.id}`, { status: 2 });
    await root.ok('PUT', `/api/admin/users/${lowered.id}`, { role: 'admin' });
    const { userAdministration: administration } = service.accounts;
    const origin = { address: '127.0.0.1', requestId: 'r' };
    const callerOf = ({ id }: TestUser) => ({ kind: 'session', userId: id, role: 'root', sessionId: 1 }) as const;
    const newcomer = { password: PASSWORD, quota: 0 };
    for (const late of [disabled, lowered].map(callerOf)) {
      const username = `late-${late.userId}`;
      const begun = [
        () => administration.create(late, { ...newcomer, username, role: 'root' }, origin),
        () => administration.update(late, below.id, { role: 'root', password: 'taken-over-1' }, origin),
        () => administration.update(late, root.id, { password: 'taken-over-1' }, origin),
        () => administration.remove(late, admin.id, origin),
        () => administration.resetSecondFactors(late, root.id, origin),
      ];
      for (const begin of begun) await assert.rejects(begin, { code: 'rank_too_low' });
      const { body } = await root.send('GET', `/api/admin/users?q=${username}`);
      assert.equal(body.total, 0);
    }
    assert.equal((await get(below.id)).role, 'user');
  });

  it('rejects a request whose sender was demoted or signed out while it was being sent', async () => {
    const [lowered, leaver, below] = [await staff('root'), await staff('user'), await staff('user')];
    /** Sends the body once `meanwhile` has ended. */
    const sendSlowly = async (sender: TestUser, url: string, meanwhile: () => Promise<unknown>) => {
      const isRead = Promise.withResolvers<void>();
      const payload = new Readable({ read: () => isRead.resolve() });
      const answer = service.fastify.inject({
        method: 'PUT',
        url,
        headers: {
          cookie: `session=${sender.cookies.get('session')}`,
          'service-api-user': String(sender.id),
          'content-type': 'application/json',
        },
        payload,
      });
      await isRead.promise;
      await meanwhile();
      payload.push(JSON.stringify({ display_name: 'Changed too late' }));
      payload.push(null);
      return (await answer).statusCode;
    };
    const managed = `/api/admin/users/${below.id}`;
    assert.equal(await sendSlowly(root, managed, async () => {}), 200);
    await root.ok('PUT', managed, { display_name: 'Before' });
    const demote = () => root.ok('PUT', `/api/admin/users/${lowered.id}`, { role: 'admin' });
    assert.equal(await sendSlowly(lowered, managed, demote), 401);
    const signOut = () => root.ok('PUT', `/api/admin/users/${leaver.id}`, { password: 'a new one by root' });
    assert.equal(await sendSlowly(leaver, '/api/user/self', signOut), 401);
    for (const { id } of [below, leaver]) assert.notEqual((await get(id)).display_name, 'Changed too late');
  });

  it('returns the names of the requested accounts only', async () => {
    const [one, two] = [await staff('user'), await staff('user')];
    const rows = await root.ok<Rows>('GET', `/api/admin/users?ids=${one.id},${two.id},999999`);
    assert.deepEqual(
      rows.map(({ id }) => id),
      [two.id, one.id],
    );
    for (const ids of ['', '0', '1,', 'x', '1,2;3', Array(51).fill('7').join()])
      await root.fails(400, 'GET', `/api/admin/users?ids=${ids}`);
  });

  it('refuses to manage accounts of the same or a higher rank', async () => {
    const other = await staff('admin');
    const user = await staff('user');
    for (const target of [root.id, other.id, admin.id]) {
      for (const change of [{ display_name: 'x' }, { password: 'taken-over-1' }, { status: 2 }, { role: 'user' }, {}]) {
        await admin.fails(403, 'PUT', `/api/admin/users/${target}`, change);
      }
      await admin.fails(403, 'DELETE', `/api/admin/users/${target}`);
    }
    for (const role of ['admin', 'root']) {
      await admin.fails(403, 'PUT', `/api/admin/users/${user.id}`, { role });
      await admin.fails(403, 'POST', '/api/admin/users', { username: `no-${role}`, password: PASSWORD, role });
    }
    await admin.ok('PUT', `/api/admin/users/${user.id}`, { display_name: 'By the admin' });
    assert.equal((await get(root.id)).role, 'root');
    for (const { method, path, policy } of service.routes.endpoints) {
      if (policy !== 'admin' && policy !== 'root') continue;
      await user.fails(403, method, path.replace(':id', String(user.id)), method === 'GET' ? undefined : {});
    }
  });

  it('keeps the last root, even when two roots demote each other concurrently', async () => {
    for (const change of [{ role: 'admin' }, { status: 2 }]) {
      assert.match(await root.fails(200, 'PUT', `/api/admin/users/${root.id}`, change), /last root/);
    }
    assert.match(await root.fails(200, 'DELETE', `/api/admin/users/${root.id}`), /last root/);
    const second = await staff('root');
    const [one, two] = await Promise.all([
      root.send('PUT', `/api/admin/users/${second.id}`, { role: 'user' }),
      second.send('PUT', `/api/admin/users/${root.id}`, { role: 'user' }),
    ]);
    const lowered = [one, two].filter((answer) => answer.body.success);
    assert.equal(lowered.length, 1);
    const roots = await service.database.kysely
      .selectFrom('accounts')
      .select('id')
      .where('role', '=', 'root')
      .where('status', '=', 1)
      .execute();
    assert.equal(roots.length, 1);
    if (two.body.success) {
      await second.ok('PUT', `/api/admin/users/${root.id}`, { role: 'root' });
      await root.logIn(ROOT.username, ROOT.password);
      await root.ok('PUT', `/api/admin/users/${second.id}`, { role: 'user' });
    }
  });

  it('ends logins on a change of password, role or status, and on no other', async () => {
    for (const change of [{ password: 'set by root 1' }, { role: 'admin' }, { status: 2 }]) {
      const person = await staff('user');
      ended.length = 0;
      await root.ok('PUT', `/api/admin/users/${person.id}`, { display_name: 'Same', status: 1, role: 'user' });
      const program = await person.withManagementToken();
      await root.ok('PUT', `/api/admin/users/${person.id}`, { display_name: 'Same again', status: 1, role: 'user' });
      await person.ok('GET', '/api/user/self');
      await program.ok('GET', '/api/user/self');
      assert.deepEqual(ended, []);
      await root.ok('PUT', `/api/admin/users/${person.id}`, change);
      await person.fails(401, 'GET', '/api/user/self');
      await program.fails(401, 'GET', '/api/user/self');
      assert.deepEqual(ended, [person.id]);
      await root.ok('PUT', `/api/admin/users/${person.id}`, { status: 1 });
      await program.fails(401, 'GET', '/api/user/self');
    }
  });

  it('ends one session of an account of lower rank, and records it in the audit log', async () => {
    const user = await staff('user');
    const phone = service.anonymous();
    await phone.logIn(`user-${count - 1}`);
    const path = `/api/admin/users/${user.id}/sessions`;
    const [newer, older] = await admin.ok<{ id: number; current: boolean }[]>('GET', path);
    assert.ok(newer !== undefined && older !== undefined && newer.id > older.id);
    assert.deepEqual([newer.current, older.current], [false, false]);
    // A session cannot be ended through the id of another account.
    await admin.fails(200, 'DELETE', `/api/admin/users/${(await staff('user')).id}/sessions/${newer.id}`);
    await admin.ok('DELETE', `${path}/${newer.id}`);
    assert.equal((await phone.send('GET', '/api/user/self')).status, 401);
    await user.ok('GET', '/api/user/self');
    await admin.fails(200, 'DELETE', `${path}/${newer.id}`);
    assert.deepEqual(
      (await admin.ok<{ id: number }[]>('GET', path)).map(({ id }) => id),
      [older.id],
    );
    const log = await root.ok<Rows>('GET', `/api/admin/audit?target=user:${user.id}&action=user.session_end`);
    assert.deepEqual(
      log.map(({ actor_id, before }) => [actor_id, (before as { session: number }).session]),
      [[admin.id, newer.id]],
    );
  });

  it('shows an administrator the sessions of lower ranks only', async () => {
    for (const { id } of [admin, root, await staff('admin')])
      await admin.fails(403, 'GET', `/api/admin/users/${id}/sessions`);
    await root.ok('GET', `/api/admin/users/${admin.id}/sessions`);
    await admin.fails(200, 'GET', '/api/admin/users/999999/sessions');
    await (await staff('user')).fails(403, 'GET', `/api/admin/users/${admin.id}/sessions`);
  });

  it('lists with filters and shows no secret', async () => {
    const person = await service.newUser('to-be-found');
    const { access_token } = await person.ok('POST', '/api/user/token');
    await person.ok('PUT', '/api/user/self', { email: 'found@example.org', display_name: '100% Über_Name' });
    const find = async (query: string) => {
      const { body } = await admin.send('GET', `/api/admin/users?${query}`);
      assert.equal(body.success, true, query);
      return body as { data: Rows; total: number };
    };
    for (const query of ['q=be-fou', 'q=FOUND%40ex', 'q=100%25', 'q=ber_n']) {
      assert.deepEqual(
        (await find(query)).data.map((row) => row.id),
        [person.id],
        query,
      );
    }
    assert.deepEqual((await find('q=%25')).total, 1);
    assert.deepEqual((await find("q=' or 1=1 --")).total, 0);
    assert.deepEqual(
      (await find('role=root&status=1')).data.map((row) => row.username),
      ['root'],
    );
    assert.equal((await find('page_size=2')).data.length, 2);
    const all = JSON.stringify([await find('page_size=50'), await admin.send('GET', '/api/admin/audit?page_size=50')]);
    for (const secret of [
      access_token,
      root.cookies.get('session'),
      PASSWORD,
      ROOT.password,
      'argon2id',
      'taken-over-1',
    ]) {
      assert.ok(!all.includes(String(secret)));
    }
    const disabled = (await admin.send('GET', '/api/admin/users?status=2')).body.data as Rows;
    assert.ok(disabled.every(({ status }) => status === 2));
    await admin.fails(400, 'GET', '/api/admin/users?role=god');
    await admin.fails(400, 'GET', '/api/admin/users?status=3');
  });

  it('records in the audit log who did what', async () => {
    const person = await staff('user');
    await root.ok(
      'PUT',
      `/api/admin/users/${person.id}`,
      { role: 'admin', password: 'set by root 1', note: 'promoted' },
      {
        'x-request-id': 'promotion-1',
      },
    );
    const { body } = await root.send('GET', `/api/admin/audit?target=user:${person.id}&action=user.update`);
    assert.equal(body.total, 1);
    const [row] = body.data as Rows;
    assert.deepEqual(
      [row?.actor_id, row?.before, row?.after, row?.request_id, row?.address],
      [
        root.id,
        { role: 'user' },
        { role: 'admin', password: '[changed]', note: 'promoted' },
        'promotion-1',
        '127.0.0.1',
      ],
    );
    const own = await root.send('GET', `/api/admin/audit?actor_id=${root.id}&page_size=1`);
    assert.equal((own.body.data as Rows).length, 1);
    const other = await service.newUser('audited');
    await other.withManagementToken();
    const byOther = await root.send('GET', `/api/admin/audit?actor_id=${other.id}`);
    assert.ok((byOther.body.total ?? 0) > 0);
    assert.ok((byOther.body.data as Rows).every(({ actor_id }) => actor_id === other.id));
    await root.fails(400, 'GET', '/api/admin/audit?actor_id=1%20or%201');
    const forged = await staff('user');
    await forged.ok('POST', '/api/user/token', undefined, { 'x-request-id': 'a b\u001b[31m"' });
    const { body: after } = await root.send('GET', `/api/admin/audit?target=user:${forged.id}&action=self.user-token`);
    assert.match(String((after.data as Rows)[0]?.request_id), /^[A-Za-z0-9_-]{1,64}$/);
  });

  it('rejects invalid values', async () => {
    const person = await staff('user');
    const before = await get(person.id);
    const url = `/api/admin/users/${person.id}`;
    for (const change of [
      { status: 0 },
      { status: '1' },
      { status: 3 },
      { role: 'god' },
      { role: null },
      { quota: -1 },
      { quota: 1.5 },
      { quota_delta: '5' },
      { quota_delta: 1e16 },
      { password: 'short' },
      { username: 'No' },
      { display_name: '' },
      { email: 'x' },
      [],
    ]) {
      await root.fails(400, 'PUT', url, change);
    }
    await root.fails(200, 'PUT', url, { username: ROOT.username });
    assert.deepEqual(await get(person.id), before);
  });

  it('assigns a user name to one of two accounts renamed concurrently', async () => {
    const ids = [(await service.newUser('left')).id, (await service.newUser('right')).id];
    const answers = await Promise.all(
      ids.map((id) => root.send('PUT', `/api/admin/users/${id}`, { username: 'wanted' })),
    );
    const refused = answers.filter(({ body }) => !body.success).map(({ status, body }) => [status, body.message]);
    assert.deepEqual(refused, [[200, formatMessage('username_taken', 'en')]]);
  });

  it('names the e-mail if another account takes it while an administrator enters it', async (test) => {
    const [left, right] = [await service.newUser('one-mail'), await service.newUser('same-mail')];
    await root.ok('PUT', `/api/admin/users/${left.id}`, { email: 'both@example.org' });
    test.mock.method(AccountStore.prototype, 'isLoginEmailTaken', async () => false, { times: 1 });
    assert.equal(
      await root.fails(200, 'PUT', `/api/admin/users/${right.id}`, { email: 'both@example.org' }),
      formatMessage('email_taken', 'en'),
    );
  });

  it('ends all sessions of a user who changes the password with a management token', async () => {
    const cyd = await service.newUser('cyd');
    const program = await cyd.withManagementToken();
    await program.ok('PUT', '/api/user/self', { password: 'another fine password', original_password: PASSWORD });
    await cyd.fails(401, 'GET', '/api/user/self');
    await program.fails(401, 'GET', '/api/user/self');
  });
});
