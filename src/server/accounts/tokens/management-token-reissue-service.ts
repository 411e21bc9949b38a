import { AppError } from '../../platform/app-error.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Database } from '../../platform/db/database.ts';
import type { AccountCaller, RequestOrigin } from '../../platform/http/request-context.ts';
import { hashToken, randomToken } from '../../platform/tokens.ts';
import type { Tables } from '../../tables.ts';
import type { AccountStore } from '../account-store.ts';
import type { AuditLog } from '../audit/audit-log-types.ts';
import { CREDENTIAL_PREFIX } from '../credential-prefixes.ts';
import type { CredentialRecheck } from '../login/find-live-credential-creation-time.ts';
import type { SecurityNotices } from '../security-notices.ts';
import type { ManagementTokenStore } from './management-token-store.ts';

export interface ManagementTokenDependencies {
  readonly database: Database<Tables>;
  readonly store: ManagementTokenStore;
  readonly accounts: AccountStore;
  readonly credentials: CredentialRecheck;
  readonly clock: Clock;
  readonly auditLog: AuditLog;
  readonly notices: SecurityNotices;
}

/** The management access token of an account: one at a time, for programs that manage the account. */
export class ManagementTokenService {
  readonly #dependencies: ManagementTokenDependencies;

  constructor(dependencies: ManagementTokenDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Makes a new token, which voids the old one, and returns it; it is stored nowhere.
   *
   * @throws unauthorized when the caller's credential has ended in the meantime, forbidden for a device
   */
  reissue(caller: AccountCaller, origin: RequestOrigin): Promise<string> {
    const { database, store, accounts, credentials, clock, auditLog, notices } = this.#dependencies;
    const { userId } = caller;
    return database.transaction(async (trx) => {
      if (caller.kind === 'device') throw new AppError('forbidden');
      // Under the lock that ending logins takes: a request authenticated before that must not create a token after it.
      await accounts.lock(trx, userId);
      if ((await credentials.findCreatedAt(caller, trx)) === undefined) throw new AppError('unauthorized');
      const token = randomToken(CREDENTIAL_PREFIX.management, 43, { checksum: true });
      await store.put(trx, userId, hashToken(token), clock.now());
      await auditLog.record(trx, { actorId: userId, action: 'self.user-token', target: `user:${userId}`, ...origin });
      await notices.notify(trx, userId, 'user-token');
      return token;
    });
  }
}
