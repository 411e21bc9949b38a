import type { OutboundClient } from '../../platform/outbound/outbound.ts';
import { BackendError, type MailBackend } from '../mail-backend.ts';
import { DOVEADM_NOT_FOUND, type DoveadmSettings, runDoveadm } from './doveadm-api.ts';
import { type AuthEndpoint, authenticateWithDovecot, isDovecotUp } from './dovecot-auth-client.ts';

export interface DovecotSettings {
  readonly auth: AuthEndpoint;
  /** Without it, sessions that are already open stay open until their mail program reconnects. */
  readonly doveadm?: DoveadmSettings | undefined;
}

const HANDSHAKE_TIMEOUT_MS = 3_000;

/**
 * Dovecot and Postfix that read our database through the views `mail_auth_mailbox` and `mail_auth_app`.
 *
 * The mail server sees what our transaction commits at its next query, so creating and replacing only check that the
 * server is reachable: otherwise a new password could be shown that does not work.
 */
export function createDovecotBackend(settings: DovecotSettings, outbound: OutboundClient): MailBackend {
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
      authenticateWithDovecot(settings.auth, { user: address, secret, protocols }, signal),
    endSessions: async (address) => {
      if (settings.doveadm === undefined) return;
      // Our configuration of Dovecot disables the cache; where an operator enabled it, a flush removes the cached logins.
      await run(settings.doveadm, 'authCacheFlush', { user: [address] });
      await run(settings.doveadm, 'kick', { mask: [address] });
    },
    // Our transaction deletes the rows; whether to keep or delete the mail itself is up to the operator (docs/mail.md).
    removeMailbox: () => Promise.resolve(),
    list: () => Promise.resolve(undefined),
  };

  async function run(to: DoveadmSettings, command: string, parameters: Readonly<Record<string, unknown>>) {
    const exitCode = await runDoveadm(outbound, to, command, parameters);
    if (exitCode !== 0 && exitCode !== DOVEADM_NOT_FOUND)
      throw new BackendError('rejected', `doveadm ${command}: exit code ${exitCode}`);
  }
}
