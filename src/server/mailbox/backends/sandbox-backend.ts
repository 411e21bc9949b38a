import { BackendError, type CheckResult, type MailBackend, type MailProtocol } from '../mail-backend.ts';

/** The running mail server of the sandbox, as far as this backend uses it. */
export interface SandboxMailServer {
  /** Whether it accepts a login; undefined when it is not running. */
  accepts(address: string, password: string, protocol: MailProtocol): Promise<boolean | undefined>;
  endSessions(address: string): void;
  removeMailbox(address: string): void;
}

/** The mail server that runs inside this process in development. Like Dovecot it reads our views. */
export function createSandboxBackend(server: SandboxMailServer): MailBackend {
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
