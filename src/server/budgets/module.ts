import { BudgetNotices, type BudgetNoticesDependencies, BudgetService, BudgetStore } from './budgets.ts';

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
