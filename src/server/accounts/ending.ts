import type { Transaction } from 'kysely';
import type { Tables } from '../tables.ts';
import { deletePendingOf } from './login-store.ts';
import { deleteUserToken } from './session-store.ts';
import type { Sessions } from './sessions.ts';

/** Something another capability lets people in with, which must end with the account's sessions: device sign-ins. */
export interface EndsWithAccount {
  /** Ends all of an account's, in the transaction of the change that asks for it. */
  endAll(trx: Transaction<Tables>, userId: number): Promise<void>;
}

/**
 * Ends whatever opens an account to a person: sessions, half logins, device sign-ins and the management access token, which
 * whoever was in could have made. A session named is kept. `sk-` keys stay: they open no account.
 */
export type EndLogins = (trx: Transaction<Tables>, userId: number, keepSessionId?: number) => Promise<void>;

export function makeEndLogins(sessions: Sessions, others: readonly EndsWithAccount[]): EndLogins {
  return async (trx, userId, keepSessionId) => {
    await sessions.endAll(trx, userId, keepSessionId);
    await deletePendingOf(trx, userId);
    await deleteUserToken(trx, userId);
    for (const other of others) await other.endAll(trx, userId);
  };
}
