import { randomBytes } from 'node:crypto';
import type { MailConfig, StartSandboxMail } from '../../src/server/mailbox/create-mail-backend.ts';
import { adoptLegacyMailbox } from '../../src/server/mailbox/mailbox-service.ts';
import { type MailboxFeature, makeMailbox } from '../../src/server/mailbox/module.ts';
import type { MailFaultPoint } from '../../src/server/mailbox/provisioner.ts';
import { addMailboxRoutes } from '../../src/server/mailbox/routes.ts';
import type { Database } from '../../src/server/platform/db/database.ts';
import { createRateLimits } from '../../src/server/platform/limits/rate-limits.ts';
import { openLog } from '../../src/server/platform/log.ts';
import { createMetrics } from '../../src/server/platform/metrics.ts';
import { openOutbound } from '../../src/server/platform/outbound/client.ts';
import { createVault, type Vault } from '../../src/server/platform/vault.ts';
import type { Tables } from '../../src/server/tables.ts';
import { type AccountsFixture, startAccounts } from '../accounts/accounts-fixture.ts';
import type { TestUser } from '../accounts/test-user-client.ts';

export const DOMAIN = 'mail.test';

/** The default settings of a backend, as without any environment. */
export const mailConfig = (config: Partial<MailConfig>): MailConfig => ({
  mailBackend: undefined,
  mailDomain: DOMAIN,
  mailHost: 'localhost',
  webmailUrl: 'https://webmail.test',
  mailDovecotAuthSocket: undefined,
  mailApiUrl: undefined,
  ...config,
});

/** Accounts and mailboxes, with helpers to set up users. */
export interface MailboxFixture extends AccountsFixture {
  readonly mailbox: MailboxFeature;
  /** A registered and signed-in user with a linked phone. */
  personWithPhone(username: string): Promise<TestUser>;
  /**
   * Registers a mailbox the account had before it used the service.
   * @returns its address
   */
  adoptLegacy(person: TestUser, localPart: string): Promise<string>;
}

/** The mail configuration and replaceable dependencies. */
export interface MailboxFixtureOptions {
  readonly config: MailConfig;
  readonly startSandboxMail?: StartSandboxMail;
  readonly vault?: Vault;
  readonly at?: (point: MailFaultPoint) => void;
}

/** Accounts and mailboxes behind the real HTTP layer. */
export async function startMailboxFixture(
  database: Database<Tables>,
  options: MailboxFixtureOptions,
): Promise<MailboxFixture> {
  const vault = options.vault ?? createVault(randomBytes(32));
  const service = await startAccounts(database, { dependencies: { vault } });
  const outbound = openOutbound();
  const mailbox = await makeMailbox({
    config: options.config,
    database,
    accounts: service.accounts.users,
    matchesAccountPassword: (password, stored) => service.accounts.passwords.verify(password, stored),
    auditLog: service.accounts.auditLog,
    vault,
    rateLimits: createRateLimits({ clock: service.clock }),
    outbound,
    clock: service.clock,
    log: openLog('silent'),
    metrics: createMetrics('test'),
    startSandboxMail: options.startSandboxMail,
    ...(options.at === undefined ? {} : { onFaultPoint: options.at }),
  });
  addMailboxRoutes(service.routes, mailbox);
  return {
    ...service,
    mailbox,
    async personWithPhone(username) {
      const person = await service.newUser(username);
      await database.kysely
        .insertInto('bindings')
        .values({ user_id: person.id, kind: 'phone', value: `+1555${person.id}`, created_at: 0 })
        .execute();
      return person;
    },
    adoptLegacy: ({ id }, localPart) =>
      adoptLegacyMailbox({ database, clock: service.clock, domain: DOMAIN }, id, localPart),
    async close() {
      await mailbox.stop();
      await service.close();
      await outbound.close(0);
    },
  };
}

/** Response body of the application password endpoint. */
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

/** Response body of the mailbox endpoint. */
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
