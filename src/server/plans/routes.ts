import * as endpoints from '../../contract/plans-and-redemption-codes.ts';
import { ok } from '../../contract/success-bodies-and-pagination.ts';
import type { RouteRegistry } from '../platform/http/route-registry.ts';
import type { Plans } from './make.ts';
import { toGrantResponse, toOwnPackage, toPackageCard } from './presenter.ts';

/** Plans as everybody sees them, the own subscription, and redemption. */
export function addPlanRoutes(routes: RouteRegistry, plans: Plans): void {
  const { catalog, codeRedemption, allowances, ledger, clock, findTimeZone } = plans;

  routes.add(endpoints.listPackageCards, async () => ok((await catalog.listPurchasable()).map(toPackageCard)));

  routes.add(endpoints.getOwnPackage, async ({ caller: { userId } }) => {
    const zone = await findTimeZone(userId);
    const [usage, wallet] = await Promise.all([allowances.currentUsage(userId, zone), ledger.wallet(userId)]);
    return ok(toOwnPackage(usage, { wallet: wallet.balance, zone, now: clock.now() }));
  });

  routes.add(endpoints.redeemCode, async ({ caller, body, request }) => {
    const redemption = await codeRedemption.redeem(caller, request.clientIp, body.code);
    return ok(toGrantResponse(redemption, redemption.quota));
  });
}
