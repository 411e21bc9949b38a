import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { type RealMailServer, startRealMail } from '../../scripts/mail-servers.ts';
import { migrate } from '../../src/server/platform/db/migrate.ts';
import { openDatabase } from '../../src/server/platform/db/open-database.ts';
import { migrations, type Tables } from '../../src/server/tables.ts';
import { tokenOf } from '../accounts/email-fixture.ts';
import { PASSWORD, TestUser } from '../accounts/test-user-client.ts';
import { readByImap } from '../mail-clients.ts';
import { startTestService, type TestService } from '../test-service.ts';
import { whyNoDovecot } from './mail-server-suites.ts';
import { DOMAIN } from './mailbox-fixture.ts';

/** The service sends over SMTP to a real Postfix, which delivers into the mailbox of one of its accounts. */
describe('e-mails over a real Postfix', { skip: whyNoDovecot() }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'rg-email-'));
  const file = join(folder, 'reelgate.db');
  let server: RealMailServer;
  let service: TestService;
  before(async () => {
    const database = openDatabase<Tables>(`sqlite:${file}`);
    await migrate(database, migrations);
    await database.close();
    server = await startRealMail({ domain: DOMAIN, database: { kind: 'sqlite', file } });
    service = await startTestService(`sqlite:${file}`, {
      MAIL_BACKEND: 'dovecot',
      MAIL_DOMAIN: DOMAIN,
      MAIL_DOVECOT_AUTH_SOCKET: server.auth,
      // The test server's certificate is self-signed; a host name in the URL would be verified against it.
      SMTP_URL: `smtp://127.0.0.1:${server.mx}?ignoreTLS=true`,
      SMTP_FROM: `Reelgate <no-reply@reelgate.test>`,
    });
  });
  after(async () => {
    await service?.stop();
    await server?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  it('confirms an address and resets a password by the delivered e-mails', async () => {
    const reader = await service.signUp('reader');
    await service.app.database.kysely
      .insertInto('bindings')
      .values({ user_id: reader.id, kind: 'phone', value: '+15550001', created_at: 0 })
      .execute();
    const { email, password } = await reader.ok<{ email: string; password: string }>('POST', '/api/user/mailbox/apply');
    const read = (subject: string) => readByImap(server, { user: email, pass: password }, subject);
    const site = new URL(service.app.baseUrl).host;

    const writer = new TestUser(service.app.http.fastify, '127.0.0.1');
    await writer.ok('POST', '/api/user/register', { username: 'writer', password: PASSWORD, email });
    const confirmation = await read(`Confirm your e-mail address for ${site}`);
    await writer.ok('POST', '/api/user/email/confirm', { token: tokenOf({ text: confirmation }) });
    await writer.logIn(email);

    await writer.ok('POST', '/api/user/password-reset', { email });
    const token = tokenOf({ text: await read(`Reset your password for ${site}`) });
    await writer.ok('POST', '/api/user/password-reset/confirm', { token, password: 'another fine password' });
    await writer.fails(401, 'GET', '/api/user/self');
    // A security notification is e-mailed at once.
    assert.match(await read(`Your password was changed · ${site}`), /\/notifications\/settings/);
    await new TestUser(service.app.http.fastify, '127.0.0.1').logIn('writer', 'another fine password');
  });

  it('gives up on an e-mail that Postfix permanently refuses', async () => {
    await service.root.ok('POST', '/api/admin/mail/test', { to: `nobody-has-this@${DOMAIN}` });
    await service.app.mail.queue.sendDue();
    await service.app.mail.queue.sendDue();
    const state = await service.root.ok<{ waiting: number; last_error: string }>('GET', '/api/admin/mail');
    assert.equal(state.waiting, 0);
    assert.match(state.last_error, /550/);
  });
});
