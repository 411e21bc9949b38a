import type { Transaction } from 'kysely';
import type { Database } from '../platform/db/database.ts';
import type { Tables } from '../tables.ts';
import { type Account, ENABLED, findAccount, listAdministrators, lockAccount } from './store.ts';

/** Whether an account may act, asked by other capabilities. Accounts that are disabled or gone are not answered. */
export interface Standing {
  find(userId: number): Promise<Account | undefined>;
  /** Holds the account as it is until the commit: whoever disables it comes before, or finds what was done. */
  hold(trx: Transaction<Tables>, userId: number): Promise<Account | undefined>;
  /** Ids of the enabled accounts with a role above `user`. */
  administrators(trx: Transaction<Tables>): Promise<readonly number[]>;
}

export function makeStanding(database: Database<Tables>): Standing {
  const enabled = (account: Account | undefined) => (account?.status === ENABLED ? account : undefined);
  return {
    find: async (userId) => enabled(await findAccount(database.kysely, userId)),
    hold: async (trx, userId) => enabled(await lockAccount(trx, database.dialect === 'postgres', userId)),
    administrators: (trx) => listAdministrators(trx),
  };
}
