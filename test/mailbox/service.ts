import { randomBytes } from 'node:crypto';
import { type MailboxCapability, makeMailbox, type StartSandboxMail } from '../../src/server/mailbox/mailbox.ts';
import type { MailConfig } from '../../src/server/mailbox/open-backend.ts';
import type { MailFaultPoint } from '../../src/server/mailbox/publishing.ts';
import { addMailboxRoutes } from '../../src/server/mailbox/routes.ts';
import type { Database } from '../../src/server/platform/db/database.ts';
import { makeLimits } from '../../src/server/platform/limits/limits.ts';
import { openLog } from '../../src/server/platform/log.ts';
import { openOutbound } from '../../src/server/platform/outbound/door.ts';
import { makeVault, type Vault } from '../../src/server/platform/secrets.ts';
import type { Tables } from '../../src/server/tables.ts';
import type { Person } from '../accounts/person.ts';
import { type Service, startService } from '../accounts/service.ts';

export const DOMAIN = 'mail.test';

/** Settings as without any environment, for a backend. */
export const mailConfig = (config: Partial<MailConfig>): MailConfig => ({
  mailBackend: undefined,
  mailDomain: DOMAIN,
  mailHost: 'localhost',
  mailImapPort: 993,
  mailSmtpPort: 465,
  mailPop3Port: 995,
  mailAppPasswordProtocols: ['imap', 'smtp', 'pop3'],
  webmailUrl: 'https://webmail.test',
  mailDovecotAuthSocket: undefined,
  mailDovecotAdminUrl: undefined,
  mailDovecotAdminKey: undefined,
  mailMailcowUrl: undefined,
  mailMailcowKey: undefined,
  mailMailcowQuotaMb: 1024,
  ...config,
});

export interface MailService extends Service {
  readonly mailbox: MailboxCapability;
  /** Somebody registered and logged in, with a phone bound. */
  bound(username: string): Promise<Person>;
}

export interface MailServiceOptions {
  readonly config: MailConfig;
  readonly startSandboxMail?: StartSandboxMail;
  readonly vault?: Vault;
  readonly at?: (point: MailFaultPoint) => void;
}

/** Accounts and mailboxes behind the real HTTP layer. */
export async function startMailService(database: Database<Tables>, options: MailServiceOptions): Promise<MailService> {
  const vault = options.vault ?? makeVault(randomBytes(32));
  const service = await startService(database, { parts: { vault } });
  const outbound = openOutbound();
  const mailbox = await makeMailbox({
    config: options.config,
    database,
    accounts: service.accounts.people,
    matchesAccountPassword: service.accounts.passwords.verify,
    audit: service.accounts.audit,
    vault,
    limits: makeLimits({ clock: service.clock }),
    outbound,
    clock: service.clock,
    log: openLog('silent'),
    startSandboxMail: options.startSandboxMail,
    ...(options.at === undefined ? {} : { at: options.at }),
  });
  addMailboxRoutes(service.routes, mailbox);
  return {
    ...service,
    mailbox,
    async bound(username) {
      const person = await service.person(username);
      await database.kysely
        .insertInto('bindings')
        .values({ user_id: person.id, kind: 'phone', value: `+1555${person.id}`, created_at: 0 })
        .execute();
      return person;
    },
    async close() {
      await mailbox.stop();
      await service.close();
      await outbound.close(0);
    },
  };
}

export interface AppPasswordRecord {
  has_app_password: boolean;
  email: string;
  app_password: string;
  imap_host: string;
  smtp_host: string;
  imap_port: number;
  smtp_port: number;
  protocols: string[];
  consistent: boolean;
  message: string;
}

export interface MailboxRecord {
  has_mailbox: boolean;
  email: string;
  password: string;
  password_source: string;
  message: string;
}

export const MAILBOX = '/api/user/mailbox';
export const APPLY = '/api/user/mailbox/apply';
export const APP_PASSWORD = '/api/user/mailbox/app-password';
