import { toSpendLimitState } from '../../contract/account-fields.ts';
import { defined } from '../../contract/objects.ts';
import { ORGANIZATION_GRACE_DAYS, type TransferredThing } from '../../contract/organization-roles.ts';
import * as endpoints from '../../contract/organizations.ts';
import { done, list, ok, toPage } from '../../contract/responses.ts';
import { DAY_MS, toSeconds } from '../../contract/time-units.ts';
import { AppError } from '../platform/app-error.ts';
import { type AccountCaller, actorIdOf, type RouteRegistry, toActor } from '../platform/http/route-registry.ts';
import { readIdempotencyKey } from '../platform/idempotency-key.ts';
import type { OrganizationAdmin } from './organization-admin.ts';
import type { OwnOrganization } from './organization-store.ts';
import type { OrganizationService } from './organizations.ts';
import type { ShownTransfer, TransferService } from './transfers.ts';

/** Registers the endpoints of organizations. The path names one; a header that names another is refused. */
export function addOrganizationRoutes(
  routes: RouteRegistry,
  {
    organizations,
    organizationAdmin,
  }: { readonly organizations: OrganizationService; readonly organizationAdmin: OrganizationAdmin },
): void {
  addAdminRoutes(routes, organizationAdmin);
  routes.add(endpoints.adminListMembers, async ({ params, query }) => {
    const { rows, total } = await organizations.listAllMembers(Number(params.id), toPage(query));
    return list(rows.map(toMember), total);
  });
  addMemberRoutes(routes, organizations);
  addInvitationRoutes(routes, organizations);

  routes.add(endpoints.listOrganizations, async ({ caller, query }) => {
    const { rows, total } = await organizations.list(caller.userId, toPage(query));
    return list(rows.map(toOrganization), total);
  });

  routes.add(endpoints.createOrganization, async ({ caller, body, request }) =>
    ok(toOrganization(await organizations.create(toActor(caller, request), body))),
  );

  routes.add(endpoints.getOrganization, async ({ caller, params }) =>
    ok(toOrganization(await organizations.get(slugOf(params, caller), actorIdOf(caller)))),
  );

  routes.add(endpoints.updateOrganization, async ({ caller, params, body, request }) => {
    const change = defined({ name: body.name, promptsVisible: body.prompts_visible_to_admins });
    return ok(toOrganization(await organizations.update(slugOf(params, caller), toActor(caller, request), change)));
  });

  routes.add(endpoints.deleteOrganization, async ({ caller, params, request }) => {
    await organizations.setClosed(slugOf(params, caller), toActor(caller, request), true);
    return done();
  });

  routes.add(endpoints.restoreOrganization, async ({ caller, params, request }) =>
    ok(toOrganization(await organizations.setClosed(slugOf(params, caller), toActor(caller, request), false))),
  );
}

/** Registers the endpoints that hand over an account's things to an organization. */
export function addTransferRoutes(routes: RouteRegistry, transfers: TransferService): void {
  routes.add(endpoints.createTransfer, async ({ caller, params, body, request }) => {
    const { include, quota = 0 } = body;
    const slug = slugOf(params, caller);
    const row = await transfers.start(slug, toActor(caller, request), { include: [...new Set(include)], quota });
    return ok(toTransfer(row));
  });

  routes.add(endpoints.listTransfers, async ({ caller, params, query }) => {
    const { rows, total } = await transfers.list(slugOf(params, caller), actorIdOf(caller), toPage(query));
    return list(rows.map(toTransfer), total);
  });
}

function addAdminRoutes(routes: RouteRegistry, administration: OrganizationAdmin): void {
  routes.add(endpoints.adminListOrganizations, async ({ query }) => {
    const filter = defined({ q: query.q || undefined, ids: query.ids?.split(',').map(Number) });
    const { rows, total } = await administration.list(filter, toPage(query));
    const organizations = rows.map((row) => ({
      id: row.id,
      slug: row.slug,
      name: row.name,
      status: row.status,
      deletes_at: deletesAt(row),
      quota: row.wallet.balance,
      used_quota: row.wallet.used,
      plan: row.plan.code,
      plan_expires_at: row.plan.expiresAt,
      owners: [...row.owners],
      members: Number(row.members ?? 0),
      concurrent_tasks: row.concurrent_tasks,
      queued_tasks: row.queued_tasks,
      spend_limit: toSpendLimitState(row.spendLimit),
      created_time: toSeconds(row.created_at),
    }));
    return list(organizations, total);
  });

  routes.add(endpoints.adminUpdateOrganization, async ({ caller, params, body, request }) => {
    const idempotencyKey = readIdempotencyKey(request.headers['idempotency-key']);
    await administration.update(toActor(caller, request), Number(params.id), { ...body, idempotencyKey });
    return done();
  });

  for (const [line, isClosed] of [
    [endpoints.adminCloseOrganization, true],
    [endpoints.adminRestoreOrganization, false],
  ] as const)
    routes.add(line, async ({ caller, params, request }) => {
      await administration.setClosed(toActor(caller, request), Number(params.id), isClosed);
      return done();
    });
}

