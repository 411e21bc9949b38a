import { BackendError, type MailBackend, type MailProtocol, type Verdict } from '../backend.ts';

/** The running mail server of the sandbox, as far as this backend uses it. */
export interface SandboxMailServer {
  /** Whether it lets somebody in; undefined when it is not running. */
  admits(address: string, password: string, protocol: MailProtocol): Promise<boolean | undefined>;
  kick(address: string): void;
  drop(address: string): void;
}

/** The mail server that runs inside this process in development. Like Dovecot it reads our views. */
export function createSandboxBackend(server: SandboxMailServer): MailBackend {
  const assertUp = async () => {
    if ((await server.admits('', '', 'imap')) === undefined)
      throw new BackendError('unavailable', 'the sandbox mail server is not running');
  };
  return {
    id: 'sandbox',
    revokeLagSeconds: 0,
    ensureMailbox: assertUp,
    setAppPassword: assertUp,
    removeAppPassword: () => Promise.resolve(),
    async check(address, { secret, protocols }) {
      const verdicts = new Map<MailProtocol, Verdict>();
      for (const protocol of protocols) {
        const admitted = await server.admits(address, secret, protocol);
        verdicts.set(protocol, admitted === undefined ? 'unknown' : admitted ? 'accepted' : 'refused');
      }
      return verdicts;
    },
    endSessions: async (address) => server.kick(address),
    removeMailbox: async (address) => server.drop(address),
    list: () => Promise.resolve(undefined),
  };
}
