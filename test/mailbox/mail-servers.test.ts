import assert from 'node:assert/strict';
import { before, it } from 'node:test';
import { OLD_PASSWORD, OLD_PASSWORD_HASH } from '../../importer/test/source-rows.ts';
import { PASSWORD } from '../accounts/test-user-client.ts';
import { ALL_ACCEPTED, ALL_REFUSED, imapClient, sendAndRead, tryLogins } from '../mail-clients.ts';
import { forEachMailServer, type MailServerFixture } from './mail-server-suites.ts';
import {
  APP_PASSWORD,
  APPLY,
  type AppPasswordRecord,
  MAILBOX,
  type MailboxFixture,
  type MailboxRecord,
} from './mailbox-fixture.ts';

forEachMailServer((name, open) => {
  let service: MailboxFixture;
  let mailServer: MailServerFixture;
  before(async () => {
    ({ service, mailServer } = await open());
  });

  /** A user with a mailbox and an application password. */
  const equip = async (username: string) => {
    const person = await service.personWithPhone(username);
    const { email, password } = await person.ok<{ email: string; password: string }>('POST', APPLY);
    const app = await person.ok<AppPasswordRecord>('POST', APP_PASSWORD);
    return { person, email, webmail: { user: email, pass: password }, app: { user: email, pass: app.app_password } };
  };

  it('is reachable over IMAP, POP3 and SMTP, and delivers mail', async () => {
    const { app, webmail } = await equip('ada');
    assert.deepEqual(await tryLogins(mailServer.endpoint(), app), ALL_ACCEPTED);
    assert.deepEqual(await tryLogins(mailServer.endpoint(), webmail), ALL_ACCEPTED);
    assert.deepEqual(await tryLogins(mailServer.endpoint(), { ...app, pass: 'wrong' }), ALL_REFUSED);
    const read = await sendAndRead(mailServer.endpoint(), app, 'Tide tables', 'High water at noon.');
    assert.equal(read.imap, 'High water at noon.');
    assert.match(read.pop3, /High water at noon\./);
  });

  it('refuses the old password on all three protocols after a new one, and ends its sessions', async () => {
    const { person, app, webmail } = await equip('bob');
    const session = imapClient(mailServer.endpoint(), app);
    await session.connect();
    const closed = new Promise((resolve) => session.on('close', () => resolve('closed')));
    const fresh = await person.ok<AppPasswordRecord>('POST', APP_PASSWORD);
    assert.equal(fresh.consistent, true);
    if (name === 'mailcow') await session.logout();
    assert.equal(await closed, 'closed');
    assert.deepEqual(await tryLogins(mailServer.endpoint(), app), ALL_REFUSED);
    assert.deepEqual(await tryLogins(mailServer.endpoint(), { ...app, pass: fresh.app_password }), ALL_ACCEPTED);
    assert.deepEqual(await tryLogins(mailServer.endpoint(), webmail), ALL_ACCEPTED);
    const read = await person.ok<AppPasswordRecord>('GET', APP_PASSWORD);
    assert.deepEqual([read.app_password, read.consistent], [fresh.app_password, true]);
  });

  it('reports that the mail server lost the password, and a new one restores access', async () => {
    const { person, email, app } = await equip('carol');
    await mailServer.loseAppPassword(email);
    const lost = await person.ok<AppPasswordRecord>('GET', APP_PASSWORD);
    assert.deepEqual([lost.has_app_password, lost.consistent], [true, false]);
    assert.deepEqual(await tryLogins(mailServer.endpoint(), app), ALL_REFUSED);
    const fresh = await person.ok<AppPasswordRecord>('POST', APP_PASSWORD);
    assert.deepEqual(await tryLogins(mailServer.endpoint(), { ...app, pass: fresh.app_password }), ALL_ACCEPTED);
    assert.equal((await person.ok<AppPasswordRecord>('GET', APP_PASSWORD)).consistent, true);
  });

  // The sandbox's server runs inside the service and cannot be down on its own.
  if (name !== 'sandbox')
    it('reports that the mail server is down and changes nothing', async () => {
      const { person, app } = await equip('dan');
      const late = await service.personWithPhone('dora');
      const rows = () =>
        service.database.kysely.selectFrom('app_passwords').selectAll().orderBy('mailbox_id').execute();
      const before = await rows();
      await mailServer.goDown();
      const started = Date.now();
      assert.match(await person.fails(200, 'GET', APP_PASSWORD), /could not be asked/);
      assert.ok(Date.now() - started < 5_000);
      assert.match(await person.fails(200, 'POST', APP_PASSWORD), /cannot be reached. Nothing was changed/);
      assert.match(await late.fails(200, 'POST', APPLY, { local_part: 'dora' }), /cannot be reached/);
      assert.equal((await late.ok<MailboxRecord>('GET', MAILBOX)).has_mailbox, false);
      assert.equal((await person.ok<MailboxRecord>('GET', MAILBOX)).has_mailbox, true);
      assert.deepEqual(await rows(), before);
      await mailServer.comeBack();
      assert.deepEqual(await tryLogins(mailServer.endpoint(), app), ALL_ACCEPTED);
      assert.equal((await person.ok<AppPasswordRecord>('GET', APP_PASSWORD)).app_password, app.pass);
      assert.equal((await late.ok<{ email: string }>('POST', APPLY, { local_part: 'dora' })).email, 'dora@mail.test');
    });

  it('refuses a disabled account, and accepts it once it is enabled again', async () => {
    const { person, app, webmail } = await equip('eve');
    const setStatus = async (status: number) => {
      await service.database.kysely.updateTable('accounts').set({ status }).where('id', '=', person.id).execute();
      await service.mailbox.reconciler?.syncAccess();
    };
    await setStatus(2);
    assert.deepEqual(await tryLogins(mailServer.endpoint(), app), ALL_REFUSED);
    assert.deepEqual(await tryLogins(mailServer.endpoint(), webmail), ALL_REFUSED);
    await setStatus(1);
    assert.deepEqual(await tryLogins(mailServer.endpoint(), app), ALL_ACCEPTED);
  });

  // mailcow stores its own password hashes; its adapter's tests check that it receives the account's hash.
  if (name !== 'mailcow')
    it('opens a legacy mailbox with the password of the account', async () => {
      const person = await service.personWithPhone('fay');
      await service.adoptLegacy(person, 'fay');
      const login = { user: 'fay@mail.test', pass: PASSWORD };
      assert.deepEqual(await tryLogins(mailServer.endpoint(), login), ALL_ACCEPTED);
      const app = await person.ok<AppPasswordRecord>('POST', APP_PASSWORD);
      assert.deepEqual(await tryLogins(mailServer.endpoint(), { ...login, pass: app.app_password }), ALL_ACCEPTED);
      await person.ok('PUT', '/api/user/self', { password: 'another password', original_password: PASSWORD });
      assert.deepEqual(await tryLogins(mailServer.endpoint(), login), ALL_REFUSED);
      assert.deepEqual(await tryLogins(mailServer.endpoint(), { ...login, pass: 'another password' }), ALL_ACCEPTED);
    });

  if (name !== 'mailcow')
    it('opens a legacy mailbox of an imported account with its old password', async () => {
      const person = await service.personWithPhone('iris');
      await service.adoptLegacy(person, 'iris');
      await service.database.kysely
        .updateTable('passwords')
        .set({ hash: OLD_PASSWORD_HASH })
        .where('user_id', '=', person.id)
        .execute();
      const login = { user: 'iris@mail.test', pass: OLD_PASSWORD };
      assert.deepEqual(await tryLogins(mailServer.endpoint(), login), ALL_ACCEPTED);
      assert.deepEqual(await tryLogins(mailServer.endpoint(), { ...login, pass: 'wrong' }), ALL_REFUSED);
    });

  it('accepts exactly the protocols of the password', async () => {
    const { person, email } = await equip('gil');
    const columns = { imap: 0, smtp: 0, pop3: 1 } as const;
    await service.database.kysely
      .updateTable('app_passwords')
      .set(columns)
      .where((where) =>
        where('mailbox_id', '=', where.selectFrom('mailboxes').select('id').where('user_id', '=', person.id)),
      )
      .execute();
    const limited = await person.ok<AppPasswordRecord>('POST', APP_PASSWORD);
    assert.deepEqual(limited.protocols, ['pop3']);
    const login = { user: email, pass: limited.app_password };
    assert.deepEqual(await tryLogins(mailServer.endpoint(), login), { ...ALL_REFUSED, pop3: 'in' });
    assert.equal((await person.ok<AppPasswordRecord>('GET', APP_PASSWORD)).consistent, true);
  });
});
