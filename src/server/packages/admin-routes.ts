import * as lines from '../../contract/packages.ts';
import { done, list, ok, toPage } from '../../contract/schemas.ts';
import type { AccountCaller } from '../platform/http/caller.ts';
import type { RequestContext } from '../platform/http/request-context.ts';
import type { Routes } from '../platform/http/routes.ts';
import type { CodeFilter } from './code-store.ts';
import type { Packages } from './packages.ts';
import type { Actor } from './plans.ts';
import { toAdminCard, toCodeRow, toGranted } from './presenter.ts';

/** Package cards and redemption codes, for administrators. */
export function addPackageAdminRoutes(routes: Routes, packages: Packages): void {
  const { cards, plans } = packages;

  routes.add(lines.adminListCards, async ({ query }) => {
    const { rows, total } = await cards.list(toPage(query));
    return list(rows.map(toAdminCard), total);
  });
  routes.add(lines.adminMakeCard, async ({ caller, body, request }) =>
    ok({ id: await cards.make(actorOf(caller, request), body) }),
  );
  routes.add(lines.adminGetCard, async ({ params }) => ok(toAdminCard(await cards.get(Number(params.id)))));
  routes.add(lines.adminChangeCard, async ({ caller, params, body, request }) => {
    await cards.change(actorOf(caller, request), Number(params.id), body);
    return done();
  });
  routes.add(lines.adminDeleteCard, async ({ caller, params, request }) => {
    await cards.remove(actorOf(caller, request), Number(params.id));
    return done();
  });

  routes.add(lines.activatePackage, async ({ caller, body, request }) => {
    const wish = { userId: body.user_id, code: body.package_code, days: body.duration_days };
    return ok(toGranted(await plans.activate(actorOf(caller, request), wish)));
  });

  addCodeRoutes(routes, packages);
}

function addCodeRoutes(routes: Routes, { codes, clock }: Packages): void {
  routes.add(lines.adminListCodes, async ({ query }) => {
    const { rows, total } = await codes.list(filterOf(query), toPage(query));
    const now = clock.now();
    return list(
      rows.map((row) => toCodeRow(row, now)),
      total,
    );
  });
  routes.add(lines.adminMakeCodes, async ({ caller, body, request }) => {
    const { package_code: packageCode, quota, count, expires_at, note } = body;
    const expiresAt = expires_at == null ? undefined : expires_at * 1000;
    return ok(await codes.make(actorOf(caller, request), { packageCode, quota, count, expiresAt, note }));
  });
  routes.add(lines.adminExportCodes, async ({ query, reply }) =>
    reply
      .header('content-type', 'text/csv; charset=utf-8')
      .header('content-disposition', 'attachment; filename="redemption-codes.csv"')
      .header('cache-control', 'no-store')
      .send(await codes.export(filterOf(query))),
  );
  routes.add(lines.adminGetCode, async ({ params }) => ok(toCodeRow(await codes.get(Number(params.id)), clock.now())));
  routes.add(lines.adminChangeCode, async ({ caller, params, body, request }) => {
    const { expires_at } = body;
    await codes.change(
      actorOf(caller, request),
      Number(params.id),
      typeof expires_at === 'number' ? expires_at * 1000 : expires_at,
    );
    return done();
  });
  routes.add(lines.adminVoidCode, async ({ caller, params, request }) => {
    await codes.void(actorOf(caller, request), Number(params.id));
    return done();
  });
  routes.add(lines.adminVoidBatch, async ({ caller, body, request }) =>
    ok({ voided: await codes.voidBatch(actorOf(caller, request), body.batch_id) }),
  );
}

const filterOf = (query: {
  readonly status?: CodeFilter['status'];
  readonly batch_id?: string;
  readonly package_code?: string;
}): CodeFilter => ({
  status: query.status,
  batchId: query.batch_id === undefined ? undefined : Number(query.batch_id),
  packageCode: query.package_code,
});

const actorOf = (caller: AccountCaller, { address, id }: RequestContext): Actor => ({
  actorId: caller.userId,
  address,
  requestId: id,
});
