import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { type AccountsFixture, startAccounts } from '../../../test/accounts/accounts-fixture.ts';
import { PASSWORD, type TestUser } from '../../../test/accounts/test-user-client.ts';
import { forEachDatabase } from '../../../test/for-each-database.ts';

const NEW_PASSWORD = 'another fine password';

forEachDatabase((_name, open) => {
  let service: AccountsFixture;
  const ended: number[] = [];
  const notified: string[] = [];
  before(async () => {
    service = await startAccounts(await open(), {
      dependencies: {
        linkedLogins: [{ revokeAll: async (_trx, userId) => void ended.push(userId) }],
        notifier: { notify: async (_trx, notice) => void notified.push(`${notice.userId} ${notice.title.en}`) },
      },
    });
  });
  after(() => service.close());

  const rowOf = (person: TestUser) =>
    service.database.kysely.selectFrom('accounts').selectAll().where('id', '=', person.id).executeTakeFirst();

  it('returns exactly the documented keys of an account', async () => {
    const person = await service.newUser('keys');
    const self = await person.ok('GET', '/api/user/self');
    assert.deepEqual(Object.keys(self), [
      'id',
      'username',
      'display_name',
      'email',
      'role',
      'status',
      'quota',
      'used_quota',
      'request_count',
      'current_package_code',
      'package_expires_at',
      'has_2fa',
      'phone_bound',
      'messaging_bound',
      'spend_limit',
      'created_time',
    ]);
    assert.equal(self.created_time, Math.floor(service.clock.now() / 1000));
  });

  it('changes only the named fields', async () => {
    const person = await service.newUser('changing');
    await person.ok('PUT', '/api/user/self', { display_name: '李雷 😀' });
    await person.ok('PUT', '/api/user/self', { email: 'Changing@Example.org' });
    await person.ok('PUT', '/api/user/self', {});
    const self = await person.ok('GET', '/api/user/self');
    assert.equal(self.display_name, '李雷 😀');
    assert.equal(self.email, 'changing@example.org');
    await person.ok('PUT', '/api/user/self', { email: '' });
    assert.equal((await person.ok('GET', '/api/user/self')).email, '');
  });

  it('lets one of several accounts that enter the same e-mail concurrently log in with it, and reveals nothing to the others', async () => {
    const people = [];
    for (let index = 0; index < 5; index++) people.push(await service.newUser(`wants-${index}`));
    const answers = await Promise.all(
      people.map((person) => person.send('PUT', '/api/user/self', { email: 'one@example.org' })),
    );
    assert.deepEqual(
      answers.map((answer) => answer.status),
      [200, 200, 200, 200, 200],
    );
    assert.equal(answers.filter((answer) => answer.body.success).length, 5);
    const holders = await service.database.kysely
      .selectFrom('accounts')
      .select('id')
      .where('login_email', '=', 'one@example.org')
      .execute();
    assert.equal(holders.length, 1);
    for (const person of people) assert.equal((await person.ok('GET', '/api/user/self')).email, 'one@example.org');
  });

  it('ignores undocumented fields', async () => {
    const person = await service.newUser('assigning');
    const before = await rowOf(person);
    const forbidden = {
      id: 1,
      role: 'root',
      status: 2,
      quota: 1e9,
      quota_delta: 1e9,
      balance: 1e9,
      used_quota: 0,
      username: 'root',
      user_id: 1,
      created_at: 0,
      created_time: 0,
      removed_at: 1,
      hash: 'x',
      has_2fa: true,
      phone_bound: true,
      current_package_code: 'gold',
    };
    await person.ok('PUT', '/api/user/self', forbidden);
    await person.send('PUT', '/api/user/self', JSON.parse('{"constructor":{"prototype":{"role":"root"}}}'));
    await person.send('PUT', '/api/user/self', JSON.parse('{"__proto__":{"role":"root"},"display_name":"assigning"}'));
    assert.deepEqual(await rowOf(person), before);
    assert.equal((await person.ok('GET', '/api/user/self')).quota, 0);
    const made = service.anonymous();
    await made.ok('POST', '/api/user/register', { ...forbidden, username: 'assigned', password: PASSWORD });
    assert.equal((await made.logIn('assigned')).role, 'user');
  });

  it('rejects invalid values without changing anything', async () => {
    const person = await service.newUser('refusing');
    const before = await rowOf(person);
    const bad: unknown[] = [
      { display_name: '' },
      { display_name: 'x'.repeat(61) },
      { display_name: 'line\nbreak' },
      { display_name: 'turn\u202eed' },
      { display_name: 7 },
      { display_name: null },
      { email: 'nothing' },
      { email: 1 },
      { password: 'short', original_password: PASSWORD },
      { password: NEW_PASSWORD },
      { password: NEW_PASSWORD, original_password: '' },
      { password: 12345678, original_password: PASSWORD },
      [],
      'x',
      3,
    ];
    for (const body of bad) await person.fails(400, 'PUT', '/api/user/self', body);
    assert.deepEqual(await rowOf(person), before);
  });

  it('ends other sessions, pending logins, device sign-ins and the management token when the password changes', async () => {
    const here = await service.newUser('careful');
    const thief = service.anonymous();
    await thief.logIn('careful');
    const program = await thief.withManagementToken();
    const wrong = { password: NEW_PASSWORD, original_password: 'not it at all', display_name: 'Nope' };
    await here.fails(200, 'PUT', '/api/user/self', wrong);
    assert.equal((await thief.ok('GET', '/api/user/self')).display_name, 'careful');
    await program.ok('GET', '/api/user/self');
    ended.length = 0;
    await here.ok('PUT', '/api/user/self', { password: NEW_PASSWORD, original_password: PASSWORD });
    await here.ok('GET', '/api/user/self');
    await thief.fails(401, 'GET', '/api/user/self');
    await program.fails(401, 'GET', '/api/user/self');
    assert.deepEqual(ended, [here.id]);
    assert.deepEqual(notified, [
      `${here.id} A management access token was created`,
      `${here.id} Your password was changed`,
    ]);
    await thief.fails(200, 'POST', '/api/user/login', { username: 'careful', password: PASSWORD });
    await service.anonymous().logIn('careful', NEW_PASSWORD);
  });

  it('counts wrong current passwords by session, so that no other session is locked out', async () => {
    const person = await service.newUser('guessed');
    let evaluated = 0;
    for (let guess = 0; guess < 14; guess++) {
      const body = { password: NEW_PASSWORD, original_password: `guess number ${guess}` };
      if ((await person.send('PUT', '/api/user/self', body)).status === 200) evaluated++;
    }
    assert.equal(evaluated, 10);
    await person.fails(429, 'PUT', '/api/user/self', { password: NEW_PASSWORD, original_password: PASSWORD });
    await service.anonymous('10.1.1.1').ok('POST', '/api/user/login', { username: 'guessed', password: PASSWORD });
    service.clock.advance(15 * 60_000);
  });

  it('accepts only one of several concurrent changes with the same current password', async () => {
    const person = await service.newUser('undecided');
    const passwords = ['the first of them', 'the second of them', 'the third of them'];
    const answers = await Promise.all(
      passwords.map((password) => person.send('PUT', '/api/user/self', { password, original_password: PASSWORD })),
    );
    assert.equal(answers.filter((answer) => answer.body.success).length, 1);
  });

  it('leaves no session of the old password behind, whichever request comes first', async () => {
    const owner = await service.newUser('racing');
    const [changed, ...logins] = await Promise.all([
      owner.send('PUT', '/api/user/self', { password: NEW_PASSWORD, original_password: PASSWORD }),
      ...Array.from({ length: 4 }, async () => {
        const visitor = service.anonymous();
        await visitor.send('POST', '/api/user/login', { username: 'racing', password: PASSWORD });
        visitor.id = owner.id;
        return visitor;
      }),
    ]);
    assert.equal(changed.body.success, true);
    for (const visitor of logins) await visitor.fails(401, 'GET', '/api/user/self');
  });

  it('stores the time zone used to count days', async () => {
    const person = await service.newUser('zoned');
    assert.deepEqual(await person.ok('GET', '/api/user/settings'), { time_zone: 'UTC' });
    await person.ok('PUT', '/api/user/settings', { time_zone: 'Asia/Shanghai' });
    await person.ok('PUT', '/api/user/settings', {});
    assert.deepEqual(await person.ok('GET', '/api/user/settings'), { time_zone: 'Asia/Shanghai' });
    for (const time_zone of ['', 'Mars/Base', '+02:00', '../etc', 5, null, 'x'.repeat(65)]) {
      await person.fails(400, 'PUT', '/api/user/settings', { time_zone });
    }
  });

  it('rejects malformed bodies in the envelope', async () => {
    const person = await service.newUser('junk');
    const raw = (payload: string, type = 'application/json') =>
      service.fastify.inject({ method: 'POST', url: '/api/user/login', payload, headers: { 'content-type': type } });
    for (const payload of ['{', '', 'null', '[]', '"x"', `${'['.repeat(100)}${']'.repeat(100)}`]) {
      const answer = await raw(payload);
      assert.equal(answer.statusCode, 400, payload.slice(0, 10));
      assert.equal(answer.json().success, false);
    }
    assert.equal((await raw('username=a&password=b', 'application/x-www-form-urlencoded')).statusCode, 415);
    assert.equal((await raw('{"username":"a","password":"b"}', 'text/plain')).statusCode, 415);
    const crossSite = { 'sec-fetch-site': 'cross-site' };
    await person.fails(403, 'PUT', '/api/user/self', { display_name: 'X' }, crossSite);
    await person.fails(403, 'POST', '/api/user/login', { username: 'junk', password: PASSWORD }, crossSite);
  });
});
