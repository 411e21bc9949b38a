import * as endpoints from '../../contract/plans.ts';
import { done, list, ok, parseSort, toPage } from '../../contract/responses.ts';
import { toSeconds } from '../../contract/time-units.ts';
import { type RouteRegistry, toActor } from '../platform/http/route-registry.ts';
import { readIdempotencyKey } from '../platform/idempotency-key.ts';
import {
  type CodeFilter,
  toAdminPackageCard,
  toCodeListItem,
  toGrantResponse,
  toOwnPackage,
  toPackageCard,
} from './codes.ts';
import type { Plans } from './module.ts';

/** The public list of plans, the caller's own subscription, and code redemption. */
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

/** Plans, subscriptions and redemption codes, for administrators. */
export function addPlanAdminRoutes(routes: RouteRegistry, plans: Plans): void {
  const { catalog, subscriptions } = plans;

  routes.add(endpoints.adminListPackageCards, async ({ query }) => {
    const { rows, total } = await catalog.list(toPage(query), parseSort(query.sort));
    return list(rows.map(toAdminPackageCard), total);
  });
  routes.add(endpoints.adminCreatePackageCard, async ({ caller, body, request }) =>
    ok({ id: await catalog.create(toActor(caller, request), body) }),
  );
  routes.add(endpoints.adminGetPackageCard, async ({ params }) =>
    ok(toAdminPackageCard(await catalog.get(Number(params.id)))),
  );
  routes.add(endpoints.adminUpdatePackageCard, async ({ caller, params, body, request }) => {
    await catalog.update(toActor(caller, request), Number(params.id), body);
    return done();
  });
  routes.add(endpoints.adminDeletePackageCard, async ({ caller, params, request }) => {
    await catalog.remove(toActor(caller, request), Number(params.id));
    return done();
  });

  routes.add(endpoints.activatePackage, async ({ caller, body, request }) => {
    const idempotencyKey = readIdempotencyKey(request.headers['idempotency-key']);
    const assignment = { userId: body.user_id, code: body.package_code, days: body.duration_days, idempotencyKey };
    return ok(toGrantResponse(await subscriptions.assignByAdmin(toActor(caller, request), assignment)));
  });

  addCodeRoutes(routes, plans);
}

function addCodeRoutes(routes: RouteRegistry, { codes, clock }: Plans): void {
  routes.add(endpoints.adminListRedemptionCodes, async ({ query }) => {
    const { rows, total } = await codes.list(toCodeFilter(query), toPage(query), parseSort(query.sort));
    const now = clock.now();
    return list(
      rows.map((row) => toCodeListItem(row, now)),
      total,
    );
  });
  routes.add(endpoints.adminListRedemptionBatches, async ({ query }) => {
    const { rows, total } = await codes.listBatches(toPage(query));
    return list(
      rows.map(({ id, note, package_code, quota, count, created_at }) => ({
        id,
        note,
        package_code: package_code ?? '',
        quota: Number(quota),
        count: Number(count),
        created_time: toSeconds(created_at),
      })),
      total,
    );
  });
  routes.add(endpoints.adminCreateRedemptionCodes, async ({ caller, body, request }) => {
    const { package_code: packageCode, quota, count, expires_at, note } = body;
    const expiresAt = expires_at == null ? undefined : expires_at * 1000;
    return ok(await codes.create(toActor(caller, request), { packageCode, quota, count, expiresAt, note }));
  });
  routes.add(endpoints.adminExportRedemptionCodes, async ({ query, reply }) =>
    reply
      .header('content-type', 'text/csv; charset=utf-8')
      .header('content-disposition', 'attachment; filename="redemption-codes.csv"')
      .header('cache-control', 'no-store')
      .send(await codes.export(toCodeFilter(query))),
  );
  routes.add(endpoints.adminGetRedemptionCode, async ({ params }) =>
    ok(toCodeListItem(await codes.get(Number(params.id)), clock.now())),
  );
  routes.add(endpoints.adminUpdateRedemptionCode, async ({ caller, params, body, request }) => {
    const { expires_at } = body;
    await codes.setExpiry(
      toActor(caller, request),
      Number(params.id),
      typeof expires_at === 'number' ? expires_at * 1000 : expires_at,
    );
    return done();
  });
  routes.add(endpoints.adminVoidRedemptionCode, async ({ caller, params, request }) => {
    await codes.void(toActor(caller, request), Number(params.id));
    return done();
  });
  routes.add(endpoints.adminVoidRedemptionBatch, async ({ caller, body, request }) =>
    ok({ voided: await codes.voidBatch(toActor(caller, request), body.batch_id) }),
  );
}

const toCodeFilter = (query: {
  readonly status?: CodeFilter['status'];
  readonly batch_id?: string;
  readonly package_code?: string;
}): CodeFilter => ({
  status: query.status,
  batchId: query.batch_id === undefined ? undefined : Number(query.batch_id),
  packageCode: query.package_code,
});
