import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { choosePorts, type RealMailServer, startRealMail } from '../../scripts/mail-servers.ts';
import { logInToDovecot } from '../../src/server/mailbox/backends/dovecot.ts';
import { migrate } from '../../src/server/platform/db/migrate.ts';
import { openDatabase } from '../../src/server/platform/db/open-database.ts';
import { migrations, type Tables } from '../../src/server/tables.ts';
import { ALL_ACCEPTED, ALL_REFUSED, readByImap, smtpClient, tryLogins } from '../mail-clients.ts';
import { whyNoDovecot } from './mail-server-suites.ts';
import {
  APP_PASSWORD,
  APPLY,
  type AppPasswordRecord,
  DOMAIN,
  type MailboxFixture,
  mailConfig,
  startMailboxFixture,
} from './mailbox-fixture.ts';
import { startSourceIpProxy } from './source-ip-proxy.ts';

describe('our configuration for Dovecot and Postfix', { skip: whyNoDovecot() }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'rg-dovecot-'));
  const file = join(folder, 'reelgate.db');
  const database = openDatabase<Tables>(`sqlite:${file}`);
  let server: RealMailServer;
  let service: MailboxFixture;
  let app: { user: string; pass: string };
  let webmail: { user: string; pass: string };
  let attempts = 0;
  before(async () => {
    await migrate(database, migrations);
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const { port: taken } = other.address() as AddressInfo;
    server = await startRealMail({
      domain: DOMAIN,
      database: { kind: 'sqlite', file },
      webmailNetworks: ['10.9.9.9', '127.0.0.64/26'],
      operator: `ada@${DOMAIN}`,
      slowsGuessing: true,
      choosePorts: async () => ({ ...(await choosePorts()), ...[{ mx: taken }, { imaps: taken }][attempts++] }),
    });
    other.close();
    service = await startMailboxFixture(database, {
      config: mailConfig({ mailBackend: 'dovecot', mailDovecotAuthSocket: server.auth }),
    });
    const ada = await service.personWithPhone('ada');
    const made = await ada.ok<{ email: string; password: string }>('POST', APPLY);
    const record = await ada.ok<AppPasswordRecord>('POST', APP_PASSWORD);
    app = { user: made.email, pass: record.app_password };
    webmail = { user: made.email, pass: made.password };
  });
  after(async () => {
    await service.close();
    await server.stop();
    await database.close();
    rmSync(folder, { recursive: true, force: true });
  });

  it('is started on new ports when another program has taken one', () => {
    assert.equal(attempts, 3);
  });

  it('accepts the mailbox password only from the webmail, the application password from everywhere', async () => {
    const ofWebmail = await startSourceIpProxy(server, '127.0.0.100');
    const ofNeighbour = await startSourceIpProxy(server, '127.0.0.128');
    for (const elsewhere of [server, ofNeighbour]) {
      assert.deepEqual(await tryLogins(elsewhere, app), ALL_ACCEPTED);
      assert.deepEqual(await tryLogins(elsewhere, webmail), ALL_REFUSED);
    }
    assert.deepEqual(await tryLogins(ofWebmail, webmail), ALL_ACCEPTED);
    assert.deepEqual(await tryLogins(ofWebmail, app), ALL_ACCEPTED);
    assert.deepEqual(await tryLogins(ofWebmail, { ...webmail, pass: 'wrong' }), ALL_REFUSED);
    await Promise.all([ofWebmail, ofNeighbour].map((proxy) => proxy.stop()));
  });

  it('accepts mail only from its owner, and for its domain only', async () => {
    const client = smtpClient(server, app);
    const send = (from: string, to: string) => client.sendMail({ from, to, subject: 'x', text: 'x' });
    await assert.rejects(send(`bob@${DOMAIN}`, app.user), { responseCode: 553 });
    await assert.rejects(send(app.user, 'somebody@elsewhere.test'), /5\.7\.1|5\.1\.1|rejected|550/);
    await assert.rejects(send(app.user, `nobody@${DOMAIN}`), { responseCode: 550 });
    client.close();
    const anonymous = smtpClient(server, { user: '', pass: '' });
    await assert.rejects(anonymous.sendMail({ from: app.user, to: app.user, text: 'x' }));
    anonymous.close();
  });

  it('delivers mail for postmaster to the operator', async () => {
    const client = smtpClient(server, app);
    await client.sendMail({ from: app.user, to: `postmaster@${DOMAIN}`, subject: 'To the operator', text: 'Hello.' });
    client.close();
    assert.equal(await readByImap(server, app, 'To the operator'), 'Hello.');
  });

  it('rejects wrong passwords without penalizing other logins from the same address', async () => {
    const ask = (secret: string) =>
      logInToDovecot(
        server.auth,
        { user: app.user, secret, protocols: ['imap', 'smtp', 'pop3'] },
        AbortSignal.timeout(10_000),
      );
    const refused = { imap: 'refused', smtp: 'refused', pop3: 'refused' };
    for (let count = 0; count < 4; count++) {
      const started = performance.now();
      assert.deepEqual(Object.fromEntries(await ask('wrong')), refused);
      assert.ok(performance.now() - started < 2_900, 'a refusal has to come within the three seconds of the check');
    }
    assert.deepEqual(Object.fromEntries(await ask(app.pass)), { imap: 'accepted', smtp: 'accepted', pop3: 'accepted' });
    for (const odd of ['', 'a\tb', 'a\nb', 'a\0b', 'é'.repeat(200)])
      for (const verdict of (await ask(odd)).values()) assert.notEqual(verdict, 'accepted');
  });
});
