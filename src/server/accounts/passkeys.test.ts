import assert from 'node:assert/strict';
import { it } from 'node:test';
import { Secret, TOTP } from 'otpauth';
import {
  type AccountsFixture,
  type AccountsFixtureOptions,
  ROOT,
  startAccounts,
} from '../../../test/accounts/accounts-fixture.ts';
import { ALGORITHMS, type Deviation, SoftwareAuthenticator } from '../../../test/accounts/software-authenticator.ts';
import { PASSWORD, type TestResponse, type TestUser } from '../../../test/accounts/test-user-client.ts';
import { forEachDatabase } from '../../../test/for-each-database.ts';
import { EN } from '../../contract/messages/en.ts';
import type { CreationOptions, Passkey, RequestOptions } from '../../contract/passkeys.ts';
import type { Database } from '../platform/db/database.ts';
import type { Tables } from '../tables.ts';
import { resetPassword } from './administrator-access.ts';

const ORIGIN = 'https://ai.example.org';

const start = (database: Database<Tables>, options: AccountsFixtureOptions = {}): Promise<AccountsFixture> =>
  startAccounts(database, { ...options, config: { baseUrl: ORIGIN, ...options.config } });

const beginUse = (person: TestUser) => person.ok<RequestOptions>('POST', '/api/user/login/passkey/options');
const beginCreate = (person: TestUser, proof: object = { password: PASSWORD }) =>
  person.ok<CreationOptions>('POST', '/api/user/passkeys/options', proof);

async function addPasskey(
  person: TestUser,
  authenticator: SoftwareAuthenticator,
  name = 'Laptop',
  algorithm: keyof typeof ALGORITHMS = 'ES256',
): Promise<Passkey> {
  const credential = authenticator.create(await beginCreate(person), algorithm);
  return person.ok<Passkey>('POST', '/api/user/passkeys', { name, credential });
}

async function tryLogIn(person: TestUser, authenticator: SoftwareAuthenticator, deviation: Deviation = {}) {
  const credential = authenticator.use(await beginUse(person), deviation);
  return person.send('POST', '/api/user/login/passkey', { credential });
}

/** The code of a failed response, by its text where the envelope does not state it; undefined: it succeeded. */
const byText = (one = '', other = ''): number => (one === '' ? 1 : other === '' ? -1 : one < other ? -1 : 1);
const codeOf = ({ body }: TestResponse): string | undefined => {
  const { code, message = '', success } = body as TestResponse['body'] & { readonly code?: string };
  if (success === true) return undefined;
  return (
    code ??
    Object.entries(EN).find(([, text]) => text === message.replace(/passkey/, '{what}') || text === message)?.[0] ??
    message
  );
};

