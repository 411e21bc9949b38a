import * as lines from '../../contract/packages.ts';
import { ok } from '../../contract/schemas.ts';
import type { Routes } from '../platform/http/routes.ts';
import type { Packages } from './packages.ts';
import { toCard, toGranted, toOwnPackage } from './presenter.ts';

/** Packages, as everybody and as their holders see them. */
export function addPackageRoutes(routes: Routes, packages: Packages): void {
  const { cards, redeem, allowances, quota, clock, timeZone } = packages;

  routes.add(lines.listPackageCards, async () => ok((await cards.offered()).map(toCard)));

  routes.add(lines.getOwnPackage, async ({ caller }) => {
    const zone = await timeZone(caller.userId);
    const [looked, wallet] = await Promise.all([allowances.look(caller.userId, zone), quota.wallet(caller.userId)]);
    return ok(toOwnPackage(looked, { wallet: wallet.balance, zone, now: clock.now() }));
  });

  routes.add(lines.redeemCode, async ({ caller, body, request }) => {
    const granted = await redeem(caller.userId, request.address, body.code);
    return ok(toGranted(granted, granted.quota));
  });
}
