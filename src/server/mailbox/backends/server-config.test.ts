import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import { sql } from 'kysely';
import { Client } from 'pg';
import { forEachDatabase } from '../../../../test/for-each-database.ts';
import { migrate } from '../../platform/db/migrate.ts';
import { openDatabase } from '../../platform/db/open-database.ts';
import { migrations, type Tables } from '../../tables.ts';
import {
  dovecotFiles,
  grantStatements,
  type MailServerConfigOptions,
  postfixFiles,
  writeMailServerConfig,
} from './server-config.ts';

const layout: MailServerConfigOptions = {
  root: '/srv/mail',
  domain: 'example.org',
  hostname: 'mail.example.org',
  listen: '*',
  ports: { imaps: 993, pop3s: 995, smtps: 465, mx: 25, doveadm: 18_081 },
  tls: { certFile: '/srv/cert.pem', keyFile: '/srv/key.pem' },
  database: { kind: 'postgres', host: 'db', port: 5432, name: 'reelgate', user: 'dovecot_ro', password: 'canary' },
  doveadmKey: 'canary-key',
  mailUid: 5000,
  authGroup: 'reelgate',
  webmailNetworks: [],
  operator: undefined,
  slowsGuessing: true,
  sendsOutside: true,
};

it('files with secrets are readable by root alone', () => {
  for (const { path, mode, text } of [...dovecotFiles(layout), ...postfixFiles(layout)])
    if (text.includes('canary')) assert.equal(mode, 0o600, path);
});

it('the servers can read their files under any umask of the writing process', async () => {
  const root = join(mkdtempSync(join(tmpdir(), 'rg-layout-')), 'srv');
  const umask = process.umask(0o077);
  try {
    await writeMailServerConfig({ ...layout, root });
  } finally {
    process.umask(umask);
  }
  const modeOf = (path: string) => statSync(join(root, path)).mode & 0o777;
  for (const open of ['.', 'dovecot-run', 'log', 'postfix', 'postfix/conf', 'postfix/spool'])
    assert.equal(modeOf(open), 0o755, open);
  for (const shut of ['etc', 'mail', 'postfix/data']) assert.equal(modeOf(shut), 0o700, shut);
  assert.equal(modeOf('postfix/conf/main.cf'), 0o644);
  assert.equal(modeOf('etc/dovecot.conf'), 0o600);
  rmSync(join(root, '..'), { recursive: true });
});

it('the Postfix configuration names no database', () => {
  for (const { text } of postfixFiles(layout)) assert.ok(!/sqlite|pgsql|canary/.test(text));
});

it('names the same Debian packages in mail-config and docs/mail.md', () => {
  const read = (path: string) => readFileSync(join(import.meta.dirname, '../../../..', path), 'utf8');
  const packagesIn = (text: string) => /dovecot-core(?: [a-z0-9-]+)+/.exec(text)?.[0];
  const documented = packagesIn(read('docs/mail.md'));
  assert.match(documented ?? '', /dovecot-sqlite.* postfix$/);
  assert.equal(packagesIn(read('scripts/mail-config.ts')), documented);
});

forEachDatabase((name, _open, freshUrl) => {
  if (name !== 'postgres') return;
  it("Dovecot's database role reads the two views and nothing else", async () => {
    const url = await freshUrl();
    const database = openDatabase<Tables>(url);
    await migrate(database, migrations);
    const role = `mail_${randomBytes(6).toString('hex')}`;
    for (const statement of grantStatements(role, "o'hara")) await sql.raw(statement).execute(database.kysely);
    const asDovecot = new URL(url);
    asDovecot.username = role;
    asDovecot.password = "o'hara";
    const client = new Client({ connectionString: asDovecot.href });
    await client.connect();
    for (const view of ['mail_auth_mailbox', 'mail_auth_app']) await client.query(`select * from ${view}`);
    for (const table of ['mailboxes', 'app_passwords', 'accounts', 'passwords', 'sessions', 'tokens', 'channels'])
      await assert.rejects(client.query(`select * from ${table}`), /permission denied/, table);
    await assert.rejects(client.query('delete from app_passwords'), /permission denied/);
    await client.end();
    await database.close();
  });
});
