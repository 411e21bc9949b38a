import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { PASSWORD } from '../../../test/accounts/person.ts';
import { ROOT, type Service, startService } from '../../../test/accounts/service.ts';
import { forEachDatabase } from '../../../test/databases.ts';

const QUARTER_MS = 15 * 60_000;
const DAY_MS = 24 * 3_600_000;

forEachDatabase((_name, open) => {
  let service: Service;
  let addresses = 0;
  /** Somebody from an address nobody else has, so that budgets of addresses do not mix. */
  const stranger = () => service.visitor(`10.0.${addresses >> 8}.${addresses++ & 255}`);
  before(async () => {
    service = await startService(await open());
  });
  after(() => service.close());

  it('takes a person from registration to an API token', async () => {
    const ada = stranger();
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
    const caller = await service.accounts.authenticator.model({ headers, session: undefined, address: '127.0.0.1' });
    assert.equal(caller.userId, made.id);
  });

  it('logs in by e-mail in any case, too', async () => {
    const person = stranger();
    assert.equal((await person.logIn('ADA@example.ORG')).username, 'ada');
  });

  it('refuses names, passwords and addresses that are not', async () => {
    const person = stranger();
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
    for (const password of ['😀'.repeat(8), 'x'.repeat(128), '密码密码密码密码']) {
      const username = `pass-${Buffer.from(password).toString('hex').slice(0, 8)}`;
      await person.register(username, password);
      await person.logIn(username, password);
    }
  });

  it('gives a name and an address once, whatever the race', async () => {
    const answers = await Promise.all(
      Array.from({ length: 12 }, (_, index) =>
        stranger().send('POST', '/api/user/register', {
          username: index % 2 === 0 ? 'wanted' : `wanted-${index}`,
          password: PASSWORD,
          email: 'wanted@example.org',
        }),
      ),
    );
    assert.equal(answers.filter((answer) => answer.body.success).length, 1);
    for (const { status } of answers) assert.equal(status, 200);
    const taken = await stranger().fails(200, 'POST', '/api/user/register', { username: 'ada', password: PASSWORD });
    assert.match(taken, /taken/);
  });

  it('answers alike for unknown people and wrong passwords', async () => {
    const [wrong, unknown, unknownMail] = [
      await stranger().send('POST', '/api/user/login', { username: 'ada', password: 'not this one' }),
      await stranger().send('POST', '/api/user/login', { username: 'nobody-here', password: 'not this one' }),
      await stranger().send('POST', '/api/user/login', { username: 'no@body.here', password: 'not this one' }),
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

  it('takes as long for unknown people as for wrong passwords', async () => {
    const times = { known: 0, unknown: 0 };
    for (let round = 0; round < 8; round++) {
      for (const kind of ['known', 'unknown'] as const) {
        const started = performance.now();
        const username = kind === 'known' ? 'ada' : `unknown-${round}`;
        await stranger().send('POST', '/api/user/login', { username, password: 'not this one' });
        times[kind] += performance.now() - started;
      }
    }
    service.clock.advance(QUARTER_MS);
    // Without the dummy hash the unknown are tens of times faster; a busy machine is not.
    assert.ok(times.unknown > times.known / 3, JSON.stringify(times));
  });

  it('evaluates ten wrong passwords of an account in a quarter of an hour, name and e-mail together', async () => {
    await stranger().ok('POST', '/api/user/register', {
      username: 'grace',
      password: PASSWORD,
      email: 'grace@example.org',
    });
    const answers = [];
    for (let batch = 0; batch < 5; batch++) {
      const tries = Array.from({ length: 8 }, (_, index) =>
        stranger().send('POST', '/api/user/login', {
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
    await stranger().fails(429, 'POST', '/api/user/login', right);
    service.clock.advance(QUARTER_MS);
    await stranger().ok('POST', '/api/user/login', right);
  });

  it('evaluates thirty wrong passwords of an address, and a success forgives none', async () => {
    const address = '10.99.0.1';
    let evaluated = 0;
    for (let round = 0; round < 40; round++) {
      // Headers a client can write do not make it another address.
      const forged = { 'x-forwarded-for': `198.51.100.${round}`, 'x-real-ip': `198.51.100.${round}` };
      const body = { username: `victim-${round}`, password: 'wrong password' };
      const { status } = await service.visitor(address).send('POST', '/api/user/login', body, forged);
      if (status === 200) evaluated++;
      if (round === 20) await service.visitor(address).logIn('ada');
    }
    assert.equal(evaluated, 30);
    await service.visitor('10.99.0.2').logIn('ada');
    service.clock.advance(QUARTER_MS);
  });

  it('lets an address register a hundred times an hour, whatever comes of it', async () => {
    const address = '10.98.0.1';
    const accounts = async () => (await service.database.kysely.selectFrom('accounts').select('id').execute()).length;
    const register = (username: string, from = address) =>
      service.visitor(from).send('POST', '/api/user/register', { username, password: PASSWORD });
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

  it('keeps a /64 of IPv6 to one budget', async () => {
    let evaluated = 0;
    for (let round = 0; round < 34; round++) {
      const body = { username: `six-${round}`, password: 'wrong password' };
      const answer = await service.visitor(`2001:db8:1:2:${round}::1`).send('POST', '/api/user/login', body);
      if (answer.status === 200) evaluated++;
    }
    assert.equal(evaluated, 30);
    service.clock.advance(QUARTER_MS);
  });

  it('bounds the hashes under way: the rest is told to come back', async () => {
    const answers = await Promise.all(
      Array.from({ length: 90 }, () =>
        stranger().send('POST', '/api/user/login', { username: 'ada', password: PASSWORD }),
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

  it('sets a cookie no script reads, no other site sends and no login inherits', async () => {
    const person = stranger();
    person.jar.set('session', `rgs_${'A'.repeat(43)}`);
    const first = await person.send('POST', '/api/user/login', { username: 'ada', password: PASSWORD });
    const line = first.cookies.find((each) => each.startsWith('session=')) ?? '';
    assert.match(line, /^session=rgs_[A-Za-z0-9]{43}; Max-Age=604800; Path=\/; HttpOnly; SameSite=Lax$/);
    assert.doesNotMatch(line, /A{43}/);
    assert.equal(first.headers['cache-control'], 'no-store');
    const old = person.jar.get('session') ?? '';
    await person.logIn('ada');
    assert.notEqual(person.jar.get('session'), old);
    person.jar.set('session', old);
    await person.fails(401, 'GET', '/api/user/self');
  });

  it('lets no caller say what a login is for', async () => {
    let called = 0;
    service.accounts.logins.serve({ name: 'other', loggedIn: async () => void called++ });
    const purpose = { name: 'other', subject: '1' };
    const body = { username: 'ada', password: PASSWORD, purpose, from: 'x', oldSession: 'x' };
    await stranger().ok('POST', '/api/user/login', body);
    assert.equal(called, 0);
  });

  it('says Secure where it is reached by https', async () => {
    const secure = await startService(service.database, { secure: true, clock: service.clock });
    const { cookies } = await secure.visitor().send('POST', '/api/user/login', { username: 'ada', password: PASSWORD });
    assert.match(cookies.join(), /; Secure/);
    await secure.fastify.close();
  });

  it('ends a session at logout, after a week without use, and lists and ends the others', async () => {
    const [one, two] = [stranger(), stranger()];
    await one.logIn('ada');
    await two.logIn('ada');
    const { body } = await one.send('GET', '/api/user/sessions?page_size=2');
    const rows = body.data as { id: number; current: boolean; address: string }[];
    assert.deepEqual(
      rows.map((row) => row.current),
      [false, true],
    );
    const other = await service.person('other-person');
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
    const kept = two.jar.get('session') ?? '';
    await two.ok('POST', '/api/user/logout');
    assert.equal(two.jar.has('session'), false);
    two.jar.set('session', kept);
    await two.fails(401, 'GET', '/api/user/self');
    await service.accounts.sweep();
  });

  it('closes the door to new people where it is closed', async () => {
    const closed = await startService(service.database, { config: { registration: 'closed' } });
    const message = await closed
      .visitor()
      .fails(200, 'POST', '/api/user/register', { username: 'late-comer', password: PASSWORD });
    assert.match(message, /closed/);
    await closed.fastify.close();
  });

  it('gives a new account its first quota', async () => {
    const generous = await startService(service.database, { config: { newUserQuota: 777 } });
    const person = await generous.person('wealthy');
    assert.equal((await person.ok('GET', '/api/user/self')).quota, 777);
    await generous.fastify.close();
  });

  it('keeps no secret readable in the database', async () => {
    const person = await service.person('keeper');
    const { access_token: userToken } = await person.ok('POST', '/api/user/token');
    const { key } = await person.ok('POST', '/api/tokens', { name: 'one' });
    const { secret } = await person.ok('POST', '/api/user/2fa/setup');
    const secrets = [person.jar.get('session'), userToken, key, secret, PASSWORD, ROOT.password].map(String);
    const tables = ['sessions', 'user_tokens', 'tokens', 'two_factors', 'passwords', 'audit_log', 'accounts'] as const;
    for (const table of tables) {
      const dump = JSON.stringify(await service.database.kysely.selectFrom(table).selectAll().execute());
      for (const each of secrets) assert.ok(!dump.includes(each), `${table} holds a secret`);
    }
    const passwords = await service.database.kysely.selectFrom('passwords').select('hash').execute();
    for (const { hash } of passwords) assert.match(hash, /^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
  });
});
