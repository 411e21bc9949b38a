import type { Outbound } from '../../platform/outbound/outbound.ts';
import { BackendError, type MailBackend } from '../backend.ts';
import { DOVEADM_NONE, type DoveadmSettings, doveadm } from './doveadm.ts';
import { type AuthAddress, askDovecot, isDovecotUp } from './dovecot-auth.ts';

export interface DovecotSettings {
  readonly auth: AuthAddress;
  /** Without it, sessions that are already open stay open until their mail program reconnects. */
  readonly doveadm?: DoveadmSettings;
}

const HANDSHAKE_TIMEOUT_MS = 3_000;

/**
 * Dovecot and Postfix that read our database through the views `mail_auth_mailbox` and `mail_auth_app`.
 *
 * What our transaction commits is what the mail server sees at its next look-up, so creating and replacing only make
 * sure that the server is there to obey: otherwise a new password could be shown that works nowhere.
 */
export function createDovecotBackend(settings: DovecotSettings, outbound: Outbound): MailBackend {
  const assertUp = async () => {
    if (!(await isDovecotUp(settings.auth, HANDSHAKE_TIMEOUT_MS)))
      throw new BackendError('unavailable', "Dovecot's auth service does not answer");
  };
  return {
    id: 'dovecot',
    revokeLagSeconds: 0,
    ensureMailbox: assertUp,
    setAppPassword: assertUp,
    removeAppPassword: () => Promise.resolve(),
    check: (address, { secret, protocols }, signal) =>
      askDovecot(settings.auth, { user: address, secret, protocols }, signal),
    endSessions: async (address) => {
      if (settings.doveadm === undefined) return;
      // The cache is off as we configure Dovecot; where an operator turned it on, a flush ends what it remembers.
      await run(settings.doveadm, 'authCacheFlush', { user: [address] });
      await run(settings.doveadm, 'kick', { mask: [address] });
    },
    // The rows are gone with our transaction; the mail itself is the operator's to keep or delete (docs/mail.md).
    removeMailbox: () => Promise.resolve(),
    list: () => Promise.resolve(undefined),
  };

  async function run(to: DoveadmSettings, command: string, parameters: Readonly<Record<string, unknown>>) {
    const exitCode = await doveadm(outbound, to, command, parameters);
    if (exitCode !== 0 && exitCode !== DOVEADM_NONE)
      throw new BackendError('rejected', `doveadm ${command}: exit code ${exitCode}`);
  }
}
