import { randomBytes } from 'node:crypto';
import { chmodSync } from 'node:fs';
import { after, describe } from 'node:test';
import { sql } from 'kysely';
import { missingPrograms, type RealMailServer, startRealMail } from '../../scripts/mail-servers.ts';
import { startSandboxMail } from '../../src/sandbox/mail/mail-server.ts';
import { grantStatements, type MailServerDatabase } from '../../src/server/mailbox/backends/server-config.ts';
import type { MailConfig } from '../../src/server/mailbox/create-mail-backend.ts';
import type { Database } from '../../src/server/platform/db/database.ts';
import { migrate } from '../../src/server/platform/db/migrate.ts';
import { openDatabase } from '../../src/server/platform/db/open-database.ts';
import { migrations, type Tables } from '../../src/server/tables.ts';
import { forEachDatabase } from '../for-each-database.ts';
import type { MailServerEndpoint } from '../mail-clients.ts';
import {
  DOMAIN,
  type MailboxFixture,
  type MailboxFixtureOptions,
  mailConfig,
  startMailboxFixture,
} from './mailbox-fixture.ts';
import { startMailcow } from './mailcow-fixture.ts';
import { makeMailServerHandle } from './sandbox-mail-handle.ts';

/** A mail server behind a service, as the shared suite drives it. */
export interface MailServerFixture {
  readonly options: MailboxFixtureOptions;
  /** Where mail programs connect; known once the service runs. */
  endpoint(): MailServerEndpoint;
  /** Makes the server lose or change the application password without the service's knowledge. */
  loseAppPassword(email: string): Promise<void>;
  goDown(): Promise<void>;
  comeBack(): Promise<void>;
  stop(): Promise<void>;
}

type OpenFixture = (database: Database<Tables>, url: string) => Promise<MailServerFixture>;

const FIXTURES: Readonly<Record<'sandbox' | 'mailcow' | 'dovecot', OpenFixture>> = {
  async sandbox(database) {
    const mail = makeMailServerHandle();
    return {
      options: { config: mailConfig({ mailBackend: 'sandbox' }), startSandboxMail: mail.start },
      endpoint: mail.server,
      loseAppPassword: (email) => overwriteHash(database, email),
      // It runs inside the service, so it cannot be down on its own.
      goDown: async () => {},
      comeBack: async () => {},
      stop: async () => {},
    };
  },

  async mailcow() {
    const { mailcow, sandbox, config } = await startMailcow();
    const mail = await startSandboxMail({
      domain: DOMAIN,
      authenticate: async (...login) => mailcow.authenticates(...login),
      mailboxExists: async (address) => mailcow.exists(address),
    });
    return {
      options: { config },
      endpoint: () => mail,
      loseAppPassword: async (email) => mailcow.deleteAppPasswords(email),
      goDown: async () => {
        sandbox.control.fault({ kind: 'reset', times: Number.POSITIVE_INFINITY });
      },
      comeBack: async () => sandbox.control.clearFaults(),
      stop: async () => {
        await mail.close();
        await sandbox.stop();
      },
    };
  },

  async dovecot(database, url) {
    const server: RealMailServer = await startRealMail({ domain: DOMAIN, database: await databaseOf(database, url) });
    return {
      options: {
        config: mailConfig({
          mailBackend: 'dovecot',
          mailDovecotAuthSocket: server.auth,
          mailApiUrl: { url: server.adminUrl, key: server.adminKey },
        }),
      },
      endpoint: () => server,
      loseAppPassword: (email) => overwriteHash(database, email),
      goDown: () => server.stopDovecot(),
      comeBack: () => server.startDovecot(),
      stop: () => server.stop(),
    };
  },
};

/** Changes the hash that the mail server reads, not the sealed password that we keep. */
async function overwriteHash(database: Database<Tables>, email: string): Promise<void> {
  const { id } = await database.kysely
    .selectFrom('mailboxes')
    .select('id')
    .where('address', '=', email)
    .executeTakeFirstOrThrow();
  await database.kysely
    .updateTable('app_passwords')
    .set({
      hash: '{SSHA512}bm9ib2R5IGtub3dzIHRoaXMgcGFzc3dvcmQsIG5vdCBldmVuIHRoZSBvbmUgd2hvIHdyb3RlIGl0IGRvd24gaGVyZS4uLg==',
    })
    .where('mailbox_id', '=', id)
    .execute();
}

/** The database as Dovecot opens it. */
async function databaseOf(database: Database<Tables>, url: string): Promise<MailServerDatabase> {
  if (url.startsWith('sqlite:')) return { kind: 'sqlite', file: url.slice('sqlite:'.length) };
  const role = `mail_${randomBytes(6).toString('hex')}`;
  for (const statement of grantStatements(role, 'secret')) await sql.raw(statement).execute(database.kysely);
  const { searchParams, hostname, port, pathname } = new URL(url);
  const host = searchParams.get('host') ?? hostname;
  // Dovecot runs as neither root nor postgres and needs access to the socket of the test's server.
  if (host.startsWith('/')) chmodSync(host, 0o711);
  return {
    kind: 'postgres',
    host,
    port: Number(port === '' ? 5432 : port),
    name: pathname.slice(1),
    user: role,
    password: 'secret',
  };
}

/** A service and the mail server behind it. */
export interface OpenedFixture {
  readonly service: MailboxFixture;
  readonly mailServer: MailServerFixture;
}

/** The reason why the real mail server cannot run here; under CI this fails instead. */
export function whyNoDovecot(): string | false {
  if (process.env.CI) return false;
  const missing = missingPrograms();
  if (missing.length > 0) return `not installed: ${missing.join(', ')}`;
  return process.getuid?.() === 0 ? false : 'Dovecot and Postfix are started by root';
}

/** Declares a suite for every mail server on every database; all resources are closed after it. */
export function forEachMailServer(
  suite: (name: keyof typeof FIXTURES, open: (config?: Partial<MailConfig>) => Promise<OpenedFixture>) => void,
): void {
  forEachDatabase((_name, _open, freshUrl) => {
    for (const name of Object.keys(FIXTURES) as (keyof typeof FIXTURES)[]) {
      describe(`with ${name}`, { skip: name === 'dovecot' && whyNoDovecot() }, () => {
        const undo: (() => Promise<void>)[] = [];
        after(async () => {
          for (const action of undo.reverse()) await action();
        });
        suite(name, async (config = {}) => {
          const url = await freshUrl();
          const database = openDatabase<Tables>(url);
          undo.push(() => database.close());
          await migrate(database, migrations);
          const mailServer = await FIXTURES[name](database, url);
          undo.push(() => mailServer.stop());
          const { options } = mailServer;
          const service = await startMailboxFixture(database, { ...options, config: { ...options.config, ...config } });
          undo.push(() => service.close());
          return { service, mailServer };
        });
      });
    }
  });
}
