import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { forEachDatabase } from '../for-each-database.ts';
import { type EmailFixture, startEmailService, tokenOf } from './email-fixture.ts';
import { PASSWORD } from './test-user-client.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const CONFIRM = '/api/user/email/confirm';
const RESET = '/api/user/password-reset';
const NEW_PASSWORD = 'another fine password';

forEachDatabase((_name, _open, freshUrl) => {
  let service: EmailFixture;
  before(async () => {
    service = await startEmailService(await freshUrl());
  });
  after(() => service.stop());

  const logsIn = async (username: string, password = PASSWORD): Promise<boolean> =>
    (await service.visitor().send('POST', '/api/user/login', { username, password })).body.success === true;
  const confirm = async (address: string): Promise<void> => {
    const token = tokenOf((await service.mailsTo(address)).at(-1));
    await service.visitor().ok('POST', CONFIRM, { token });
  };
  const requestReset = async (address: string): Promise<string> => {
    const before = (await service.mailsTo(address)).length;
    await service.visitor().ok('POST', RESET, { email: address });
    const mails = await service.mailsTo(address);
    assert.equal(mails.length, before + 1, 'a mail was sent');
    return tokenOf(mails.at(-1));
  };

  it('an e-mail address counts for sign-in once its link was opened', async () => {
    const ada = await service.join('ada');
    assert.deepEqual(await ada.ok('GET', '/api/user/email'), {
      email: 'ada@example.org',
      confirmed: false,
      can_confirm: true,
    });
    assert.equal(await logsIn('ada@example.org'), false);
    const [mail] = await service.mailsTo('ada@example.org');
    assert.match(mail?.text ?? '', /http:\/\/127\.0\.0\.1:\S*\/confirm-email#rgel_\w{43}/);
    const token = tokenOf(mail);
    await service.visitor().ok('POST', CONFIRM, { token });
    await ada.logIn('ada');
    assert.equal((await ada.ok('GET', '/api/user/email')).confirmed, true);
    assert.equal(await logsIn('Ada@Example.org'), true);
    await service.visitor().fails(200, 'POST', CONFIRM, { token });
  });

  it('T100 and T175: the first confirmation ends all earlier access to an account, a later one ends nothing', async () => {
    const person = await service.join('prepared');
    const prepare = async () => {
      const { key } = await person.ok<{ key: string }>('POST', '/api/tokens', { name: 'k' });
      const hook = { url: 'https://receiver.example/hook' };
      const { id } = await person.ok<{ id: number }>('POST', '/api/webhooks', hook);
      const { secret } = await person.ok<{ secret: string }>('GET', '/api/webhooks/secret');
      const { token } = await person.ok<{ token: string }>('POST', '/api/user/token');
      return { key, id, secret, token };
    };
    const asKey = (key: string) =>
      service.visitor().send('GET', '/v1/models', undefined, { authorization: `Bearer ${key}` });
    const earlier = await prepare();
    const { kysely } = service.app.database;
    const { id: userId } = await kysely
      .selectFrom('accounts')
      .select('id')
      .where('username', '=', 'prepared')
      .executeTakeFirstOrThrow();
    await kysely
      .insertInto('bindings')
      .values({ user_id: userId, kind: 'phone', value: '+49', created_at: 1 })
      .execute();
    const passkey = { credential_id: 'a', public_key: 'a', algorithm: -7, counter: 0, transports: '[]', aaguid: '' };
    await kysely
      .insertInto('passkeys')
      .values({
        ...passkey,
        user_id: userId,
        backup_eligible: 0,
        backed_up: 0,
        rp_id: 'ai.example.org',
        name: 'prepared',
        created_at: 1,
        last_used_at: null,
      })
      .execute();
    const identity = { provider: 'x', issuer: 'https://id.example', sub: 'prepared', email: null, last_used_at: null };
    await kysely
      .insertInto('identities')
      .values({ ...identity, user_id: userId, created_at: 1 })
      .execute();
    assert.equal((await asKey(earlier.key)).status, 200);
    await confirm('prepared@example.org');
    assert.equal((await asKey(earlier.key)).status, 401);
    assert.equal((await person.send('GET', '/api/user/self')).status, 401);
    const left = await Promise.all(
      (
        [
          'sessions',
          'user_tokens',
          'webhook_endpoints',
          'webhook_account_secrets',
          'bindings',
          'passkeys',
          'identities',
        ] as const
      ).map((table) => kysely.selectFrom(table).selectAll().where('user_id', '=', userId).execute()),
    );
    assert.deepEqual(left.flat(), []);
    await person.logIn('prepared');
    const { body } = await person.send('GET', '/api/notifications');
    assert.match(JSON.stringify(body.data), /confirmed for the first time/);
    const later = await prepare();
    assert.notEqual(later.secret, earlier.secret);
    await person.ok('PUT', '/api/user/self', { email: 'later@example.org', original_password: PASSWORD });
    await confirm('later@example.org');
    assert.equal((await asKey(later.key)).status, 200);
    await person.ok('GET', `/api/webhooks/${later.id}`);
  });

  it('the first confirmation keeps passkeys and identities for their owner, and where there are no passwords', async () => {
    const { kysely } = service.app.database;
    const waysInOf = (userId: number) =>
      Promise.all(
        (['passkeys', 'identities'] as const).map(
          async (table) => (await kysely.selectFrom(table).selectAll().where('user_id', '=', userId).execute()).length,
        ),
      );
    const prepare = async (username: string) => {
      const person = await service.join(username);
      const user = { user_id: person.id, created_at: 1, last_used_at: null };
      const passkey = { credential_id: username, public_key: 'a', algorithm: -7, counter: 0, transports: '[]' };
      const flags = { aaguid: '', backup_eligible: 0, backed_up: 0, rp_id: 'ai.example.org', name: 'x' } as const;
      await kysely
        .insertInto('passkeys')
        .values({ ...user, ...passkey, ...flags })
        .execute();
      const identity = { provider: 'x', issuer: 'https://id.example', sub: username, email: null };
      await kysely
        .insertInto('identities')
        .values({ ...user, ...identity })
        .execute();
      return { person, token: tokenOf((await service.mailsTo(`${username}@example.org`)).at(-1)) };
    };
    const [own, other] = [await prepare('own-browser'), await prepare('other-browser')];
    await own.person.ok('POST', CONFIRM, { token: own.token });
    await own.person.logIn('own-browser');
    const { body } = await own.person.send('GET', '/api/notifications');
    assert.match(JSON.stringify(body.data), /Passkeys and linked identities were kept/);
    assert.deepEqual(await waysInOf(own.person.id), [1, 1]);
    await own.person.ok('POST', CONFIRM, { token: other.token });
    assert.deepEqual(await waysInOf(other.person.id), [0, 0], 'the browser is signed in to another account');
    const locked = await prepare('locked-in');
    await service.setSiteSetting('PASSWORD_SIGN_IN', '0');
    await service.visitor().ok('POST', CONFIRM, { token: locked.token });
    await service.setSiteSetting('PASSWORD_SIGN_IN', null);
    assert.deepEqual(await waysInOf(locked.person.id), [1, 1]);
  });

  it('T29: stores no token in clear text', async () => {
    await service.join('opaque');
    const token = tokenOf((await service.mailsTo('opaque@example.org')).at(-1));
    const { kysely } = service.app.database;
    const rows = [
      await kysely.selectFrom('email_tokens').selectAll().execute(),
      await kysely.selectFrom('outgoing_mails').selectAll().execute(),
    ];
    assert.ok(token.length > 40);
    assert.ok(!JSON.stringify(rows).includes(token));
  });

  it('accepts a link for 24 hours, and sends it again on request', async () => {
    const late = await service.join('late');
    const token = tokenOf((await service.mailsTo('late@example.org')).at(-1));
    service.clock.advance(24 * HOUR_MS);
    await service.visitor().fails(200, 'POST', CONFIRM, { token });
    await late.ok('POST', '/api/user/email/confirmation');
    await confirm('late@example.org');
    await late.logIn('late');
    assert.equal((await late.ok('GET', '/api/user/email')).confirmed, true);
    // Nothing is left to confirm, so nothing is sent.
    const { length } = await service.mailsTo('late@example.org');
    await late.ok('POST', '/api/user/email/confirmation');
    assert.equal((await service.mailsTo('late@example.org')).length, length);
  });

  it('assigns an address to the account that confirms it', async () => {
    const thief = await service.join('thief');
    await service.visitor().ok('POST', '/api/user/register', {
      username: 'rightful',
      password: PASSWORD,
      email: 'thief@example.org',
    });
    const mails = await service.mailsTo('thief@example.org');
    assert.deepEqual(
      mails.map(({ text }) => /Hello (\w+)/.exec(text)?.[1]),
      ['thief', 'rightful'],
    );
    await service.visitor().ok('POST', CONFIRM, { token: tokenOf(mails[1]) });
    assert.match(await service.visitor().fails(200, 'POST', CONFIRM, { token: tokenOf(mails[0]) }), /in use/);
    assert.equal((await thief.ok('GET', '/api/user/email')).confirmed, false);
  });

  it('requires the password to change the e-mail, and keeps the old address until the new one is confirmed', async () => {
    const person = await service.join('mover');
    await confirm('mover@example.org');
    await person.logIn('mover');
    const next = { email: 'moved@example.org' };
    await person.fails(400, 'PUT', '/api/user/self', next);
    await person.fails(200, 'PUT', '/api/user/self', { ...next, original_password: 'not it at all' });
    await person.ok('PUT', '/api/user/self', { ...next, original_password: PASSWORD });
    assert.deepEqual([await logsIn('mover@example.org'), await logsIn('moved@example.org')], [true, false]);
    assert.match((await service.mailsTo('mover@example.org')).at(-1)?.subject ?? '', /being changed/);
    await confirm('moved@example.org');
    assert.deepEqual([await logsIn('mover@example.org'), await logsIn('moved@example.org')], [false, true]);
    await person.ok('PUT', '/api/user/self', { email: '', original_password: PASSWORD });
    assert.equal(await logsIn('moved@example.org'), false);
  });

  it('confirms nothing with a link to an address that has since changed', async () => {
    const person = await service.join('fickle');
    const token = tokenOf((await service.mailsTo('fickle@example.org')).at(-1));
    await person.ok('PUT', '/api/user/self', { email: 'fickle-2@example.org', original_password: PASSWORD });
    await service.visitor().fails(200, 'POST', CONFIRM, { token });
    assert.equal(await logsIn('fickle@example.org'), false);
  });

  it('resets a password once, within 30 minutes, and ends every sign-in', async () => {
    const person = await service.join('forgetful');
    await confirm('forgetful@example.org');
    await person.logIn('forgetful');
    const program = await person.withManagementToken();
    const [first, second] = [await requestReset('forgetful@example.org'), await requestReset('forgetful@example.org')];
    await service.visitor().fails(200, 'POST', `${RESET}/confirm`, { token: first, password: 'password' });
    await service.visitor().ok('POST', `${RESET}/confirm`, { token: first, password: NEW_PASSWORD });
    await person.fails(401, 'GET', '/api/user/self');
    await program.fails(401, 'GET', '/api/user/self');
    assert.deepEqual([await logsIn('forgetful'), await logsIn('forgetful', NEW_PASSWORD)], [false, true]);
    for (const token of [first, second])
      await service.visitor().fails(200, 'POST', `${RESET}/confirm`, { token, password: 'a third fine password' });
    const late = await requestReset('forgetful@example.org');
    service.clock.advance(30 * MINUTE_MS);
    await service.visitor().fails(200, 'POST', `${RESET}/confirm`, { token: late, password: 'a third fine password' });
    assert.equal(await logsIn('forgetful', NEW_PASSWORD), true);
  });

  it('only one of several concurrent uses of a link succeeds', async () => {
    await service.join('racer');
    await confirm('racer@example.org');
    const token = await requestReset('racer@example.org');
    const passwords = ['the first of three', 'the second of three', 'the third of three'];
    const answers = await Promise.all(
      passwords.map((password) => service.visitor().send('POST', `${RESET}/confirm`, { token, password })),
    );
    assert.equal(answers.filter(({ body }) => body.success).length, 1);
  });

  it('T23: responds identically whether or not an account has the address, and sends nothing to an unconfirmed one', async () => {
    await service.join('unproved');
    await service.mailsTo('unproved@example.org');
    const before = service.sender.sent.length;
    const answers = [];
    for (const email of ['unproved@example.org', 'nobody@example.org', 'ada@example.org'])
      answers.push(await service.visitor().send('POST', RESET, { email }));
    assert.equal(new Set(answers.map(({ status, body }) => JSON.stringify([status, body]))).size, 1);
    await service.mailsTo('');
    // Notifications are e-mailed too.
    const resets = service.sender.sent.slice(before).filter(({ subject }) => subject.startsWith('Reset your password'));
    assert.deepEqual(
      resets.map(({ to }) => to),
      ['ada@example.org'],
    );
  });

  it('accepts a link only for its own purpose', async () => {
    await service.join('mixed');
    const token = tokenOf((await service.mailsTo('mixed@example.org')).at(-1));
    await service.visitor().fails(200, 'POST', `${RESET}/confirm`, { token, password: NEW_PASSWORD });
    await confirm('mixed@example.org');
    const reset = await requestReset('mixed@example.org');
    await service.visitor().fails(200, 'POST', CONFIRM, { token: reset });
  });

  it('limits the e-mails to one address and the requests of one network', async () => {
    const statuses: number[] = [];
    for (let request = 0; request < 6; request++)
      statuses.push((await service.visitor().send('POST', RESET, { email: 'flooded@example.org' })).status);
    assert.deepEqual(statuses, [200, 200, 200, 200, 200, 429]);
    const flooder = service.visitor();
    const all = [];
    for (let request = 0; request < 21; request++)
      all.push((await flooder.send('POST', RESET, { email: `flood-${request}@example.org` })).status);
    assert.deepEqual([all.filter((status) => status === 200).length, all.at(-1)], [20, 429]);
    await service.mailsTo('');
  });

  it('resends an e-mail after a temporary refusal, and drops it after a permanent one', async () => {
    service.sender.refusal = 'temporary';
    await service.join('patient');
    assert.equal((await service.mailsTo('patient@example.org')).length, 0);
    assert.equal((await service.root.ok('GET', '/api/admin/mail')).last_error, 'refused');
    service.sender.refusal = undefined;
    assert.equal((await service.mailsTo('patient@example.org')).length, 0, 'not before its time');
    service.clock.advance(10_000);
    assert.equal((await service.mailsTo('patient@example.org')).length, 1);
    service.sender.refusal = 'permanent';
    await service.root.ok('POST', '/api/admin/mail/test', { to: 'refused@example.org' });
    await service.mailsTo('');
    service.sender.refusal = undefined;
    service.clock.advance(24 * HOUR_MS);
    assert.equal((await service.mailsTo('refused@example.org')).length, 0);
    assert.deepEqual((await service.root.ok('GET', '/api/admin/mail')).waiting, 0);
  });

  it('writes in the language of the request', async () => {
    const visitor = service.visitor();
    const body = { username: 'lilei', password: PASSWORD, email: 'lilei@example.org' };
    await visitor.ok('POST', '/api/user/register', body, { 'accept-language': 'zh-CN' });
    assert.match((await service.mailsTo('lilei@example.org'))[0]?.text ?? '', /lilei，您好/);
  });

  it('an e-mail address set by an administrator counts at once', async () => {
    await service.root.ok('POST', '/api/admin/users', { username: 'staff-made', password: PASSWORD });
    const [row] = await service.root.ok<{ id: number }[]>('GET', '/api/admin/users?q=staff-made');
    await service.root.ok('PUT', `/api/admin/users/${row?.id}`, { email: 'staff-made@example.org' });
    assert.equal(await logsIn('staff-made@example.org'), true);
  });
});
