import type { Transaction } from 'kysely';
import type { Tables } from '../tables.ts';
import { deletePendingOf } from './login-store.ts';
import type { Sessions } from './sessions.ts';

/** Something another capability lets people in with, which must end with the account's sessions: device sign-ins. */
export interface EndsWithAccount {
  /** Ends all of an account's, in the transaction of the change that asks for it. */
  endAll(trx: Transaction<Tables>, userId: number): Promise<void>;
}

/** Ends whatever an account is logged in with, half logins included; a session named is kept. */
export type EndLogins = (trx: Transaction<Tables>, userId: number, keepSessionId?: number) => Promise<void>;

export function makeEndLogins(sessions: Sessions, others: readonly EndsWithAccount[]): EndLogins {
  return async (trx, userId, keepSessionId) => {
    await sessions.endAll(trx, userId, keepSessionId);
    await deletePendingOf(trx, userId);
    for (const other of others) await other.endAll(trx, userId);
  };
}
