import type { Static } from 'typebox';
import { type Budget, DEFAULT_THRESHOLDS } from '../../contract/budgets.ts';
import { notExistError } from '../platform/app-error.ts';
import type { Clock } from '../platform/clock.ts';
import type { Database } from '../platform/db/database.ts';
import type { Tables } from '../tables.ts';
import type { BudgetStore, BudgetWithUse } from './budget-store.ts';
import { type Month, monthOf } from './calendar-month.ts';

export interface BudgetServiceDependencies {
  readonly database: Database<Tables>;
  readonly store: BudgetStore;
  readonly clock: Clock;
}

export interface BudgetChange {
  readonly month_quota: number;
  readonly thresholds?: readonly number[];
}

/** Monthly budgets. They stop nothing: what must not be exceeded is the limit of a key. */
export class BudgetService {
  readonly #dependencies: BudgetServiceDependencies;
  constructor(dependencies: BudgetServiceDependencies) {
    this.#dependencies = dependencies;
  }

  async list(userId: number): Promise<Static<typeof Budget>[]> {
    const { store, clock } = this.#dependencies;
    const month = monthOf(clock.now());
    return (await store.listOf(userId, month)).map((row) => toBudget(row, month));
  }

  /** @param tokenId 0: the account. @throws AppError `not_exist` for a key that is not the account's */
  async put(userId: number, tokenId: number, change: BudgetChange): Promise<Static<typeof Budget>> {
    const { database, store, clock } = this.#dependencies;
    const month = monthOf(clock.now());
    const thresholds = [...new Set(change.thresholds ?? DEFAULT_THRESHOLDS)].sort((one, other) => one - other);
    const row = await database.transaction(async (trx) => {
      if (tokenId !== 0 && !(await store.ownsToken(trx, userId, tokenId))) throw notExistError('token');
      await store.put(trx, {
        user_id: userId,
        token_id: tokenId,
        month_quota: change.month_quota,
        thresholds: JSON.stringify(thresholds),
      });
      return (await store.listOf(userId, month, trx)).find(({ token_id }) => token_id === tokenId);
    });
    if (row === undefined) throw notExistError('token');
    return toBudget(row, month);
  }

  async remove(userId: number, tokenId: number): Promise<void> {
    if (!(await this.#dependencies.store.remove(userId, tokenId))) throw notExistError('budget');
  }
}

const toBudget = (row: BudgetWithUse, { name }: Month): Static<typeof Budget> => ({
  token_id: row.token_id,
  token_name: row.token_name ?? '',
  month_quota: row.month_quota,
  thresholds: JSON.parse(row.thresholds) as number[],
  month: name,
  spent: row.spent,
});
