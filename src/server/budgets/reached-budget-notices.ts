import { type AmountUnit, formatAmount } from '../../contract/format-amounts.ts';
import type { Notifier } from '../notifications/notifier-types.ts';
import type { Clock } from '../platform/clock.ts';
import type { Database } from '../platform/db/database.ts';
import type { Tables } from '../tables.ts';
import type { BudgetStore, BudgetWithUse } from './budget-store.ts';
import { type Month, monthOf } from './calendar-month.ts';

export interface ReachedBudgetNoticesDependencies {
  readonly database: Database<Tables>;
  readonly store: BudgetStore;
  readonly notifier: Notifier;
  readonly clock: Clock;
  /** What the texts write amounts in, as it is set now. */
  readonly amountUnit: () => AmountUnit;
}

const BATCH = 200;

/**
 * Notices of budgets whose thresholds are reached. The use of all budgets is read once a minute rather than at each call, which
 * must not become slower by them.
 */
export class ReachedBudgetNotices {
  readonly #dependencies: ReachedBudgetNoticesDependencies;
  constructor(dependencies: ReachedBudgetNoticesDependencies) {
    this.#dependencies = dependencies;
  }

  /** Tells the owners of budgets whose next threshold is reached, each once over all processes. */
  async send(): Promise<void> {
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
