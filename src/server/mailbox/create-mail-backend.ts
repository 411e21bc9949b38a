import type { Clock } from '../platform/clock.ts';
import type { Config } from '../platform/config.ts';
import type { OutboundClient } from '../platform/outbound/outbound.ts';
import { ConfigError } from '../platform/setting-readers.ts';
import { createDovecotBackend } from './backends/dovecot.ts';
import { createMailcowBackend, MailcowApi } from './backends/mailcow.ts';
import { BackendError, type CheckResult, MAIL_PORTS, type MailBackend, type MailProtocol } from './mail-backend.ts';
import type { MailboxStore } from './mailbox-store.ts';
import { matchesGeneratedPassword } from './passwords.ts';

/** Settings that select and configure the mail server. */
export type MailConfig = Pick<
  Config,
  'mailBackend' | 'mailDomain' | 'mailHost' | 'webmailUrl' | 'mailDovecotAuthSocket' | 'mailApiUrl'
>;

/** Size of a new mailbox on mailcow; an administrator of the mailcow can change it there. */
const MAILCOW_QUOTA_MIB = 1_024;

/**
 * The configured mail server, except the sandbox's; undefined if none is configured.
 * @throws ConfigError naming a missing setting
 */
export function createMailBackend(config: MailConfig, outbound: OutboundClient, clock: Clock): MailBackend | undefined {
  const need = <T>(setting: string, value: T | undefined): T => {
    if (value === undefined) throw new ConfigError(setting, `is required with MAIL_BACKEND=${config.mailBackend}`);
    return value;
  };
  if (config.mailBackend === 'dovecot') {
    const { mailApiUrl: api } = config;
    return createDovecotBackend(
      {
        auth: need('MAIL_DOVECOT_AUTH_SOCKET', config.mailDovecotAuthSocket),
        doveadm: api && { url: api.url, apiKey: api.key },
      },
      outbound,
    );
  }
  if (config.mailBackend === 'mailcow') {
    const { url, key: apiKey } = need('MAIL_API_URL', config.mailApiUrl);
    return createMailcowBackend(new MailcowApi({ url, apiKey }, outbound, clock), {
      quotaMib: MAILCOW_QUOTA_MIB,
    });
  }
  return undefined;
}

/** Starts the mail server of the sandbox; passed in by app.ts, the only place that loads the sandbox. */
export type StartSandboxMail = (options: {
  readonly domain: string;
  authenticate(address: string, password: string, protocol: 'imap' | 'pop3' | 'smtp'): Promise<boolean>;
  mailboxExists(address: string): Promise<boolean>;
  /** Preferred ports; free ones are used if these are in use. */
  readonly preferredPorts: { readonly imap: number; readonly pop3: number; readonly smtp: number };
}) => Promise<{
  readonly ports: { readonly imap: number; readonly pop3: number; readonly smtp: number };
  disconnect(address: string): void;
  deleteMail(address: string): void;
  close(): Promise<void>;
}>;

interface SandboxMailConnection {
  readonly backend: MailBackend;
  readonly ports: { readonly imap: number; readonly pop3: number; readonly smtp: number };
  close(): Promise<void>;
}

/** Starts the sandbox's mail server on our own tables, and creates its backend. */
export async function startSandboxMailServer(
  config: MailConfig,
  start: StartSandboxMail | undefined,
  loginCheck: SandboxLoginCheck,
): Promise<SandboxMailConnection> {
  if (start === undefined) throw new Error('the mail server of the sandbox is not available');
  const server = await start({
    domain: config.mailDomain,
    authenticate: (address, password, protocol) => loginCheck.accepts(address, password, protocol),
    mailboxExists: (address) => loginCheck.exists(address),
    preferredPorts: MAIL_PORTS,
  });
  let running = true;
  const backend = createSandboxBackend({
    accepts: async (...login) => (running ? loginCheck.accepts(...login) : undefined),
    endSessions: (address) => server.disconnect(address),
    removeMailbox: (address) => server.deleteMail(address),
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

/** Checks a login like a mail server does, over the same two views; for the sandbox's mail server. */
export class SandboxLoginCheck {
  readonly #store: MailboxStore;
  readonly #matchesAccount: (password: string, phc: string) => Promise<boolean>;

  /** @param matchesAccount checks the password of an account against its hash, argon2id in PHC form or bcrypt */
  constructor(store: MailboxStore, matchesAccount: (password: string, phc: string) => Promise<boolean>) {
    this.#store = store;
    this.#matchesAccount = matchesAccount;
  }

  async accepts(address: string, password: string, protocol: MailProtocol): Promise<boolean> {
    for (const hash of await this.#store.listLoginHashes(address, protocol)) {
      const [, ofAccount] = /^\{(?:ARGON2ID|BLF-CRYPT)\}(.*)$/.exec(hash) ?? [];
      const matches =
        ofAccount === undefined
          ? matchesGeneratedPassword(password, hash)
          : await this.#matchesAccount(password, ofAccount);
      if (matches === true) return true;
    }
    return false;
  }

  exists(address: string): Promise<boolean> {
    return this.#store.hasAddress(address);
  }
}

/** The part of the sandbox's mail server that this backend uses. */
interface SandboxMailServer {
  /** Whether the server accepts a login; undefined if it is not running. */
  accepts(address: string, password: string, protocol: MailProtocol): Promise<boolean | undefined>;
  endSessions(address: string): void;
  removeMailbox(address: string): void;
}

/** The backend of the mail server that runs inside this process in development. Like Dovecot, it reads our views. */
function createSandboxBackend(server: SandboxMailServer): MailBackend {
  const assertUp = async () => {
    if ((await server.accepts('', '', 'imap')) === undefined)
      throw new BackendError('unavailable', 'the sandbox mail server is not running');
  };
  return {
    id: 'sandbox',
    revokeLagSeconds: 0,
    ensureMailbox: assertUp,
    setAppPassword: assertUp,
    removeAppPassword: () => Promise.resolve(),
    async check(address, { secret, protocols }) {
      const verdicts = new Map<MailProtocol, CheckResult>();
      for (const protocol of protocols) {
        const admitted = await server.accepts(address, secret, protocol);
        verdicts.set(protocol, admitted === undefined ? 'unknown' : admitted ? 'accepted' : 'refused');
      }
      return verdicts;
    },
    endSessions: async (address) => server.endSessions(address),
    removeMailbox: async (address) => server.removeMailbox(address),
    list: () => Promise.resolve(undefined),
  };
}
