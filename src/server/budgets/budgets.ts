import { type Selectable, sql } from 'kysely';
import type { Static } from 'typebox';
import { type AmountUnit, formatAmount } from '../../contract/amounts.ts';
import { IMPORTED_USAGE_TOKEN } from '../../contract/ledger.ts';
import { type Budget, DEFAULT_THRESHOLDS } from '../../contract/plans.ts';
import { DAY_MS } from '../../contract/time-units.ts';
import type { Notifier } from '../notifications/notifier.ts';
import { notExistError } from '../platform/app-error.ts';
import type { Clock } from '../platform/clock.ts';
import { workOnEach } from '../platform/concurrency.ts';
import type { Database } from '../platform/db/database.ts';
import { wasChanged } from '../platform/db/sql.ts';
import type { Executor, Tables, Trx } from '../tables.ts';

interface BudgetServiceDependencies {
  readonly database: Database<Tables>;
  readonly store: BudgetStore;
  readonly clock: Clock;
}

interface BudgetChange {
  readonly month_quota: number;
  readonly thresholds?: readonly number[];
}

/** Monthly budgets, which only notify: the limit of a key is what blocks calls. */
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

  /**
   * @param tokenId 0: the account
   * @throws AppError `not_exist` for a key that does not belong to the account
   */
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

/** Dependencies of {@link BudgetNotices}. */
interface BudgetNoticesDependencies {
  readonly database: Database<Tables>;
  readonly store: BudgetStore;
  readonly notifier: Notifier;
  readonly clock: Clock;
  /** Current unit of amounts in the notices. */
  readonly amountUnit: () => AmountUnit;
}

const BATCH = 200;

/**
 * Notices of budgets whose thresholds are reached. The usage of all budgets is read once a minute instead of on every
 * call, so that budgets do not slow calls down.
 */
class BudgetNotices {
  readonly #dependencies: BudgetNoticesDependencies;
  constructor(dependencies: BudgetNoticesDependencies) {
    this.#dependencies = dependencies;
  }

  /** Notifies the owners of budgets that have reached their next threshold, once per threshold across all processes. */
  async send(): Promise<void> {
    const month = monthOf(this.#dependencies.clock.now());
    await workOnEach(this.#all(month), async (budget) => {
      const percent = reachedThreshold(budget, month);
      if (percent !== undefined) await this.#tell(budget, month, percent);
    });
  }

