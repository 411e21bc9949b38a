import type { AuditLog } from '../accounts/audit-log.ts';
import type { Notifier } from '../notifications/notifier.ts';
import type { Clock } from '../platform/clock.ts';
import type { Database } from '../platform/db/database.ts';
import type { RateLimits } from '../platform/limits/rate-limits.ts';
import type { Log } from '../platform/log.ts';
import type { Metrics } from '../platform/metrics.ts';
import type { OutboundClient } from '../platform/outbound/outbound.ts';
import type { Vault } from '../platform/vault.ts';
import type { Tables } from '../tables.ts';
import {
  createMailBackend,
  type MailConfig,
  SandboxLoginCheck,
  type StartSandboxMail,
  startSandboxMailServer,
} from './create-mail-backend.ts';
import { CountedMailBackend, MAIL_PORTS, MAIL_PROTOCOLS } from './mail-backend.ts';
import {
  AppPasswordCheck,
  type MailAccounts,
  MailboxService,
  type MailServer,
  ReconcileLoop,
  Reconciler,
} from './mailbox-service.ts';
import { MailboxStore } from './mailbox-store.ts';
import { DevicesShownPasswordStore, PasswordEncryption, SeenPasswordNotices } from './passwords.ts';
import { type MailFaultPoint, Provisioner } from './provisioner.ts';
import type { MailClientSettings } from './routes.ts';

interface MailboxDependencies {
  readonly config: MailConfig;
  readonly database: Database<Tables>;
  readonly accounts: MailAccounts;
  /** Checks the password of an account against its stored hash, for legacy mailboxes in the sandbox. */
  readonly matchesAccountPassword: (password: string, phc: string) => Promise<boolean>;
  readonly auditLog: AuditLog;
  readonly vault: Vault;
  readonly rateLimits: RateLimits;
  readonly outbound: OutboundClient;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Pick<Metrics, 'recordMailServerCall'>;
  readonly startSandboxMail: StartSandboxMail | undefined;
  /** Lets a test kill the process at one of these points. */
  readonly onFaultPoint?: (point: MailFaultPoint) => void;
}

/** The part of this capability that its own routes, other capabilities and app.ts use. */
export interface MailboxFeature {
  readonly mailboxes: MailboxService;
  readonly clientSettings: MailClientSettings;
  readonly webmailUrl: string;
  readonly revokeLagSeconds: number;
  readonly reconciler: Reconciler | undefined;
  /** Starts reconciling in the background. */
  start(): void;
  stop(): Promise<void>;
}

/** Constructed before the mailbox, because device sign-ins are constructed before accounts. */
export const makeSeenPasswordNotices = (database: Database<Tables>, notifier: Notifier): SeenPasswordNotices =>
  new SeenPasswordNotices(new DevicesShownPasswordStore(database), notifier);

const hasStandardPorts = ({ imap, smtp }: { readonly imap: number; readonly smtp: number }): boolean =>
  imap === MAIL_PORTS.imap && smtp === MAIL_PORTS.smtp;

/** Constructs the mailbox capability. In the sandbox, the mail server is running when this resolves. */
export async function makeMailbox(dependencies: MailboxDependencies): Promise<MailboxFeature> {
  const { config, database, auditLog, clock, log } = dependencies;
  const store = new MailboxStore(database);
  const deviceReads = new DevicesShownPasswordStore(database);
  const loginCheck = new SandboxLoginCheck(store, dependencies.matchesAccountPassword);
  const sandbox =
    config.mailBackend === 'sandbox'
      ? await startSandboxMailServer(config, dependencies.startSandboxMail, loginCheck)
      : undefined;
  const opened = sandbox?.backend ?? createMailBackend(config, dependencies.outbound, clock);
  const backend = opened && new CountedMailBackend(opened, dependencies.metrics);
  const onFaultPoint = dependencies.onFaultPoint ?? (() => {});
  const mailServer: MailServer | undefined = backend && {
    provisioner: new Provisioner({ store, backend, auditLog, clock, log, onFaultPoint }),
    appPasswordCheck: new AppPasswordCheck(backend, clock),
  };
  const mailboxes = new MailboxService({
    ...dependencies,
    store,
    deviceReads,
    mailServer,
    encryption: new PasswordEncryption(dependencies.vault),
    domain: config.mailDomain,
    protocols: MAIL_PROTOCOLS,
    onFaultPoint,
  });
  const reconciler = backend && new Reconciler({ store, backend, mailboxes, clock, log });
  const loop = reconciler && new ReconcileLoop(reconciler, log);
  return {
    mailboxes,
    clientSettings: {
      host: config.mailHost,
      sandboxPorts: sandbox === undefined || hasStandardPorts(sandbox.ports) ? undefined : sandbox.ports,
    },
    webmailUrl: config.webmailUrl,
    revokeLagSeconds: backend?.revokeLagSeconds ?? 0,
    reconciler,
    start: () => loop?.start(),
    async stop() {
      await loop?.stop();
      await sandbox?.close();
    },
  };
}
