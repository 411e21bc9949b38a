import { type Migration, required } from '../platform/db/migrate.ts';

export interface BudgetTables {
  /** What an account, or one of its keys (`token_id`; 0: the account), means to spend in a calendar month of UTC. */
  budgets: {
    user_id: number;
    token_id: number;
    month_quota: number;
    /** JSON list of per cent, ascending. */
    thresholds: string;
    /** The month the owner was last told of, as months since 1970, and the highest threshold of it. */
    told_month: number;
    told_percent: number;
  };
}

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
