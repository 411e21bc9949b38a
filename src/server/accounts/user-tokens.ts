import type { Clock } from '../platform/clock.ts';
import type { Database } from '../platform/db/database.ts';
import { AppError } from '../platform/errors.ts';
import type { AccountCaller } from '../platform/http/caller.ts';
import { hashToken, randomToken } from '../platform/secrets.ts';
import type { Tables } from '../tables.ts';
import type { Audit, AuditEntry } from './audit.ts';
import { PREFIX } from './authenticator.ts';
import type { SecurityNotices } from './security-notices.ts';
import { putUserToken, stillOpens } from './session-store.ts';
import { lockAccount } from './store.ts';

/** The management access token of an account: one at a time. */
export interface UserTokens {
  /**
   * Makes a new one, which voids the old one, and answers it; it is stored nowhere.
   *
   * @throws unauthorized when what the caller came with has ended meanwhile, forbidden for a device
   */
  renew(caller: AccountCaller, trace: Pick<AuditEntry, 'address' | 'requestId'>): Promise<string>;
}

export function makeUserTokens(
  database: Database<Tables>,
  clock: Clock,
  audit: Audit,
  notice: SecurityNotices,
): UserTokens {
  return {
    renew: (caller, trace) =>
      database.transaction(async (trx) => {
        const { userId } = caller;
        if (caller.kind === 'device') throw new AppError('forbidden');
        // Under the lock of what ends logins: a request that was let in before must not leave a token behind it.
        await lockAccount(trx, database.dialect === 'postgres', userId);
        if (!(await stillOpens(trx, caller))) throw new AppError('unauthorized');
        const token = randomToken(PREFIX.userToken, 43, { checksum: true });
        await putUserToken(trx, userId, hashToken(token), clock.now());
        await audit.record(trx, { actorId: userId, action: 'self.user-token', target: `user:${userId}`, ...trace });
        await notice(trx, userId, 'user-token');
        return token;
      }),
  };
}
