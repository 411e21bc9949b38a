import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { forEachDatabase } from '../../../test/for-each-database.ts';
import {
  APP_PASSWORD,
  APPLY,
  type AppPasswordRecord,
  MAILBOX,
  type MailboxFixture,
  type MailboxRecord,
  mailConfig,
  startMailboxFixture,
} from '../../../test/mailbox/mailbox-fixture.ts';
import { makeMailServerHandle } from '../../../test/mailbox/sandbox-mail-handle.ts';

const RECORD_KEYS = [
  'has_app_password',
  'email',
  'app_password',
  'imap_host',
  'smtp_host',
  'imap_port',
  'smtp_port',
  'protocols',
  'consistent',
  'message',
].sort();

forEachDatabase((_name, open) => {
  describe('the endpoints of the mailbox', () => {
    let service: MailboxFixture;
    before(async () => {
      const config = mailConfig({ mailBackend: 'sandbox' });
      service = await startMailboxFixture(await open(), {
        config,
        startSandboxMail: makeMailServerHandle().start,
      });
    });
    after(() => service.close());

    const auditOf = (action: string) =>
      service.database.kysely.selectFrom('audit_log').selectAll().where('action', '=', action).execute();

    it('report a missing mailbox', async () => {
      const person = await service.newUser('nobody-yet');
      const answer = await person.send('GET', MAILBOX);
      assert.deepEqual(Object.keys(answer.body).sort(), ['data', 'success']);
      assert.deepEqual(answer.body.data, {
        has_mailbox: false,
        email: '',
        password: '',
        password_source: 'mailbox',
        message: 'You have no mailbox yet. Apply for one first.',
      });
      const record = await person.ok<AppPasswordRecord>('GET', APP_PASSWORD);
      assert.equal(record.has_app_password, false);
      assert.equal(record.email, '');
      assert.match(await person.fails(200, 'POST', APP_PASSWORD), /no mailbox/);
    });

    it('require a bound phone or messaging account to apply', async () => {
      const person = await service.newUser('unbound');
      assert.match(await person.fails(200, 'POST', APPLY, {}), /Link a phone number or a messaging app/);
      assert.equal((await person.ok<MailboxRecord>('GET', MAILBOX)).has_mailbox, false);
    });

    it('create a mailbox once, then return its address', async () => {
      const ada = await service.personWithPhone('ada');
      const first = await ada.send('POST', APPLY, { local_part: 'ada.lovelace' });
      assert.deepEqual(Object.keys(first.body).sort(), ['data', 'message', 'success']);
      assert.equal(first.headers['cache-control'], 'no-store');
      const made = first.body.data as { email: string; password: string; password_source: string };
      assert.deepEqual(Object.keys(made).sort(), ['email', 'password', 'password_source']);
      assert.equal(made.email, 'ada.lovelace@mail.test');
      assert.equal(made.password_source, 'mailbox');
      assert.match(made.password, /^[a-zA-Z0-9]{24}$/);
      assert.deepEqual(await ada.ok('POST', APPLY, { local_part: 'another' }), { email: made.email });
      assert.deepEqual(await ada.ok('POST', APPLY), { email: made.email });
      const own = await ada.send('GET', MAILBOX);
      assert.equal(own.headers['cache-control'], 'no-store');
      const { has_mailbox, email, password, password_source } = own.body.data as MailboxRecord;
      assert.deepEqual({ has_mailbox, email, password, password_source }, { has_mailbox: true, ...made });
      assert.equal((await auditOf('mailbox.create')).length, 1);
      assert.deepEqual(
        (await auditOf('mailbox.read')).map((row) => [row.actor_id, row.target]),
        [[ada.id, 'mailbox:ada.lovelace@mail.test']],
      );
    });

    it('return the existing address for any request, however often', async () => {
      const person = await service.personWithPhone('settled');
      const { email } = await person.ok<MailboxRecord>('POST', APPLY);
      const bodies = [
        { local_part: '.x' },
        { local_part: 'postmaster' },
        { local_part: 7 },
        { local_part: null },
        ['x'],
        'x',
      ];
      for (const body of [...bodies, ...bodies]) assert.deepEqual(await person.ok('POST', APPLY, body), { email });
    });

    it('reject any other local_part while there is no mailbox, without counting it against the limit', async () => {
      const person = await service.personWithPhone('undecided');
      for (const body of [{ local_part: 7 }, { local_part: null }, { local_part: 'a..b' }, ['ada'], 'ada', 5])
        assert.match(await person.fails(400, 'POST', APPLY, body), /^local_part must be 3 to 30 characters/);
      assert.equal((await person.ok<MailboxRecord>('GET', MAILBOX)).has_mailbox, false);
      await person.ok('POST', APPLY, { local_part: 'decided' });
    });

    it('derive a name from the user name, with a number if it is taken', async () => {
      const data = async (username: string, body?: unknown) => {
        const person = await service.personWithPhone(username);
        return (await person.ok<{ email: string }>('POST', APPLY, body)).email;
      };
      assert.equal(await data('grace'), 'grace@mail.test');
      assert.equal(await data('grace-', {}), 'grace2@mail.test');
      assert.equal(await data('gra_ce'), 'gra_ce3@mail.test');
      assert.equal(await data('postmaster'), 'postmaster2@mail.test');
      assert.equal(await data('---'), `user${await latestId()}@mail.test`);
    });
    const latestId = async () =>
      (await service.database.kysely.selectFrom('accounts').select('id').orderBy('id', 'desc').executeTakeFirst())?.id;

    it('reject a name that is taken, resembles a taken one, or is reserved', async () => {
      const eve = await service.personWithPhone('eve');
      assert.match(await eve.fails(200, 'POST', APPLY, { local_part: 'ada.lovelace' }), /taken/);
      assert.match(await eve.fails(200, 'POST', APPLY, { local_part: 'adalovelace' }), /taken/);
      assert.match(await eve.fails(200, 'POST', APPLY, { local_part: 'postmaster' }), /reserved/);
      assert.match(await eve.fails(200, 'POST', APPLY, { local_part: 'web-master' }), /reserved/);
      assert.equal((await eve.ok<MailboxRecord>('GET', MAILBOX)).has_mailbox, false);
    });

    it('allow five applications an hour', async () => {
      const mallory = await service.personWithPhone('mallory');
      for (let count = 0; count < 5; count++) await mallory.fails(200, 'POST', APPLY, { local_part: 'ada.lovelace' });
      const answer = await mallory.send('POST', APPLY, { local_part: 'mallory' });
      assert.equal(answer.status, 429);
      assert.deepEqual(Object.keys(answer.body).sort(), ['message', 'success']);
      assert.ok(Number(answer.headers['retry-after']) > 3500);
      service.clock.advance(3_601_000);
      assert.equal(
        (await mallory.ok<{ email: string }>('POST', APPLY, { local_part: 'mallory' })).email,
        'mallory@mail.test',
      );
    });

    it('show, replace and check the application password', async () => {
      const bob = await service.personWithPhone('bob');
      await bob.ok('POST', APPLY);
      const none = await bob.ok<AppPasswordRecord>('GET', APP_PASSWORD);
      assert.deepEqual([none.has_app_password, none.app_password, none.email], [false, '', 'bob@mail.test']);
      const answer = await bob.send('POST', APP_PASSWORD);
      assert.deepEqual(Object.keys(answer.body).sort(), ['data', 'success']);
      assert.equal(answer.headers['cache-control'], 'no-store');
      const first = answer.body.data as AppPasswordRecord;
      assert.deepEqual(Object.keys(first).sort(), RECORD_KEYS);
      assert.deepEqual(first.protocols, ['imap', 'smtp', 'pop3']);
      assert.equal(first.imap_host, 'localhost');
      const read = await bob.ok<AppPasswordRecord>('GET', APP_PASSWORD);
      assert.deepEqual({ ...read, message: '' }, { ...first, message: '' });
      const second = await bob.ok<AppPasswordRecord>('POST', APP_PASSWORD);
      assert.notEqual(second.app_password, first.app_password);
      assert.equal(second.consistent, true);
      assert.equal((await auditOf('mailbox.app-password.replace')).length, 2);
      assert.equal((await auditOf('mailbox.app-password.read')).length, 1);
    });

    it('state the standard ports, and in the message those on which a sandbox listens', async () => {
      const person = await service.personWithPhone('ports');
      await person.ok('POST', APPLY);
      for (const method of ['GET', 'POST'] as const) {
        const record = await person.ok<AppPasswordRecord>(method, APP_PASSWORD);
        assert.deepEqual([record.imap_port, record.smtp_port], [993, 465]);
        assert.match(record.message, /127\.0\.0\.1, port \d+ for IMAP and \d+ for SMTP\.$/);
      }
      assert.match((await person.ok<MailboxRecord>('GET', MAILBOX)).message, /port \d+ for IMAP/);
    });

    it('allow ten regenerations an hour', async () => {
      const carol = await service.personWithPhone('carol');
      await carol.ok('POST', APPLY);
      for (let count = 0; count < 10; count++) await carol.ok('POST', APP_PASSWORD);
      assert.match(await carol.fails(429, 'POST', APP_PASSWORD), /Too many/);
    });

    it('return each account its own data, and reject requests without a credential', async () => {
      const [dan, fay] = [await service.personWithPhone('dan'), await service.personWithPhone('fay')];
      const made = await dan.ok<{ password: string }>('POST', APPLY);
      const app = await dan.ok<AppPasswordRecord>('POST', APP_PASSWORD);
      for (const [method, url] of [
        ['GET', MAILBOX],
        ['GET', APP_PASSWORD],
      ] as const) {
        const text = JSON.stringify((await fay.send(method, url)).body);
        for (const canary of ['dan@mail.test', made.password, app.app_password]) assert.ok(!text.includes(canary));
        fay.cookies.clear();
        assert.equal((await fay.send(method, url)).status, 401);
        await fay.logIn('fay');
      }
      const other = await service.newUser('other');
      other.id = dan.id;
      await other.fails(401, 'GET', MAILBOX);
    });

    it('T89: store no password in clear anywhere in the database', async () => {
      const gil = await service.personWithPhone('gil');
      const made = await gil.ok<{ password: string }>('POST', APPLY);
      const app = await gil.ok<AppPasswordRecord>('POST', APP_PASSWORD);
      const { kysely } = service.database;
      const tables = ['mailboxes', 'app_passwords', 'audit_log', 'mail_auth_mailbox', 'mail_auth_app'] as const;
      for (const table of tables) {
        const text = JSON.stringify(await kysely.selectFrom(table).selectAll().execute());
        assert.ok(text.length > 2);
        for (const secret of [made.password, app.app_password]) assert.ok(!text.includes(secret), table);
      }
    });

    it('reject a sealed password that was moved to another row', async () => {
      const [hal, ivy] = [await service.personWithPhone('hal'), await service.personWithPhone('ivy')];
      await hal.ok('POST', APPLY);
      await ivy.ok('POST', APPLY);
      const { kysely } = service.database;
      const sealed = (id: number) =>
        kysely.selectFrom('mailboxes').select('password_sealed').where('user_id', '=', id).executeTakeFirstOrThrow();
      await kysely
        .updateTable('mailboxes')
        .set(await sealed(hal.id))
        .where('user_id', '=', ivy.id)
        .execute();
      await ivy.fails(500, 'GET', MAILBOX);
    });

    it('show a legacy mailbox without a password', async () => {
      const kim = await service.personWithPhone('kim');
      await service.adoptLegacy(kim, 'kim.old');
      const own = await kim.ok<MailboxRecord>('GET', MAILBOX);
      assert.deepEqual(
        [own.has_mailbox, own.email, own.password, own.password_source],
        [true, 'kim.old@mail.test', '', 'account'],
      );
    });

    it('reject malformed bodies without changing anything', async () => {
      const lee = await service.personWithPhone('lee');
      for (const body of [[], 'x', 7, { local_part: 7 }, { local_part: null }, { local_part: {} }])
        await lee.fails(400, 'POST', APPLY, body);
      assert.equal((await lee.ok<MailboxRecord>('GET', MAILBOX)).has_mailbox, false);
    });

    it('answer in Chinese on request', async () => {
      const mei = await service.personWithPhone('mei');
      const answer = await mei.send('POST', APPLY, { local_part: 'postmaster' }, { 'accept-language': 'zh-CN' });
      assert.equal(answer.body.message, '该名称为保留名称，请换一个。');
    });
  });

  it('report a service without a mail server', async () => {
    const service = await startMailboxFixture(await open(), { config: mailConfig({}) });
    const person = await service.personWithPhone('ada');
    assert.equal((await person.ok<MailboxRecord>('GET', MAILBOX)).has_mailbox, false);
    assert.match(await person.fails(200, 'POST', APPLY), /does not offer mailboxes/);
    await service.close();
  });

  it('ends its message with the webmail address, without trailing space if there is none', async () => {
    for (const webmailUrl of ['https://webmail.test', '']) {
      const config = mailConfig({ mailBackend: 'sandbox', webmailUrl });
      const service = await startMailboxFixture(await open(), {
        config,
        startSandboxMail: makeMailServerHandle().start,
      });
      try {
        const person = await service.personWithPhone('lena');
        await person.ok('POST', APPLY, {});
        const { message } = await person.ok<MailboxRecord>('GET', MAILBOX);
        assert.equal(message, message.trim());
        assert.equal(message.endsWith('https://webmail.test'), webmailUrl !== '');
      } finally {
        await service.close();
      }
    }
  });
});
