import type { Clock } from '../platform/clock.ts';
import type { Database } from '../platform/db/database.ts';
import { hashToken, randomToken } from '../platform/secrets.ts';
import type { Tables } from '../tables.ts';
import type { Audit, AuditEntry } from './audit.ts';
import { PREFIX } from './authenticator.ts';
import type { SecurityNotices } from './security-notices.ts';
import { putUserToken } from './session-store.ts';

/** The management access token of an account: one at a time. */
export interface UserTokens {
  /** Makes a new one, which voids the old one, and answers it; it is stored nowhere. */
  renew(userId: number, trace: Pick<AuditEntry, 'address' | 'requestId'>): Promise<string>;
}

export function makeUserTokens(
  database: Database<Tables>,
  clock: Clock,
  audit: Audit,
  notice: SecurityNotices,
): UserTokens {
  return {
    renew: (userId, trace) =>
      database.transaction(async (trx) => {
        const token = randomToken(PREFIX.userToken, 43, { checksum: true });
        await putUserToken(trx, userId, hashToken(token), clock.now());
        await audit.record(trx, { actorId: userId, action: 'self.user-token', target: `user:${userId}`, ...trace });
        await notice(trx, userId, 'user-token');
        return token;
      }),
  };
}
