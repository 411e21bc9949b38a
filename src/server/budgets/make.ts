import { BudgetService, type BudgetServiceDependencies } from './service.ts';
import { BudgetStore } from './store.ts';

/** Assembles the monthly budgets. */
export const makeBudgets = (dependencies: Omit<BudgetServiceDependencies, 'store'>): BudgetService =>
  new BudgetService({ ...dependencies, store: new BudgetStore(dependencies.database) });
