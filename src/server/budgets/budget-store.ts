import { type Selectable, sql } from 'kysely';
import { IMPORTED_USAGE_TOKEN } from '../../contract/ledger-and-usage.ts';
import type { Database } from '../platform/db/database.ts';
import { wasChanged } from '../platform/db/sql.ts';
import type { Executor, Tables, Trx } from '../tables.ts';

export type BudgetRow = Selectable<Tables['budgets']>;
/** With the name of its key, null for the account, and what was charged in a month. */
export type BudgetWithUse = BudgetRow & { readonly token_name: string | null; readonly spent: number };

/** Days since 1970 UTC; `toDay` is not included. */
export interface MonthDays {
  readonly fromDay: number;
  readonly toDay: number;
}

/** SQL of `budgets`. */
export class BudgetStore {
  readonly #database: Database<Tables>;
  constructor(database: Database<Tables>) {
    this.#database = database;
  }

  /** Whether it is a key of the account that works. */
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

  /** Creates or replaces; the owner is told again of what is reached already. */
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

  /** Budgets of all accounts, those after a given one in the order of the index; budgets of revoked keys are left out. */
  listAfter(after: Pick<BudgetRow, 'user_id' | 'token_id'>, month: MonthDays, limit: number): Promise<BudgetWithUse[]> {
    return execute(
      withUse(this.#database.kysely, month)
        .where(sql<boolean>`(budgets.user_id, budgets.token_id) > (${after.user_id}, ${after.token_id})`)
        .orderBy('budgets.user_id')
        .orderBy('budgets.token_id')
        .limit(limit),
    );
  }

  /** False where another process has told of it, or the budget was changed meanwhile. */
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
  return db
    .selectFrom('budgets')
    .leftJoin('tokens', 'tokens.id', 'budgets.token_id')
    .where(({ or, eb }) => or([eb('budgets.token_id', '=', 0), eb('tokens.revoked_at', 'is', null)]))
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
    );
}

/** PostgreSQL sums bigints to a numeric, which arrives as text. */
async function execute(query: ReturnType<typeof withUse>): Promise<BudgetWithUse[]> {
  return (await query.execute()).map((row) => ({ ...row, spent: Number(row.spent ?? 0) }));
}
