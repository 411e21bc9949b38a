import { type Migration, required } from '../platform/db/migrate.ts';

/** The tables of the budgets capability. */
export interface BudgetTables {
  /** The monthly budget (calendar month, UTC) of an account, or of one of its keys (`token_id`; 0: the account). */
  budgets: {
    user_id: number;
    token_id: number;
    month_quota: number;
    /** JSON list of percentages, ascending. */
    thresholds: string;
    /** The month the owner was last notified of, as months since 1970, and the highest threshold in that notice. */
    told_month: number;
    told_percent: number;
  };
}

/** Migrations of the budget tables. */
export const budgetMigrations: readonly Migration[] = [
  {
    id: '0077-budgets',
    async up(trx, { int64, text }) {
      await trx.schema
        .createTable('budgets')
        .addColumn('user_id', int64, required)
        .addColumn('token_id', int64, required)
        .addColumn('month_quota', int64, required)
        .addColumn('thresholds', text, required)
        .addColumn('told_month', int64, required)
        .addColumn('told_percent', int64, required)
        .addPrimaryKeyConstraint('budgets_key', ['user_id', 'token_id'])
        .execute();
    },
  },
];
