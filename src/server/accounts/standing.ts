import type { Transaction } from 'kysely';
import { mayManage } from '../../contract/roles.ts';
import type { Database } from '../platform/db/database.ts';
import { AppError } from '../platform/errors.ts';
import type { Tables } from '../tables.ts';
import { type Account, ENABLED, findAccount, listAdministrators, lockAccount } from './store.ts';

/** Whether an account may act, and on whom, asked by other capabilities. Accounts that are disabled or gone are not answered. */
export interface Standing {
  find(userId: number): Promise<Account | undefined>;
  /** Holds the account as it is until the commit: whoever disables it comes before, or finds what was done. */
  hold(trx: Transaction<Tables>, userId: number): Promise<Account | undefined>;
  /**
   * Asked before an administrator changes what belongs to an account; holds that account's role until the commit. A disabled
   * account keeps its rank; what one that is gone left behind, every administrator may change.
   *
   * @throws rank_too_low, also where the administrator has meanwhile lost his own role
   */
  assertManages(trx: Transaction<Tables>, actorId: number, userId: number): Promise<void>;
  /** Ids of the enabled accounts with a role above `user`. */
  administrators(trx: Transaction<Tables>): Promise<readonly number[]>;
}

export function makeStanding(database: Database<Tables>): Standing {
  const postgres = database.dialect === 'postgres';
  const enabled = (account: Account | undefined) => (account?.status === ENABLED ? account : undefined);
  return {
    find: async (userId) => enabled(await findAccount(database.kysely, userId)),
    hold: async (trx, userId) => enabled(await lockAccount(trx, postgres, userId)),
    async assertManages(trx, actorId, userId) {
      const account = await lockAccount(trx, postgres, userId);
      if (account === undefined) return;
      const actor = enabled(await findAccount(trx, actorId));
      if (actor === undefined || !mayManage(actor.role, account.role)) throw new AppError('rank_too_low');
    },
    administrators: (trx) => listAdministrators(trx),
  };
}
