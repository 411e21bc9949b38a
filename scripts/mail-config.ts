/**
 * Writes the configuration of Dovecot 2.3 and Postfix 3.7 for this service into one folder and prints the next steps;
 * docs/mail.md describes the whole setup. Changes nothing outside the folder.
 */

import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chownSync } from 'node:fs';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import {
  grantStatements,
  type MailServerConfigOptions,
  type MailServerDatabase,
  socketPaths,
  writeMailServerConfig,
} from '../src/server/mailbox/backends/server-config.ts';
import { MAIL_PORTS } from '../src/server/mailbox/mail-backend.ts';
import { loadConfig } from '../src/server/platform/config.ts';
import { ConfigError } from '../src/server/platform/setting-readers.ts';

const USAGE = `usage: npm run mail-config -- --root FOLDER --cert FILE --key FILE --auth-group GROUP [options]
  --root FOLDER            where everything of both servers lives, such as /srv/reelgate-mail
  --cert FILE --key FILE   certificate chain and key for MAIL_HOST, PEM
  --auth-group GROUP       the group Reelgate runs in; it may ask Dovecot about passwords
  --operator ADDRESS       gets the mail for postmaster and abuse
  --webmail-net CIDR       accept the mailbox password from here alone; repeatable
  --db-role NAME           PostgreSQL: the role Dovecot reads with (default dovecot_ro); its password is made here
  --listen ADDRESS         default * (all addresses)
  --inside-only            refuse recipients outside MAIL_DOMAIN
MAIL_DOMAIN, MAIL_HOST, the ports and DATABASE_URL come from the environment and .env, as for the service.`;

/** Debian packages of both servers; keep in step with docs/mail.md. */
const PACKAGES = 'dovecot-core dovecot-imapd dovecot-pop3d dovecot-lmtpd dovecot-sqlite dovecot-pgsql postfix';

function fail(line: string): never {
  console.error(line);
  process.exit(2);
}

/** Rejects Dovecot 2.4, whose configuration language differs. */
function assertDovecot23(): void {
  const version = dovecotVersion();
  if (version === undefined) fail(`Dovecot is not installed: apt-get install ${PACKAGES}`);
  if (!version.startsWith('2.3.'))
    fail(`This writes configuration for Dovecot 2.3 and the installed one is ${version}`);
}

function dovecotVersion(): string | undefined {
  try {
    return execFileSync('/usr/sbin/dovecot', ['--version'], { encoding: 'utf8' });
  } catch {
    return undefined;
  }
}

function toDatabase(url: string, role: string, password: string): MailServerDatabase {
  if (url.startsWith('sqlite:')) return { kind: 'sqlite', file: resolve(url.slice('sqlite:'.length)) };
  const { searchParams, hostname, port, pathname } = new URL(url);
  const host = searchParams.get('host') ?? hostname;
  return { kind: 'postgres', host, port: Number(port || 5432), name: pathname.slice(1), user: role, password };
}

const { values } = parseArgs({
  options: {
    root: { type: 'string' },
    cert: { type: 'string' },
    key: { type: 'string' },
    'auth-group': { type: 'string' },
    operator: { type: 'string' },
    'webmail-net': { type: 'string', multiple: true, default: [] },
    'db-role': { type: 'string', default: 'dovecot_ro' },
    listen: { type: 'string', default: '*' },
    'inside-only': { type: 'boolean', default: false },
  },
});
const { root, cert, key } = values;
const authGroup = values['auth-group'];
if (root === undefined || cert === undefined || key === undefined || authGroup === undefined) fail(USAGE);
if (values['webmail-net'].some((net) => !/^[0-9a-fA-F.:]+(\/\d{1,3})?$/.test(net)))
  fail('--webmail-net takes 10.0.0.0/8');
assertDovecot23();

const { config } = (() => {
  try {
    return loadConfig();
  } catch (error) {
    if (error instanceof ConfigError) fail(error.message);
    throw error;
  }
})();
const password = randomBytes(18).toString('base64url');
const layout: MailServerConfigOptions = {
  root: resolve(root),
  domain: config.mailDomain,
  hostname: config.mailHost,
  listen: values.listen,
  ports: {
    imaps: MAIL_PORTS.imap,
    pop3s: MAIL_PORTS.pop3,
    smtps: MAIL_PORTS.smtp,
    mx: 25,
    doveadm: 18_081,
  },
  tls: { certFile: resolve(cert), keyFile: resolve(key) },
  database: toDatabase(config.databaseUrl, values['db-role'], password),
  doveadmKey: randomBytes(24).toString('hex'),
  mailUid: 5000,
  authGroup,
  webmailNetworks: values['webmail-net'],
  operator: values.operator,
  slowsGuessing: true,
  sendsOutside: !values['inside-only'],
};
await writeMailServerConfig(layout);
if (process.getuid?.() === 0) {
  chownSync(`${layout.root}/mail`, layout.mailUid, layout.mailUid);
  execFileSync('chown', ['postfix', `${layout.root}/postfix/data`]);
}

const grants =
  layout.database.kind === 'sqlite'
    ? ''
    : `
1. As the owner of the database, after the service has started once:
${grantStatements(values['db-role'], password)
  .map((statement) => `   ${statement};`)
  .join('\n')}
`;
console.log(`Wrote ${layout.root}.
${grants}
Start, Postfix first:
   postfix -c ${layout.root}/postfix/conf start
   dovecot -c ${layout.root}/etc/dovecot.conf

Settings of the service:
   MAIL_BACKEND=dovecot
   MAIL_DOVECOT_AUTH_SOCKET=${socketPaths(layout.root).reelgate}
   MAIL_API_URL=http://:${layout.doveadmKey}@127.0.0.1:${layout.ports.doveadm}`);
