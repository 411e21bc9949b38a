import type { PresenceProof } from '../../contract/passkey-credentials.ts';
import { AppError, invalidRequest } from '../platform/app-error.ts';
import type { Clock } from '../platform/clock.ts';
import type { Database } from '../platform/db/database.ts';
import type { AccountCaller } from '../platform/http/route-registry.ts';
import type { Tables } from '../tables.ts';
import type { LoginService } from './login-service.ts';
import type { SecondFactors } from './second-factors.ts';
import type { SessionStore } from './sessions.ts';
import type { TwoFactorService } from './two-factor.ts';
import type { WaysIn } from './ways-in.ts';

/** Maximum age of a login that proves presence where the account has nothing else to prove it with. */
const FRESH_LOGIN_MS = 10 * 60_000;

interface PresenceCheckDependencies {
  readonly database: Database<Tables>;
  readonly logins: LoginService;
  readonly secondFactors: SecondFactors;
  readonly twoFactors: TwoFactorService;
  readonly waysIn: WaysIn;
  readonly sessions: SessionStore;
  readonly clock: Clock;
}

/**
 * Checks that the owner of a session is present before the session adds another way in: a stolen cookie alone must not
 * outlive its session.
 */
export class PresenceCheck {
  readonly #dependencies: PresenceCheckDependencies;

  constructor(dependencies: PresenceCheckDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Accepts a passkey, or a code if two-step verification is on, or else the password. An account with none of these
   * must have logged in within ten minutes.
   *
   * @throws second_step_required, invalid_request, wrong_password, wrong_code, wrong_passkey, passkey_expired,
   *   rate_limit_exceeded
   */
  async assertPresent(caller: AccountCaller, { password, code, credential }: PresenceProof): Promise<void> {
    const { database, logins, secondFactors, twoFactors, waysIn } = this.#dependencies;
    if (credential !== undefined || (await twoFactors.isEnabled(caller.userId)))
      return secondFactors.confirm(caller, { code, credential });
    const owner = { id: caller.userId, role: caller.role };
    if (await waysIn.hasPassword(owner, database.kysely)) {
      if (password === undefined) throw invalidRequest('Give the password, or the use of a passkey.', 'password');
      return logins.withConfirmedPassword(caller, password, async () => {});
    }
    if ((await secondFactors.hasPasskey(caller.userId)) || !(await this.#isFreshLogin(caller)))
      throw new AppError('second_step_required');
  }

  async #isFreshLogin(caller: AccountCaller): Promise<boolean> {
    const { sessions, clock } = this.#dependencies;
    if (caller.kind !== 'session') return false;
    const start = await sessions.findStart(caller.sessionId);
    return start !== undefined && clock.now() - start.created_at <= FRESH_LOGIN_MS;
  }
}
