import type { Audit } from '../accounts/audit.ts';
import type { Clock } from '../platform/clock.ts';
import type { Database } from '../platform/db/database.ts';
import type { Limits } from '../platform/limits/limits.ts';
import type { Log } from '../platform/log.ts';
import type { Outbound } from '../platform/outbound/outbound.ts';
import type { Vault } from '../platform/secrets.ts';
import type { Tables } from '../tables.ts';
import type { MailBackend } from './backend.ts';
import { createSandboxBackend } from './backends/sandbox.ts';
import { Credentials } from './credentials.ts';
import { type MailConfig, openBackend } from './open-backend.ts';
import type { MailFaultPoint } from './publishing.ts';
import { Reconciler } from './reconciler.ts';
import type { MailDoor } from './routes.ts';
import { type MailAccounts, type Mailboxes, makeMailboxes } from './service.ts';
import { MailboxStore } from './store.ts';

/** Starts the mail server of the sandbox; given by app.ts, the only place that loads the sandbox. */
export type StartSandboxMail = (options: {
  readonly domain: string;
  authenticate(address: string, password: string, protocol: 'imap' | 'pop3' | 'smtp'): Promise<boolean>;
  exists(address: string): Promise<boolean>;
  /** Taken where they are free, else others are. */
  readonly preferredPorts: { readonly imap: number; readonly pop3: number; readonly smtp: number };
}) => Promise<{
  readonly ports: { readonly imap: number; readonly pop3: number; readonly smtp: number };
  kick(address: string): void;
  drop(address: string): void;
  close(): Promise<void>;
}>;

export interface MailboxCapabilityParts {
  readonly config: MailConfig;
  readonly database: Database<Tables>;
  readonly accounts: MailAccounts;
  /** Checks the password of an account against its stored hash, for legacy mailboxes in the sandbox. */
  readonly matchesAccountPassword: (password: string, phc: string) => Promise<boolean>;
  readonly audit: Audit;
  readonly vault: Vault;
  readonly limits: Limits;
  readonly outbound: Outbound;
  readonly clock: Clock;
  readonly log: Log;
  readonly startSandboxMail: StartSandboxMail | undefined;
  readonly at?: (point: MailFaultPoint) => void;
}

export interface MailboxCapability {
  readonly mailboxes: Mailboxes;
  readonly door: MailDoor;
  readonly webmailUrl: string;
  readonly revokeLagSeconds: number;
  readonly reconciler: Reconciler | undefined;
  /** Begins mending in the background. */
  start(): void;
  stop(): Promise<void>;
}

const MEND_EVERY_MS = 60_000;
const SWEEP_EVERY = 60;

/** Puts the parts of this capability together; with the sandbox, its mail server is running when this resolves. */
export async function makeMailbox(parts: MailboxCapabilityParts): Promise<MailboxCapability> {
  const { config, database, clock, log } = parts;
  const store = new MailboxStore(database);
  const sandbox = config.mailBackend === 'sandbox' ? await startSandbox(parts, store) : undefined;
  const backend: MailBackend | undefined = sandbox?.backend ?? openBackend(config, parts.outbound, clock);
  const mailboxes = makeMailboxes({
    ...parts,
    store,
    backend,
    domain: config.mailDomain,
    protocols: config.mailAppPasswordProtocols,
  });
  const reconciler = backend && new Reconciler({ store, backend, mailboxes, clock, log });
  const mending = reconciler && mendAgainAndAgain(reconciler, log);
  return {
    mailboxes,
    door: {
      host: config.mailHost,
      imapPort: sandbox?.ports.imap ?? config.mailImapPort,
      smtpPort: sandbox?.ports.smtp ?? config.mailSmtpPort,
    },
    webmailUrl: config.webmailUrl,
    revokeLagSeconds: backend?.revokeLagSeconds ?? 0,
    reconciler,
    start: () => mending?.start(),
    async stop() {
      await mending?.stop();
      await sandbox?.close();
    },
  };
}

async function startSandbox(parts: MailboxCapabilityParts, store: MailboxStore) {
  const { config, startSandboxMail } = parts;
  if (startSandboxMail === undefined) throw new Error('the mail server of the sandbox is not at hand');
  const credentials = new Credentials(store, parts.matchesAccountPassword);
  const server = await startSandboxMail({
    domain: config.mailDomain,
    authenticate: (address, password, protocol) => credentials.admits(address, password, protocol),
    exists: (address) => credentials.exists(address),
    preferredPorts: { imap: config.mailImapPort, pop3: config.mailPop3Port, smtp: config.mailSmtpPort },
  });
  let running = true;
  const backend = createSandboxBackend({
    admits: async (...login) => (running ? credentials.admits(...login) : undefined),
    kick: (address) => server.kick(address),
    drop: (address) => server.drop(address),
  });
  return {
    backend,
    ports: server.ports,
    close: () => {
      running = false;
      return server.close();
    },
  };
}

function mendAgainAndAgain(reconciler: Reconciler, log: Log) {
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> = Promise.resolve();
  let passes = 0;
  const pass = async () => {
    try {
      await reconciler.finishAll();
      await reconciler.publishAll();
      if (passes++ % SWEEP_EVERY === 0) await reconciler.sweep();
    } catch (error) {
      log.error({ err: error }, 'mailboxes could not be reconciled');
    }
  };
  return {
    start() {
      timer = setInterval(() => {
        running = running.then(pass);
      }, MEND_EVERY_MS);
    },
    async stop() {
      clearInterval(timer);
      await running;
    },
  };
}
