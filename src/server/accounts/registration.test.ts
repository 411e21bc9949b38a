import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { type AccountsFixture, ROOT, startAccounts } from '../../../test/accounts/accounts-fixture.ts';
import { PASSWORD } from '../../../test/accounts/test-user-client.ts';
import { forEachDatabase } from '../../../test/for-each-database.ts';
import { DAY_MS } from '../../contract/time-units.ts';
import { PASSWORD_COST } from './passwords.ts';

/** Passwords at the cost of production, for the tests of times, of the queue of hashes and of stored hashes. */
const REAL_COST = { dependencies: { passwordCost: PASSWORD_COST } };
const QUARTER_MS = 15 * 60_000;

forEachDatabase((name, open) => {
  let service: AccountsFixture;
  /** The same accounts in a second process that hashes at the real cost. */
  let costly: AccountsFixture;
  let addresses = 0;
  /** A client with its own IP, so that tests do not share limits by IP. */
  const newClient = (of = service) => of.anonymous(`10.0.${addresses >> 8}.${addresses++ & 255}`);
  before(async () => {
    service = await startAccounts(await open());
    costly = await startAccounts(service.database, { ...REAL_COST, clock: service.clock });
  });
  after(async () => {
    await costly.fastify.close();
    await service.close();
  });

  it('leads a user from registration to an API token', async () => {
    const ada = newClient();
    const made = await ada.ok('POST', '/api/user/register', {
      username: 'ada',
      password: PASSWORD,
      email: 'Ada@Example.org',
    });
    assert.deepEqual(Object.keys(made).sort(), ['id', 'username']);
    assert.deepEqual(await ada.logIn('ada'), { id: made.id, username: 'ada', display_name: 'ada', role: 'user' });
    const self = await ada.ok('GET', '/api/user/self');
    assert.equal(self.email, 'ada@example.org');
    const { key } = await ada.ok<{ key: string }>('POST', '/api/tokens', { name: 'laptop' });
    const headers = { authorization: `Bearer ${key}` };
    const caller = await service.accounts.authenticator.model({ headers, session: undefined, clientIp: '127.0.0.1' });
    assert.equal(caller.userId, made.id);
  });

  it('accepts an e-mail in any case for login', async () => {
    const person = newClient();
    assert.equal((await person.logIn('ADA@example.ORG')).username, 'ada');
  });

  it('accepts an e-mail in full-width characters, as input methods write them, for registration and login', async () => {
    const typed = 'ｌｉ.wei@example．com';
    const person = newClient();
    await person.ok('POST', '/api/user/register', { username: 'li-wei', password: PASSWORD, email: typed });
    for (const email of [typed, 'li.wei@example.com']) assert.equal((await person.logIn(email)).username, 'li-wei');
    assert.equal((await person.ok('GET', '/api/user/self')).email, 'li.wei@example.com');
    const other = { username: 'two-signs', password: PASSWORD, email: 'a＠b@example.com' };
    assert.equal((await newClient().send('POST', '/api/user/register', other)).status, 400);
  });

  it('rejects malformed names, passwords and e-mails', async () => {
    const person = newClient();
    const good = { username: 'good-name', password: PASSWORD };
    const bad: unknown[] = [
      { ...good, username: 'ab' },
      { ...good, username: 'a'.repeat(31) },
      { ...good, username: 'Big' },
      { ...good, username: 'sp ace' },
      { ...good, username: 'é'.repeat(5) },
      { ...good, username: 'nul\u0000l' },
      { ...good, username: 12345 },
      { ...good, username: null },
      { ...good, username: ['abc'] },
      { ...good, username: 'abc\n' },
      { ...good, password: '1234567' },
      { ...good, password: 'x'.repeat(129) },
      { ...good, password: 12345678 },
      { ...good, password: '\ud800'.repeat(8) },
      { ...good, email: 'nobody' },
      { ...good, email: 'a@b@c' },
      { ...good, email: 'a b@c' },
      { ...good, email: `${'a'.repeat(65)}@b` },
      { ...good, email: 7 },
      { username: 'good-name' },
      { password: PASSWORD },
      [],
      'text',
      null,
    ];
    for (const body of bad) await person.fails(400, 'POST', '/api/user/register', body);
    for (const password of ['😀🎈🎁🎉🎂🎃🎄🎆', 'correct horse '.repeat(10).slice(0, 128), '密码应当足够复杂']) {
      const username = `pass-${Buffer.from(password).toString('hex').slice(0, 8)}`;
      await person.register(username, password);
      await person.logIn(username, password);
    }
  });

  it('assigns a name once and a login e-mail once under concurrent registrations', async () => {
    const answers = await Promise.all(
      Array.from({ length: 12 }, (_, index) =>
        newClient().send('POST', '/api/user/register', {
          username: index % 2 === 0 ? 'wanted' : `wanted-${index}`,
          password: PASSWORD,
          email: 'wanted@example.org',
        }),
      ),
    );
    for (const { status } of answers) assert.equal(status, 200);
    const names = await service.database.kysely
      .selectFrom('accounts')
      .select(['username', 'email', 'login_email'])
      .where('username', 'like', 'wanted%')
      .execute();
    // One of six got the name; the other six names were free, and no response reveals that the e-mail is in use.
    assert.equal(answers.filter((answer) => answer.body.success).length, 7);
    assert.equal(names.length, 7);
    for (const { email } of names) assert.equal(email, 'wanted@example.org');
    assert.equal(names.filter(({ login_email }) => login_email === 'wanted@example.org').length, 1);
    const taken = await newClient().fails(200, 'POST', '/api/user/register', { username: 'ada', password: PASSWORD });
    assert.match(taken, /taken/);
  });

  it('T23: responds to a registration alike whether or not the e-mail is in use', async () => {
    await newClient().ok('POST', '/api/user/register', {
      username: 'mail-owner',
      password: PASSWORD,
      email: 'owner@example.org',
    });
    const register = async (username: string, email: string) => {
      const person = newClient();
      const answer = await person.send('POST', '/api/user/register', { username, password: PASSWORD, email });
      const { 'x-request-id': _id, date: _date, ...headers } = answer.headers;
      await person.logIn(username);
      const {
        id: _userId,
        username: _name,
        display_name: _display,
        ...self
      } = await person.ok('GET', '/api/user/self');
      return { status: answer.status, keys: Object.keys(answer.body.data as object), headers, self };
    };
    const used = await register('mail-prober-1', 'owner@example.org');
    const free = await register('mail-prober-2', 'free@example.org');
    assert.deepEqual({ ...used, self: { ...used.self, email: '' } }, { ...free, self: { ...free.self, email: '' } });
    assert.equal((await newClient().logIn('owner@example.org')).username, 'mail-owner');
  });

  it('T23: responds alike to unknown accounts and wrong passwords', async () => {
    const [wrong, unknown, unknownMail] = [
      await newClient().send('POST', '/api/user/login', { username: 'ada', password: 'not this one' }),
      await newClient().send('POST', '/api/user/login', { username: 'nobody-here', password: 'not this one' }),
      await newClient().send('POST', '/api/user/login', { username: 'no@body.here', password: 'not this one' }),
    ];
    const shown = ({ status, body, headers }: typeof wrong) => {
      const { 'x-request-id': _id, date: _date, ...rest } = headers;
      return { status, body, rest };
    };
    assert.equal(wrong.body.success, false);
    assert.equal(wrong.status, 200);
    assert.deepEqual(shown(unknown), shown(wrong));
    assert.deepEqual(shown(unknownMail), shown(wrong));
  });

  // Hashing and its queue do not use the database, so one database suffices for these hashes at the real cost.
  if (name === 'sqlite') {
    it('takes as long for unknown accounts as for wrong passwords', async () => {
      await newClient(costly).logIn('ada');
      const times = { known: 0, unknown: 0 };
      for (let round = 0; round < 8; round++) {
        for (const kind of ['known', 'unknown'] as const) {
          const started = performance.now();
          const username = kind === 'known' ? 'ada' : `unknown-${round}`;
          await newClient(costly).send('POST', '/api/user/login', { username, password: 'not this one' });
          times[kind] += performance.now() - started;
        }
      }
      service.clock.advance(QUARTER_MS);
      // Without the dummy hash, logins of unknown accounts would be tens of times faster, which machine load cannot
      // explain.
      assert.ok(times.unknown > times.known / 3, JSON.stringify(times));
    });

    it('limits the hashes in flight and asks further clients to retry later', async () => {
      await newClient(costly).logIn('ada');
      const answers = await Promise.all(
        Array.from({ length: 90 }, () =>
          newClient(costly).send('POST', '/api/user/login', { username: 'ada', password: PASSWORD }),
        ),
      );
      const statuses = new Set(answers.map((answer) => answer.status));
      assert.deepEqual(
        [...statuses].sort((one, other) => one - other),
        [200, 503],
      );
      for (const answer of answers) {
        if (answer.status === 503) assert.ok(Number(answer.headers['retry-after']) > 0);
        else assert.equal(answer.body.success, true);
      }
      assert.ok(answers.filter((answer) => answer.status === 200).length >= 64);
    });

    it('T24: rejects guesses beyond the limit immediately while all hashing permits are taken', async () => {
      const address = '10.97.0.1';
      const guess = (n: number) =>
        costly.anonymous(address).send('POST', '/api/user/login', { username: `nobody-${n}`, password: 'wrong' });
      for (let n = 0; n < 30; n++) await guess(n);
      const person = newClient(costly);
      await person.logIn('ada');
      const body = { password: 'another fine password', original_password: 'wrong' };
      for (let n = 0; n < 10; n++) await person.send('PUT', '/api/user/self', body);
      const flood = Array.from({ length: 90 }, () =>
        newClient(costly).send('POST', '/api/user/login', { username: 'ada', password: PASSWORD }),
      );
      // Without the check before queueing these requests would get 503, or wait for a hash.
      assert.equal((await guess(30)).status, 429);
      assert.equal((await person.send('PUT', '/api/user/self', body)).status, 429);
      await Promise.all(flood);
      service.clock.advance(QUARTER_MS);
    });
  }

  it('checks ten wrong passwords of an account in a quarter of an hour, name and e-mail together', async () => {
    await newClient().ok('POST', '/api/user/register', {
      username: 'grace',
      password: PASSWORD,
      email: 'grace@example.org',
    });
    const answers = [];
    for (let batch = 0; batch < 5; batch++) {
      const tries = Array.from({ length: 8 }, (_, index) =>
        newClient().send('POST', '/api/user/login', {
          username: index % 2 === 0 ? 'grace' : 'grace@example.org',
          password: `wrong ${batch} ${index}`,
        }),
      );
      answers.push(...(await Promise.all(tries)));
    }
    const refused = answers.filter((answer) => answer.status === 429);
    assert.equal(answers.length - refused.length, 10);
    assert.ok(Number(refused[0]?.headers['retry-after']) > 0);
    const right = { username: 'grace', password: PASSWORD };
    await newClient().fails(429, 'POST', '/api/user/login', right);
    service.clock.advance(QUARTER_MS);
    await newClient().ok('POST', '/api/user/login', right);
  });

  it('checks thirty wrong passwords from an IP, and refunds none after a success', async () => {
    const address = '10.99.0.1';
    let evaluated = 0;
    for (let round = 0; round < 40; round++) {
      // Forgeable headers do not change the IP a client counts as.
      const forged = { 'x-forwarded-for': `198.51.100.${round}`, 'x-real-ip': `198.51.100.${round}` };
      const body = { username: `victim-${round}`, password: 'wrong password' };
      const { status } = await service.anonymous(address).send('POST', '/api/user/login', body, forged);
      if (status === 200) evaluated++;
      if (round === 20) await service.anonymous(address).logIn('ada');
    }
    assert.equal(evaluated, 30);
    await service.anonymous('10.99.0.2').logIn('ada');
    service.clock.advance(QUARTER_MS);
  });

  it('lets an IP register a hundred times an hour, whatever the outcome', async () => {
    const address = '10.98.0.1';
    const accounts = async () => (await service.database.kysely.selectFrom('accounts').select('id').execute()).length;
    const register = (username: string, from = address) =>
      service.anonymous(from).send('POST', '/api/user/register', { username, password: PASSWORD });
    const names = ['first-here', ...Array.from({ length: 105 }, () => 'ada')];
    const answers = await Promise.all(names.map((name) => register(name)));
    assert.equal(answers.filter((answer) => answer.status === 200).length, 100);
    const made = await accounts();
    const refused = await register('one-too-many');
    assert.equal(refused.status, 429);
    assert.deepEqual(Object.keys(refused.body).sort(), ['message', 'success']);
    assert.equal(refused.body.success, false);
    const seconds = Number(refused.headers['retry-after']);
    assert.ok(seconds > 3500 && seconds <= 3600, String(seconds));
    assert.equal(await accounts(), made);
    assert.equal((await register('from-elsewhere', '10.98.0.2')).body.success, true);
    service.clock.advance(seconds * 1000);
    assert.equal((await register('one-too-many')).body.success, true);
  });

  it('counts a /64 of IPv6 as one IP', async () => {
    let evaluated = 0;
    for (let round = 0; round < 34; round++) {
      const body = { username: `six-${round}`, password: 'wrong password' };
      const answer = await service.anonymous(`2001:db8:1:2:${round}::1`).send('POST', '/api/user/login', body);
      if (answer.status === 200) evaluated++;
    }
    assert.equal(evaluated, 30);
    service.clock.advance(QUARTER_MS);
  });

  it('T28: sets a cookie that scripts cannot read, other sites cannot send and later logins do not inherit', async () => {
    const person = newClient();
    person.cookies.set('session', `rgs_${'A'.repeat(43)}`);
    const first = await person.send('POST', '/api/user/login', { username: 'ada', password: PASSWORD });
    const line = first.cookies.find((each) => each.startsWith('session=')) ?? '';
    assert.match(line, /^session=rgs_[A-Za-z0-9]{43}; Max-Age=604800; Path=\/; HttpOnly; SameSite=Lax$/);
    assert.doesNotMatch(line, /A{43}/);
    assert.equal(first.headers['cache-control'], 'no-store');
    const old = person.cookies.get('session') ?? '';
    await person.logIn('ada');
    assert.notEqual(person.cookies.get('session'), old);
    person.cookies.set('session', old);
    await person.fails(401, 'GET', '/api/user/self');
  });

  it('does not let a caller choose the purpose of a login', async () => {
    let called = 0;
    service.accounts.logins.registerPurpose({ name: 'other', onLoggedIn: async () => void called++ });
    const purpose = { name: 'other', subject: '1' };
    const body = { username: 'ada', password: PASSWORD, purpose, from: 'x', oldSession: 'x' };
    await newClient().ok('POST', '/api/user/login', body);
    assert.equal(called, 0);
  });

  it('sets Secure if the service is reached by https', async () => {
    const secure = await startAccounts(service.database, { secure: true, clock: service.clock });
    const { cookies } = await secure
      .anonymous()
      .send('POST', '/api/user/login', { username: 'ada', password: PASSWORD });
    assert.match(cookies.join(), /; Secure/);
    await secure.fastify.close();
  });

  it('ends a session at logout and after a week without use, and lists and ends the others', async () => {
    const [one, two] = [newClient(), newClient()];
    await one.logIn('ada');
    await two.logIn('ada');
    const { body } = await one.send('GET', '/api/user/sessions?page_size=2');
    const rows = body.data as { id: number; current: boolean; address: string }[];
    assert.deepEqual(
      rows.map((row) => row.current),
      [false, true],
    );
    const other = await service.newUser('other-person');
    await other.fails(200, 'DELETE', `/api/user/sessions/${rows[0]?.id}`);
    await two.ok('GET', '/api/user/self');
    await one.ok('DELETE', `/api/user/sessions/${rows[0]?.id}`);
    await two.fails(401, 'GET', '/api/user/self');
    await one.fails(200, 'DELETE', `/api/user/sessions/${rows[0]?.id}`);

    service.clock.advance(6 * DAY_MS);
    const renewed = await one.send('GET', '/api/user/self');
    assert.match(renewed.cookies.join(), /session=rgs_.*Max-Age=604800/);
    service.clock.advance(6 * DAY_MS);
    await one.ok('GET', '/api/user/self');
    service.clock.advance(7 * DAY_MS);
    await one.fails(401, 'GET', '/api/user/self');

    await two.logIn('ada');
    const kept = two.cookies.get('session') ?? '';
    await two.ok('POST', '/api/user/logout');
    assert.equal(two.cookies.has('session'), false);
    two.cookies.set('session', kept);
    await two.fails(401, 'GET', '/api/user/self');
    await service.accounts.removeExpired();
  });

  it('rejects registrations while registration is closed', async () => {
    const closed = await startAccounts(service.database, { settings: { registration: 'closed' } });
    const message = await closed
      .anonymous()
      .fails(200, 'POST', '/api/user/register', { username: 'late-comer', password: PASSWORD });
    assert.match(message, /closed/);
    await closed.fastify.close();
  });

  it('grants a new account its initial quota', async () => {
    const generous = await startAccounts(service.database, { settings: { newUserQuota: 777 } });
    const person = await generous.newUser('wealthy');
    assert.equal((await person.ok('GET', '/api/user/self')).quota, 777);
    await generous.fastify.close();
  });

  it('stores no secret in clear in the database', async () => {
    const person = await costly.newUser('keeper');
    const { access_token: userToken } = await person.ok('POST', '/api/user/token');
    const { key } = await person.ok('POST', '/api/tokens', { name: 'one' });
    const { secret } = await person.ok('POST', '/api/user/2fa/setup');
    const secrets = [person.cookies.get('session'), userToken, key, secret, PASSWORD, ROOT.password].map(String);
    const tables = ['sessions', 'user_tokens', 'tokens', 'two_factors', 'passwords', 'audit_log', 'accounts'] as const;
    for (const table of tables) {
      const dump = JSON.stringify(await service.database.kysely.selectFrom(table).selectAll().execute());
      for (const each of secrets) assert.ok(!dump.includes(each), `${table} holds a secret`);
    }
    const { hash } = await service.database.kysely
      .selectFrom('passwords')
      .select('hash')
      .where('user_id', '=', person.id)
      .executeTakeFirstOrThrow();
    assert.match(hash, /^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
  });
});
