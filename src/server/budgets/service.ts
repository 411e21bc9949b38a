import type { Static } from 'typebox';
import { type Budget, DEFAULT_THRESHOLDS } from '../../contract/budgets.ts';
import { type AmountUnit, formatAmount } from '../../contract/format-amounts.ts';
import type { Notifier } from '../notifications/notifier.ts';
import type { Clock } from '../platform/clock.ts';
import type { Database } from '../platform/db/database.ts';
import { notExistError } from '../platform/errors.ts';
import type { Tables } from '../tables.ts';
import { type Month, monthOf } from './month.ts';
import type { BudgetStore, BudgetWithUse } from './store.ts';

export interface BudgetServiceDependencies {
  readonly database: Database<Tables>;
  readonly store: BudgetStore;
  readonly notifier: Notifier;
  readonly clock: Clock;
  /** What the texts write amounts in, as it is set now. */
  readonly amountUnit: () => AmountUnit;
}

export interface BudgetChange {
  readonly month_quota: number;
  readonly thresholds?: readonly number[];
}

const BATCH = 200;

/**
 * Monthly budgets. They stop nothing: what must not be exceeded is the limit of a key. The use of all budgets is read once a
 * minute rather than at each call, which must not become slower by them.
 */
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

  /** Tells the owners of budgets whose next threshold is reached, each once over all processes. */
  async tellReached(): Promise<void> {
    const { store, clock } = this.#dependencies;
    const month = monthOf(clock.now());
    let after = { user_id: -1, token_id: -1 };
    for (;;) {
      const rows = await store.listAfter(after, month, BATCH);
      for (const row of rows) {
        const percent = reachedThreshold(row, month);
        if (percent !== undefined) await this.#tell(row, month, percent);
      }
      const last = rows.at(-1);
      if (last === undefined || rows.length < BATCH) return;
      after = last;
    }
  }

  async #tell(budget: BudgetWithUse, month: Month, percent: number): Promise<void> {
    const { database, store, notifier, amountUnit } = this.#dependencies;
    const { user_id: userId, token_id: tokenId, month_quota: quota, spent } = budget;
    const name = budget.token_name ?? '';
    const share = (language: string, of: string): string =>
      [spent, quota].map((amount) => formatAmount(amount, amountUnit(), language)).join(of);
    await database.transaction(async (trx) => {
      if (!(await store.markTold(trx, budget, month.index, percent))) return;
      await notifier.notify(trx, {
        userId,
        topic: 'budget',
        type: 'system',
        title: {
          en: `${percent} % of the monthly budget${tokenId === 0 ? '' : ` of “${name}”`} is spent`,
          'zh-CN': `${tokenId === 0 ? '' : `“${name}”的`}本月预算已使用 ${percent}%`,
        },
        content: {
          en: `${share('en', ' of ')} in ${month.name}. Calls continue.`,
          'zh-CN': `${month.name} 已使用 ${share('zh-CN', ' / ')}。调用不受影响。`,
        },
        targetUrl: tokenId === 0 ? '/account/overview' : `/account/tokens/${tokenId}`,
        event: {
          type: 'budget.reached',
          subject: `budget:${userId}:${tokenId}`,
          data: { token_id: tokenId, token_name: name, month: month.name, month_quota: quota, spent, percent },
        },
      });
    });
  }
}

/** The highest threshold that is reached and that the owner was not told of in this month. */
function reachedThreshold(budget: BudgetWithUse, month: Month): number | undefined {
  const told = budget.told_month === month.index ? budget.told_percent : 0;
  return (JSON.parse(budget.thresholds) as number[]).findLast(
    (percent) => percent > told && budget.spent * 100 >= budget.month_quota * percent,
  );
}

const toBudget = (row: BudgetWithUse, { name }: Month): Static<typeof Budget> => ({
  token_id: row.token_id,
  token_name: row.token_name ?? '',
  month_quota: row.month_quota,
  thresholds: JSON.parse(row.thresholds) as number[],
  month: name,
  spent: row.spent,
});
