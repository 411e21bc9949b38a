import { type SandboxMail, startSandboxMail } from '../../src/sandbox/mail/mail-server.ts';
import type { StartSandboxMail } from '../../src/server/mailbox/create-mail-backend.ts';

/** Starts the sandbox's mail server on free ports and returns a handle to it for the test. */
export function makeMailServerHandle(): {
  readonly start: StartSandboxMail;
  readonly server: () => SandboxMail;
} {
  let mail: SandboxMail | undefined;
  return {
    start: async ({ preferredPorts: _, ...options }) => {
      mail = await startSandboxMail(options);
      return mail;
    },
    server: () => {
      if (mail === undefined) throw new Error('the mail server was not started');
      return mail;
    },
  };
}
