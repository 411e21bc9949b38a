import { BudgetService, BudgetStore, ReachedBudgetNotices, type ReachedBudgetNoticesDependencies } from './budgets.ts';

/** Assembles the monthly budgets and their notices. */
export function makeBudgets(dependencies: Omit<ReachedBudgetNoticesDependencies, 'store'>): {
  readonly budgets: BudgetService;
  readonly budgetNotices: ReachedBudgetNotices;
} {
  const store = new BudgetStore(dependencies.database);
  return {
    budgets: new BudgetService({ ...dependencies, store }),
    budgetNotices: new ReachedBudgetNotices({ ...dependencies, store }),
  };
}