forEachDatabase((_name, open) => {
  for (const algorithm of Object.keys(ALGORITHMS) as (keyof typeof ALGORITHMS)[])
    it(`adds a passkey with ${algorithm} and logs in with it as with both factors`, async () => {
      const service = await start(await open());
      const ada = await service.newUser('ada');
      const authenticator = new SoftwareAuthenticator(ORIGIN);
      const options = await beginCreate(ada);
      assert.deepEqual(
        [options.rp.id, options.authenticatorSelection, options.attestation],
        ['ai.example.org', { residentKey: 'required', requireResidentKey: true, userVerification: 'required' }, 'none'],
      );
      assert.ok(options.pubKeyCredParams.some(({ alg }) => alg === ALGORITHMS[algorithm]));
      const credential = authenticator.create(options, algorithm);
      const added = await ada.ok<Passkey>('POST', '/api/user/passkeys', { name: 'Laptop', credential });
      assert.deepEqual(
        [added.name, added.usable, added.algorithm, added.synced, added.last_used_time],
        ['Laptop', true, ALGORITHMS[algorithm], true, null],
      );
      const browser = service.anonymous();
      const login = await tryLogIn(browser, authenticator);
      assert.deepEqual(login.body.data, { id: ada.id, username: 'ada', display_name: 'ada', role: 'user' });
      browser.id = ada.id;
      await browser.ok('GET', '/api/user/self');
      const [listed] = await browser.ok<Passkey[]>('GET', '/api/user/passkeys');
      assert.equal(listed?.last_used_time, Math.floor(service.clock.now() / 1000));
      await service.close();
    });

  it('logs in without a code although two-step verification is on, and requires a code to add a passkey', async () => {
    const service = await start(await open());
    const ada = await service.newUser('ada');
    const authenticator = new SoftwareAuthenticator(ORIGIN);
    const { secret } = await ada.ok<{ secret: string }>('POST', '/api/user/2fa/setup');
    const totp = new TOTP({ secret: Secret.fromBase32(secret) });
    const code = () => totp.generate({ timestamp: service.clock.now() });
    await ada.ok('POST', '/api/user/2fa/enable', { code: code() });
    service.clock.advance(60_000);
    assert.equal(
      codeOf(await ada.send('POST', '/api/user/passkeys/options', { password: PASSWORD })),
      'second_step_required',
    );
    const credential = authenticator.create(await beginCreate(ada, { code: code() }));
    await ada.ok('POST', '/api/user/passkeys', { name: 'Phone', credential });
    const browser = service.anonymous();
    assert.equal((await tryLogIn(browser, authenticator)).status, 200);
    const proof = { credential: authenticator.use(await beginUse(ada)) };
    await beginCreate(ada, proof);
    await service.close();
  });

  it('adds no passkey for a request authenticated before its session ended', async (test) => {
    const service = await start(await open());
    const ada = await service.newUser('ada');
    const credential = new SoftwareAuthenticator(ORIGIN).create(await beginCreate(ada), 'ES256');
    const { database } = service;
    const transaction = database.transaction.bind(database);
    const endFirst: typeof transaction = async (work) => {
      await database.kysely.deleteFrom('sessions').where('user_id', '=', ada.id).execute();
      return transaction(work);
    };
    test.mock.method(database, 'transaction', endFirst, { times: 1 });
    await ada.fails(401, 'POST', '/api/user/passkeys', { name: 'Laptop', credential });
    assert.deepEqual(await database.kysely.selectFrom('passkeys').select('id').execute(), []);
    await service.close();
  });

  const WRONG: Readonly<Record<string, Deviation>> = {
    'of another origin': { origin: 'https://ai.example.org.evil.example' },
    'of another port': { origin: 'https://ai.example.org:8443' },
    'for another RP id': { rpId: 'evil.example' },
    'without user verification': { unverified: true },
    'without user presence': { absent: true },
    'from a foreign frame': { crossOrigin: true },
    'with a wrong type': { type: 'payment.get' },
  };

  it('T171: refuses wrong assertions and never issues a session for one', async () => {
    const service = await start(await open());
    const ada = await service.newUser('ada');
    const authenticator = new SoftwareAuthenticator(ORIGIN);
    await addPasskey(ada, authenticator);
    const deviations = {
      ...WRONG,
      forged: { forged: true },
      'without user': { userHandle: null },
      other: { userHandle: 'AAAA' },
    };
    let address = 1;
    for (const [name, deviation] of Object.entries(deviations)) {
      const browser = service.anonymous(`203.0.113.${address++}`);
      const answer = await tryLogIn(browser, authenticator, deviation);
      assert.equal(codeOf(answer), 'wrong_passkey', name);
      assert.deepEqual(answer.cookies, [], name);
    }
    const history = await ada.ok<{ outcome: string }[]>('GET', '/api/user/logins?failed=true');
    assert.ok(history.length >= Object.keys(WRONG).length && history.every((each) => each.outcome === 'wrong_passkey'));
    await service.close();
  });

  it('records a login to a disabled account with its passkey', async () => {
    const service = await start(await open());
    const ada = await service.newUser('ada');
    const root = service.anonymous();
    await root.logIn(ROOT.username, ROOT.password);
    const authenticator = new SoftwareAuthenticator(ORIGIN);
    await addPasskey(ada, authenticator);
    await root.ok('PUT', `/api/admin/users/${ada.id}`, { status: 2 });
    assert.equal(codeOf(await tryLogIn(service.anonymous(), authenticator)), 'account_disabled');
    const history = await root.ok<{ outcome: string }[]>('GET', `/api/admin/logins?user_id=${ada.id}&failed=true`);
    assert.deepEqual(
      history.map(({ outcome }) => outcome),
      ['disabled'],
    );
    await service.close();
  });

  it('T171: refuses wrong registrations', async () => {
    const service = await start(await open());
    const ada = await service.newUser('ada');
    const eve = await service.newUser('eve');
    const authenticator = new SoftwareAuthenticator(ORIGIN);
    for (const [name, deviation] of Object.entries(WRONG)) {
      const credential = authenticator.create(await beginCreate(ada), 'ES256', deviation);
      const answer = await ada.send('POST', '/api/user/passkeys', { name: 'x', credential });
      assert.equal(codeOf(answer), 'wrong_passkey', name);
    }
    const other = authenticator.create(await beginCreate(ada));
    const renamed = { ...authenticator.create(await beginCreate(ada)), id: other.id, rawId: other.id };
    const answer = await ada.send('POST', '/api/user/passkeys', { name: 'x', credential: renamed });
    assert.equal(codeOf(answer), 'wrong_passkey', 'an id that is not the one of the authenticator data');
    const foreign = authenticator.create(await beginCreate(ada));
    const taken = await eve.send('POST', '/api/user/passkeys', { name: 'x', credential: foreign });
    assert.equal(codeOf(taken), 'passkey_expired');
    const ofLogin = authenticator.create({ ...(await beginCreate(ada)), challenge: (await beginUse(ada)).challenge });
    assert.equal(
      codeOf(await ada.send('POST', '/api/user/passkeys', { name: 'x', credential: ofLogin })),
      'passkey_expired',
    );
    assert.equal(
      codeOf(await ada.send('POST', '/api/user/passkeys/options', { password: 'wrong-password' })),
      'wrong_password',
    );
    assert.equal((await ada.send('POST', '/api/user/passkeys/options')).status, 400);
    assert.deepEqual(await ada.ok('GET', '/api/user/passkeys'), []);
    await service.close();
  });

  it('registers a credential once, whatever it states about its maker', async () => {
    const service = await start(await open());
    const ada = await service.newUser('ada');
    const authenticator = new SoftwareAuthenticator(ORIGIN);
    const statement = new Map<string, unknown>([['x5c', [new Uint8Array([1])]]]);
    const attestation = { fmt: 'packed', statement };
    const credential = authenticator.create(await beginCreate(ada), 'ES256', { attestation });
    await ada.ok('POST', '/api/user/passkeys', { name: 'one', credential });
    assert.equal(codeOf(await ada.send('POST', '/api/user/passkeys', { name: 'two', credential })), 'passkey_expired');
    const next = await beginCreate(ada);
    assert.deepEqual(
      next.excludeCredentials.map(({ id }) => id),
      [credential.id],
    );
    assert.equal((await ada.ok<unknown[]>('GET', '/api/user/passkeys')).length, 1);
    await service.close();
  });

  it('T172: accepts a challenge once, within five minutes, whatever the outcome and however many race', async () => {
    const service = await start(await open());
    const ada = await service.newUser('ada');
    const authenticator = new SoftwareAuthenticator(ORIGIN);
    await addPasskey(ada, authenticator);
    const options = await beginUse(ada);
    const credential = authenticator.use(options);
    const answers = await Promise.all(
      Array.from({ length: 5 }, () => service.anonymous().send('POST', '/api/user/login/passkey', { credential })),
    );
    assert.deepEqual(answers.map(codeOf).toSorted(byText), [...Array(4).fill('passkey_expired'), undefined]);
    const spoiled = await beginUse(ada);
    const wrong = await ada.send('POST', '/api/user/login/passkey', {
      credential: authenticator.use(spoiled, { forged: true }),
    });
    assert.equal(codeOf(wrong), 'wrong_passkey');
    const right = await ada.send('POST', '/api/user/login/passkey', { credential: authenticator.use(spoiled) });
    assert.equal(codeOf(right), 'passkey_expired');
    const late = await beginUse(ada);
    service.clock.advance(5 * 60_000);
    const answer = await ada.send('POST', '/api/user/login/passkey', { credential: authenticator.use(late) });
    assert.equal(codeOf(answer), 'passkey_expired');
    const invented = { ...late, challenge: Buffer.from(`${service.clock.now() + 9999}.x.y`).toString('base64url') };
    const own = await ada.send('POST', '/api/user/login/passkey', { credential: authenticator.use(invented) });
    assert.equal(codeOf(own), 'passkey_expired');
    await service.accounts.removeExpired();
    assert.deepEqual(await service.database.kysely.selectFrom('used_challenges').selectAll().execute(), []);
    await service.close();
  });

  it('counts wrong assertions like wrong passwords, and lets the right passkey in despite the guesses of others', async () => {
    const service = await start(await open());
    const ada = await service.newUser('ada');
    const authenticator = new SoftwareAuthenticator(ORIGIN);
    await addPasskey(ada, authenticator);
    for (let guess = 0; guess < 10; guess += 1) {
      const browser = service.anonymous(`198.51.100.${guess}`);
      assert.equal(codeOf(await tryLogIn(browser, authenticator, { forged: true })), 'wrong_passkey');
    }
    const stranger = service.anonymous('192.0.2.1');
    const password = await stranger.send('POST', '/api/user/login', { username: 'ada', password: PASSWORD });
    assert.equal(password.status, 429);
    assert.equal((await tryLogIn(stranger, authenticator)).status, 200);
    const known = service.anonymous();
    for (let guess = 0; guess < 10; guess += 1) await tryLogIn(known, authenticator, { forged: true });
    assert.equal((await tryLogIn(known, authenticator)).status, 429);
    await service.close();
  });

  it('warns the owner when the counter of a passkey does not increase, and still logs in', async () => {
    const notices: string[] = [];
    const service = await start(await open(), {
      dependencies: { notifier: { notify: async (_trx, { title }) => void notices.push(title.en) } },
    });
    const ada = await service.newUser('ada');
    const authenticator = new SoftwareAuthenticator(ORIGIN, { countsUses: true });
    await addPasskey(ada, authenticator);
    assert.equal((await tryLogIn(service.anonymous(), authenticator)).status, 200);
    assert.deepEqual(notices, ['A passkey was added to your account']);
    assert.equal((await tryLogIn(service.anonymous(), authenticator, { counter: 2 })).status, 200);
    assert.deepEqual(notices.slice(1), ['A passkey may have been copied']);
    assert.equal((await tryLogIn(service.anonymous(), authenticator)).status, 200);
    assert.equal(notices.length, 2);
    await service.close();
  });

  it('T174: does not confirm a session with the passkey of another account', async () => {
    const service = await start(await open());
    const [ada, eve] = [await service.newUser('ada'), await service.newUser('eve')];
    const own = new SoftwareAuthenticator(ORIGIN);
    const foreign = new SoftwareAuthenticator(ORIGIN);
    await addPasskey(ada, own);
    await addPasskey(eve, foreign);
    const stolen = await ada.send('POST', '/api/user/passkeys/options', {
      credential: foreign.use(await beginUse(ada)),
    });
    assert.equal(codeOf(stolen), 'wrong_passkey');
    await beginCreate(ada, { credential: own.use(await beginUse(ada)) });
    await service.close();
  });

  it('T176: renames and removes only own passkeys, and never the last way in', async () => {
    const service = await start(await open());
    const [ada, eve] = [await service.newUser('ada'), await service.newUser('eve')];
    const authenticator = new SoftwareAuthenticator(ORIGIN);
    const first = await addPasskey(ada, authenticator, 'one');
    const second = await addPasskey(ada, new SoftwareAuthenticator(ORIGIN), 'two');
    assert.equal(first.user_handle, second.user_handle);
    assert.equal(codeOf(await eve.send('PUT', `/api/user/passkeys/${first.id}`, { name: 'mine' })), 'not_exist');
    assert.equal(codeOf(await eve.send('DELETE', `/api/user/passkeys/${first.id}`)), 'not_exist');
    await ada.ok('PUT', `/api/user/passkeys/${first.id}`, { name: 'Laptop' });
    assert.deepEqual(
      (await ada.ok<Passkey[]>('GET', '/api/user/passkeys')).map(({ name }) => name),
      ['Laptop', 'two'],
    );
    await service.database.kysely.deleteFrom('passwords').where('user_id', '=', ada.id).execute();
    const removals = await Promise.all([first, second].map(({ id }) => ada.send('DELETE', `/api/user/passkeys/${id}`)));
    assert.deepEqual(removals.map(codeOf).toSorted(byText), ['last_way_in', undefined]);
    assert.equal((await ada.ok<Passkey[]>('GET', '/api/user/passkeys')).length, 1);
    await service.close();
  });

  it('ends the access of a removed passkey, a disabled and a removed account', async () => {
    const service = await start(await open());
    const root = service.anonymous();
    await root.logIn('root', 'root-password-1');
    const ada = await service.newUser('ada');
    const authenticator = new SoftwareAuthenticator(ORIGIN);
    const { id } = await addPasskey(ada, authenticator);
    await root.ok('PUT', `/api/admin/users/${ada.id}`, { status: 2 });
    assert.equal(codeOf(await tryLogIn(service.anonymous(), authenticator)), 'account_disabled');
    await root.ok('PUT', `/api/admin/users/${ada.id}`, { status: 1 });
    await ada.logIn('ada');
    await ada.ok('DELETE', `/api/user/passkeys/${id}`);
    assert.equal(codeOf(await tryLogIn(service.anonymous(), authenticator)), 'wrong_passkey');
    await addPasskey(ada, authenticator);
    await root.ok('DELETE', `/api/admin/users/${ada.id}`);
    assert.equal(codeOf(await tryLogIn(service.anonymous(), authenticator)), 'wrong_passkey');
    const { kysely } = service.database;
    assert.deepEqual(await kysely.selectFrom('passkeys').selectAll().execute(), []);
    assert.deepEqual(await kysely.selectFrom('passkey_users').selectAll().execute(), []);
    await service.close();
  });

  it('lets administrators remove the second factors of lower ranks only', async () => {
    const service = await start(await open());
    const root = service.anonymous();
    await root.logIn('root', 'root-password-1');
    const [ada, eve] = [await service.newUser('ada'), await service.newUser('eve')];
    const authenticator = new SoftwareAuthenticator(ORIGIN);
    await addPasskey(ada, authenticator);
    assert.equal((await eve.send('DELETE', `/api/admin/users/${ada.id}/second-factors`)).status, 403);
    await root.ok('PUT', `/api/admin/users/${eve.id}`, { role: 'admin' });
    await eve.logIn('eve');
    assert.equal(codeOf(await eve.send('DELETE', `/api/admin/users/${root.id}/second-factors`)), 'rank_too_low');
    await eve.ok('DELETE', `/api/admin/users/${ada.id}/second-factors`);
    assert.equal((await ada.send('GET', '/api/user/self')).status, 401);
    assert.equal(codeOf(await tryLogIn(service.anonymous(), authenticator)), 'wrong_passkey');
    await service.close();
  });

  it('T173: permits nothing but setting up while a required second factor is missing', async () => {
    const settings = { requireSecondFactor: 'off' as 'off' | 'admins' | 'all' };
    const service = await start(await open(), { settings });
    const root = service.anonymous();
    await root.logIn('root', 'root-password-1');
    const ada = await service.newUser('ada');
    const program = await ada.withManagementToken();
    settings.requireSecondFactor = 'admins';
    for (const path of ['/api/user/self', '/api/admin/users', '/api/tokens', '/api/user/sessions']) {
      const refused = await root.send('GET', path);
      assert.deepEqual([refused.status, codeOf(refused)], [403, 'second_factor_required'], path);
    }
    await ada.ok('GET', '/api/user/self');
    settings.requireSecondFactor = 'all';
    for (const person of [ada, program])
      assert.equal(codeOf(await person.send('GET', '/api/user/self')), 'second_factor_required');
    assert.equal(codeOf(await ada.send('DELETE', '/api/user/passkeys/1')), 'second_factor_required');
    const authenticator = new SoftwareAuthenticator(ORIGIN);
    await addPasskey(ada, authenticator);
    await ada.ok('GET', '/api/user/self');
    await root.ok('POST', '/api/user/logout');
    const again = service.anonymous();
    await again.logIn('root', 'root-password-1');
    const { secret } = await again.ok<{ secret: string }>('POST', '/api/user/2fa/setup');
    const code = new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: service.clock.now() });
    await again.ok('POST', '/api/user/2fa/enable', { code });
    await again.ok('GET', '/api/admin/users');
    await service.close();
  });

  it('T173: asks for the passkey after the password where a second factor is required', async () => {
    const settings = { requireSecondFactor: 'off' as 'off' | 'all' };
    const service = await start(await open(), { settings });
    const [ada, eve] = [await service.newUser('ada'), await service.newUser('eve')];
    const [own, foreign] = [new SoftwareAuthenticator(ORIGIN), new SoftwareAuthenticator(ORIGIN)];
    await addPasskey(ada, own);
    await addPasskey(eve, foreign);
    assert.notDeepEqual(await service.anonymous().logIn('ada'), { require_2fa: true });
    settings.requireSecondFactor = 'all';
    const browser = service.anonymous();
    assert.deepEqual(await browser.logIn('ada'), { require_2fa: true });
    const second = (body: object) => browser.send('POST', '/api/user/login/2fa', body);
    assert.equal(codeOf(await second({})), 'second_step_required');
    assert.equal(codeOf(await second({ code: '123456' })), 'wrong_code');
    assert.equal(codeOf(await second({ credential: foreign.use(await beginUse(browser)) })), 'wrong_passkey');
    const login = await second({ credential: own.use(await beginUse(browser)) });
    assert.deepEqual(login.body.data, { id: ada.id, username: 'ada', display_name: 'ada', role: 'user' });
    assert.equal(codeOf(await second({ credential: own.use(await beginUse(browser)) })), 'login_expired');
    await service.close();
  });

  it('T173: asks for the passkey after an identity where a second factor is required', async () => {
    const settings = { requireSecondFactor: 'off' as 'off' | 'all' };
    const service = await start(await open(), { settings });
    const ada = await service.newUser('ada');
    const own = new SoftwareAuthenticator(ORIGIN);
    await addPasskey(ada, own);
    const logIn = async (hasSecondFactor: boolean) =>
      service.accounts.logins.logInVerified({
        userId: ada.id,
        client: { address: '192.0.2.1', userAgent: '', session: undefined, knownDevice: undefined },
        hasSecondFactor,
        purpose: { name: 'login', subject: '' },
      });
    assert.equal((await logIn(false)).step, 'done');
    settings.requireSecondFactor = 'all';
    assert.equal((await logIn(true)).step, 'done');
    const outcome = await logIn(false);
    assert.equal(outcome.step, 'second');
    const browser = service.anonymous();
    if (outcome.step === 'second') browser.cookies.set('pending_login', outcome.pending);
    const credential = own.use(await beginUse(browser));
    const login = await browser.send('POST', '/api/user/login/2fa', { credential });
    assert.deepEqual(login.body.data, { id: ada.id, username: 'ada', display_name: 'ada', role: 'user' });
    await service.close();
  });

  it('an account without password, code and passkey adds one within ten minutes of its login', async () => {
    const service = await start(await open());
    const ada = await service.newUser('ada');
    await service.database.kysely.deleteFrom('passwords').where('user_id', '=', ada.id).execute();
    await beginCreate(ada, {});
    service.clock.advance(10 * 60_000 + 1);
    assert.equal(codeOf(await ada.send('POST', '/api/user/passkeys/options', {})), 'second_step_required');
    await service.close();
  });

  it('a password reset on the server removes all second factors on request', async () => {
    const settings = { requireSecondFactor: 'all' as const };
    const database = await open();
    const service = await start(database, { settings });
    const root = service.anonymous();
    await root.logIn('root', 'root-password-1');
    const options = await beginCreate(root, { password: 'root-password-1' });
    const authenticator = new SoftwareAuthenticator(ORIGIN);
    await root.ok('POST', '/api/user/passkeys', { name: 'x', credential: authenticator.create(options) });
    const dependencies = { database, clock: service.clock, linkedLogins: [], notices: { notify: async () => {} } };
    const kept = await resetPassword(dependencies, 'root');
    assert.deepEqual(await service.anonymous().logIn('root', kept.password), { require_2fa: true });
    const { password } = await resetPassword(dependencies, 'root', { withoutTwoFactor: true });
    const again = service.anonymous();
    await again.logIn('root', password);
    assert.equal(codeOf(await again.send('GET', '/api/admin/users')), 'second_factor_required');
    assert.equal(codeOf(await tryLogIn(service.anonymous(), authenticator)), 'wrong_passkey');
    await beginCreate(again, { password });
    await service.close();
  });

  it('limits an account to 20 passkeys', async () => {
    const service = await start(await open());
    const ada = await service.newUser('ada');
    const authenticator = new SoftwareAuthenticator(ORIGIN);
    for (let count = 0; count < 20; count += 1) await addPasskey(ada, authenticator, `key ${count}`);
    assert.equal(codeOf(await ada.send('POST', '/api/user/passkeys/options', { password: PASSWORD })), 'passkeys_full');
    await service.close();
  });
});