function addMemberRoutes(routes: RouteRegistry, organizations: OrganizationService): void {
  routes.add(endpoints.listMembers, async ({ caller, params, query }) => {
    const { rows, total } = await organizations.listMembers(slugOf(params, caller), actorIdOf(caller), toPage(query));
    return list(rows.map(toMember), total);
  });

  routes.add(endpoints.updateMember, async ({ caller, params, body, request }) => {
    const change = defined({ role: body.role, spendLimit: body.spend_limit });
    await organizations.updateMember(slugOf(params, caller), Number(params.user_id), toActor(caller, request), change);
    return done();
  });

  routes.add(endpoints.removeMember, async ({ caller, params, request }) => {
    await organizations.removeMember(slugOf(params, caller), Number(params.user_id), toActor(caller, request));
    return done();
  });
}

function addInvitationRoutes(routes: RouteRegistry, organizations: OrganizationService): void {
  routes.add(endpoints.listInvitations, async ({ caller, params, query }) => {
    const slug = slugOf(params, caller);
    const { rows, total } = await organizations.listInvitations(slug, actorIdOf(caller), toPage(query));
    const invitations = rows.map(({ spend_amount: amount, spend_period: period, ...row }) => ({
      id: row.id,
      role: row.role,
      email: row.email ?? '',
      spend_limit: amount === null || period === null ? null : { amount, period },
      invited_by: row.inviter ?? '',
      created_time: toSeconds(row.created_at),
      expires_at: toSeconds(row.expires_at),
    }));
    return list(invitations, total);
  });

  routes.add(endpoints.createInvitation, async ({ caller, params, body, request }) => {
    const { role, email, spend_limit: spendLimit = null } = body;
    const invitation = defined({ role, email, spendLimit });
    const slug = slugOf(params, caller);
    const made = await organizations.invite(slug, toActor(caller, request), invitation, request.locale);
    return ok({ id: made.id, token: made.token, url: made.url, expires_at: toSeconds(made.expiresAt) });
  });

  routes.add(endpoints.deleteInvitation, async ({ caller, params, request }) => {
    await organizations.withdraw(slugOf(params, caller), Number(params.id), toActor(caller, request));
    return done();
  });

  routes.add(endpoints.acceptInvitation, async ({ caller, body, request }) =>
    ok(toOrganization(await organizations.accept(body.token, toActor(caller, request)))),
  );
}

/** A caller that acts for an organization reaches no other one. @throws not_exist */
function slugOf({ slug }: { readonly slug: string }, { member }: AccountCaller): string {
  if (member !== undefined && member.slug !== slug) throw new AppError('organization_not_found');
  return slug;
}

const toMember = (row: Awaited<ReturnType<OrganizationService['listAllMembers']>>['rows'][number]) => ({
  user_id: row.user_id,
  username: row.username ?? '',
  display_name: row.display_name,
  role: row.role,
  spend_limit: toSpendLimitState(row.spendLimit),
  joined_time: toSeconds(row.created_at),
});

const toOrganization = (row: OwnOrganization) => ({
  id: row.id,
  slug: row.slug,
  name: row.name,
  role: row.role,
  prompts_visible_to_admins: row.prompts_visible_to_admins === 1,
  created_time: toSeconds(row.created_at),
  deletes_at: deletesAt(row),
});

const deletesAt = ({ closed_at }: { readonly closed_at: number | null }): number | null =>
  closed_at === null ? null : toSeconds(closed_at + ORGANIZATION_GRACE_DAYS * DAY_MS);

const toTransfer = ({ things, created_at, finished_at, ...row }: ShownTransfer) => ({
  id: row.id,
  user_id: row.user_id,
  username: row.username ?? '',
  status: finished_at === null ? ('running' as const) : ('finished' as const),
  include: JSON.parse(things) as TransferredThing[],
  quota: row.quota,
  keys: row.keys,
  webhooks: row.webhooks,
  videos: row.videos,
  files: row.files,
  created_time: toSeconds(created_at),
});
