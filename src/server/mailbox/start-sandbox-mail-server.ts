import { createSandboxBackend } from './backends/sandbox-backend.ts';
import type { MailConfig } from './create-mail-backend.ts';
import type { MailBackend } from './mail-backend.ts';
import type { SandboxLoginCheck } from './sandbox-login-check.ts';

/** Starts the mail server of the sandbox; given by app.ts, the only place that loads the sandbox. */
export type StartSandboxMail = (options: {
  readonly domain: string;
  authenticate(address: string, password: string, protocol: 'imap' | 'pop3' | 'smtp'): Promise<boolean>;
  mailboxExists(address: string): Promise<boolean>;
  /** Preferred ports; others are used where these are in use. */
  readonly preferredPorts: { readonly imap: number; readonly pop3: number; readonly smtp: number };
}) => Promise<{
  readonly ports: { readonly imap: number; readonly pop3: number; readonly smtp: number };
  disconnect(address: string): void;
  deleteMail(address: string): void;
  close(): Promise<void>;
}>;

export interface SandboxMailConnection {
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
    preferredPorts: { imap: config.mailImapPort, pop3: config.mailPop3Port, smtp: config.mailSmtpPort },
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