forEachDatabase((_name, open) => {
  for (const baseUrl of ['https://192.0.2.7', 'https://[2001:db8::1]', 'http://ai.example.org'])
    it(`has no passkeys at ${baseUrl}, and passkeys of a former host are unusable`, async () => {
      const database = await open();
      const before = await start(database);
      const ada = await before.newUser('ada');
      const authenticator = new SoftwareAuthenticator(ORIGIN);
      await addPasskey(ada, authenticator);
      const credential = authenticator.use(await beginUse(ada));
      await before.fastify.close();
      const service = await start(database, { config: { baseUrl } });
      const person = service.anonymous();
      assert.equal(codeOf(await person.send('POST', '/api/user/login/passkey/options')), 'passkeys_off');
      assert.equal(codeOf(await person.send('POST', '/api/user/login/passkey', { credential })), 'passkeys_off');
      assert.equal((await person.send('GET', '/.well-known/passkey-endpoints')).status, 404);
      await person.logIn('ada');
      assert.equal(codeOf(await person.send('POST', '/api/user/passkeys/options', {})), 'passkeys_off');
      const [passkey] = await person.ok<Passkey[]>('GET', '/api/user/passkeys');
      assert.deepEqual([passkey?.usable, passkey?.rp_id], [false, 'ai.example.org']);
      await service.close();
      await before.accounts.close();
    });

  it('tells password managers where to manage passkeys', async () => {
    const service = await start(await open());
    const answer = await service.anonymous().send('GET', '/.well-known/passkey-endpoints');
    const page = 'https://ai.example.org/account/security';
    assert.deepEqual([answer.status, answer.body], [200, { enroll: page, manage: page }]);
    await service.close();
  });
});
