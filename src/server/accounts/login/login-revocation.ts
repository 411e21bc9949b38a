import type { SessionEndReason } from '../../../contract/login-history-and-session-end-reason.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Trx } from '../../tables.ts';
import type { ManagementTokenStore } from '../tokens/management-token-store.ts';
import type { PendingLoginStore } from './pending-login-store.ts';
import type { SessionStore } from './session-store.ts';

/** Logins another capability keeps, which must end with the account's sessions: device sign-ins. */
export interface LinkedLogins {
  /** Ends all of an account's, in the transaction of the change that requires it. */
  revokeAll(trx: Trx, userId: number): Promise<void>;
}

export interface LoginRevocationDependencies {
  readonly sessions: SessionStore;
  readonly pendingLogins: PendingLoginStore;
  readonly managementTokens: ManagementTokenStore;
  readonly linkedLogins: readonly LinkedLogins[];
  readonly clock: Clock;
}

/**
 * Ends every credential that opens an account: sessions, pending logins, device sign-ins and the management access token,
 * which an intruder with a session could have created. `sk-` keys stay: they only allow model calls.
 */
export class LoginRevocation {
  readonly #dependencies: LoginRevocationDependencies;

  constructor(dependencies: LoginRevocationDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * @param reason shown where a session ended
   * @param keepSessionId a session that is kept
   */
  async revokeAll(trx: Trx, userId: number, reason: SessionEndReason, keepSessionId?: number): Promise<void> {
    const { sessions, pendingLogins, managementTokens, linkedLogins, clock } = this.#dependencies;
    await sessions.endOfUser(trx, userId, { reason, ended_at: clock.now() }, keepSessionId);
    await pendingLogins.deleteOfUser(trx, userId);
    await managementTokens.deleteOfUser(trx, userId);
    for (const linked of linkedLogins) await linked.revokeAll(trx, userId);
  }
}
