import { deleteBudget, listBudgets, putBudget } from '../../contract/budgets.ts';
import { done, ok } from '../../contract/responses.ts';
import type { RouteRegistry } from '../platform/http/route-registry.ts';
import type { BudgetService } from './budgets.ts';

/** Registers the budgets of the caller's own account. */
export function addBudgetRoutes(routes: RouteRegistry, budgets: BudgetService): void {
  routes.add(listBudgets, async ({ caller }) => ok(await budgets.list(caller.userId)));
  routes.add(putBudget, async ({ caller, params, body }) =>
    ok(await budgets.put(caller.userId, Number(params.token_id), body)),
  );
  routes.add(deleteBudget, async ({ caller, params }) => {
    await budgets.remove(caller.userId, Number(params.token_id));
    return done();
  });
}