  async *#all(month: Month): AsyncGenerator<BudgetWithUse> {
    const { store } = this.#dependencies;
    let after = { user_id: -1, token_id: -1 };
    for (;;) {
      const rows = await store.listAfter(after, month, BATCH);
      yield* rows;
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

/** The highest threshold that is reached and that the owner was not notified of this month. */
function reachedThreshold(budget: BudgetWithUse, month: Month): number | undefined {
  const told = budget.told_month === month.index ? budget.told_percent : 0;
  return (JSON.parse(budget.thresholds) as number[]).findLast(
    (percent) => percent > told && budget.spent * 100 >= budget.month_quota * percent,
  );
}

type BudgetRow = Selectable<Tables['budgets']>;
/** A budget with the name of its key (null for the account) and the quota charged in a month. */
type BudgetWithUse = BudgetRow & { readonly token_name: string | null; readonly spent: number };

/** Days since 1970, UTC; `toDay` is exclusive. */
interface MonthDays {
  readonly fromDay: number;
  readonly toDay: number;
}

/** SQL of `budgets`. */
class BudgetStore {
  readonly #database: Database<Tables>;
  constructor(database: Database<Tables>) {
    this.#database = database;
  }

  /** Whether the token is a valid key of the account. */
  async ownsToken(db: Executor, userId: number, tokenId: number): Promise<boolean> {
    const found = await db
      .selectFrom('tokens')
      .select('id')
      .where('id', '=', tokenId)
      .where('user_id', '=', userId)
      .where('kind', '=', 'sk')
      .where('revoked_at', 'is', null)
      .executeTakeFirst();
    return found !== undefined;
  }

  /** Creates or replaces a budget; the owner is notified again of thresholds already reached. */
  async put(trx: Trx, budget: Pick<BudgetRow, 'user_id' | 'token_id' | 'month_quota' | 'thresholds'>): Promise<void> {
    const row = { ...budget, told_month: 0, told_percent: 0 };
    await trx
      .insertInto('budgets')
      .values(row)
      .onConflict((conflict) => conflict.columns(['user_id', 'token_id']).doUpdateSet(row))
      .execute();
  }

  async remove(userId: number, tokenId: number): Promise<boolean> {
    return wasChanged(
      await this.#database.kysely
        .deleteFrom('budgets')
        .where('user_id', '=', userId)
        .where('token_id', '=', tokenId)
        .executeTakeFirst(),
    );
  }

  listOf(userId: number, month: MonthDays, db: Executor = this.#database.kysely): Promise<BudgetWithUse[]> {
    return execute(withUse(db, month).where('budgets.user_id', '=', userId).orderBy('budgets.token_id'));
  }

  /** Budgets of all accounts after a given one, in index order; budgets of revoked keys are excluded. */
  listAfter(after: Pick<BudgetRow, 'user_id' | 'token_id'>, month: MonthDays, limit: number): Promise<BudgetWithUse[]> {
    return execute(
      withUse(this.#database.kysely, month)
        .where(sql<boolean>`(budgets.user_id, budgets.token_id) > (${after.user_id}, ${after.token_id})`)
        .orderBy('budgets.user_id')
        .orderBy('budgets.token_id')
        .limit(limit),
    );
  }

  /** @returns false if another process has sent the notice, or the budget was changed in the meantime */
  async markTold(trx: Trx, budget: BudgetRow, month: number, percent: number): Promise<boolean> {
    return wasChanged(
      await trx
        .updateTable('budgets')
        .set({ told_month: month, told_percent: percent })
        .where('user_id', '=', budget.user_id)
        .where('token_id', '=', budget.token_id)
        .where('month_quota', '=', budget.month_quota)
        .where('told_month', '=', budget.told_month)
        .where('told_percent', '=', budget.told_percent)
        .executeTakeFirst(),
    );
  }
}

function withUse(db: Executor, { fromDay, toDay }: MonthDays) {
  return (
    db
      .selectFrom('budgets')
      .leftJoin('tokens', 'tokens.id', 'budgets.token_id')
      // A revoked key is deleted some day, and the time of its revocation is then null again.
      .where(({ or, and, eb }) =>
        or([
          eb('budgets.token_id', '=', 0),
          and([eb('tokens.id', 'is not', null), eb('tokens.revoked_at', 'is', null)]),
        ]),
      )
      .selectAll('budgets')
      .select('tokens.name as token_name')
      .select(({ selectFrom }) =>
        selectFrom('usage_daily')
          .select(({ fn }) => fn.coalesce(fn.sum<number>('usage_daily.quota'), sql<number>`0`).as('spent'))
          .whereRef('usage_daily.user_id', '=', 'budgets.user_id')
          .where('usage_daily.day', '>=', fromDay)
          .where('usage_daily.day', '<', toDay)
          .where((use) =>
            use.or([
              use.and([use('budgets.token_id', '=', 0), use('usage_daily.token_id', '<>', IMPORTED_USAGE_TOKEN)]),
              use('usage_daily.token_id', '=', use.ref('budgets.token_id')),
            ]),
          )
          .as('spent'),
      )
  );
}

/** PostgreSQL sums bigints to a numeric, which arrives as a string. */
async function execute(query: ReturnType<typeof withUse>): Promise<BudgetWithUse[]> {
  return (await query.execute()).map((row) => ({ ...row, spent: Number(row.spent ?? 0) }));
}

interface Month extends MonthDays {
  /** Months since January 1970. */
  readonly index: number;
  /** `2026-11` */
  readonly name: string;
}

/**
 * The calendar month, UTC.
 * @param now Unix milliseconds
 */
function monthOf(now: number): Month {
  const date = new Date(now);
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()];
  return {
    index: (year - 1970) * 12 + month,
    name: date.toISOString().slice(0, 7),
    fromDay: Date.UTC(year, month, 1) / DAY_MS,
    toDay: Date.UTC(year, month + 1, 1) / DAY_MS,
  };
}

/** Assembles the monthly budgets and their notices. */
export function makeBudgets(dependencies: Omit<BudgetNoticesDependencies, 'store'>): {
  readonly budgets: BudgetService;
  readonly budgetNotices: BudgetNotices;
} {
  const store = new BudgetStore(dependencies.database);
  return {
    budgets: new BudgetService({ ...dependencies, store }),
    budgetNotices: new BudgetNotices({ ...dependencies, store }),
  };
}
