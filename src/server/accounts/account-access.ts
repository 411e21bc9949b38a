import { ENABLED } from '../../contract/account-fields.ts';
import { canManage } from '../../contract/roles.ts';
import { AppError } from '../platform/app-error.ts';
import type { Trx } from '../tables.ts';
import type { Account, AccountStore } from './account-store.ts';

/** Whether an account may act, and on which accounts; used by other capabilities. Disabled and deleted accounts are not found. */
export class AccountAccess {
  readonly #accounts: AccountStore;

  constructor(accounts: AccountStore) {
    this.#accounts = accounts;
  }

  async findEnabled(userId: number): Promise<Account | undefined> {
    return ifEnabled(await this.#accounts.find(userId));
  }

  /** Locks the account until the commit: a concurrent ban either precedes this transaction or sees its result. */
  async lockEnabled(trx: Trx, userId: number): Promise<Account | undefined> {
    return ifEnabled(await this.#accounts.lock(trx, userId));
  }

  /**
   * Called before an administrator changes what belongs to an account; locks that account until the commit. A disabled
   * account keeps its rank. What belonged to a deleted one may be changed by every administrator.
   *
   * @throws rank_too_low, also where the administrator has lost his own role in the meantime
   */
  async assertCanManage(trx: Trx, actorId: number, userId: number): Promise<void> {
    const account = await this.#accounts.lock(trx, userId);
    if (account === undefined) return;
    const actor = ifEnabled(await this.#accounts.find(actorId, trx));
    if (actor === undefined || !canManage(actor.role, account.role)) throw new AppError('rank_too_low');
  }

  /** Ids of the enabled accounts with a role above `user`. */
  listAdministrators(trx: Trx): Promise<readonly number[]> {
    return this.#accounts.listAdministrators(trx);
  }
}

const ifEnabled = (account: Account | undefined): Account | undefined =>
  account?.status === ENABLED ? account : undefined;
