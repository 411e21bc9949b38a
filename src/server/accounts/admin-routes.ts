import * as endpoints from '../../contract/admin-accounts.ts';
import { longList, toLongPage } from '../../contract/large-list-pagination.ts';
import { done, list, ok, toPage } from '../../contract/success-bodies-and-pagination.ts';
import { toSeconds } from '../../contract/time-units.ts';
import { toRequestOrigin } from '../platform/http/request-context.ts';
import type { RouteRegistry } from '../platform/http/route-registry.ts';
import type { Accounts } from './make.ts';
import { toSessionRow, toUserRow } from './presenter.ts';

/** What administrators do with accounts, and the audit log. */
export function addAccountAdminRoutes(
  routes: RouteRegistry,
  { users, userAdministration, listAuditLog }: Pick<Accounts, 'users' | 'userAdministration' | 'listAuditLog'>,
): void {
  routes.add(endpoints.adminListUsers, async ({ query }) => {
    const { q, ids, role, status } = query;
    const filter = {
      q: q === '' ? undefined : q,
      ids: ids?.split(',').map(Number),
      role,
      status: status === undefined ? undefined : Number(status),
    };
    const { rows, ...page } = await users.listProfiles(filter, toLongPage(query));
    return longList(rows.map(toUserRow), page);
  });

  routes.add(endpoints.adminCreateUser, async ({ caller, body, request }) => {
    const { username, password, role, email, display_name: displayName, quota = 0 } = body;
    const user = { username, password, role, email, displayName, quota };
    return ok({ id: await userAdministration.create(caller, user, toRequestOrigin(request)) });
  });

  routes.add(endpoints.adminGetUser, async ({ params }) => ok(toUserRow(await users.profile(Number(params.id)))));

  routes.add(endpoints.adminUpdateUser, async ({ caller, params, body, request }) => {
    await userAdministration.update(caller, Number(params.id), body, toRequestOrigin(request));
    return done();
  });

  routes.add(endpoints.adminDeleteUser, async ({ caller, params, request }) => {
    await userAdministration.remove(caller, Number(params.id), toRequestOrigin(request));
    return done();
  });

  routes.add(endpoints.adminListSessions, async ({ caller, params, query }) => {
    const { rows, total } = await userAdministration.listSessions(caller, Number(params.id), toPage(query));
    return list(
      rows.map((row) => toSessionRow(row, caller)),
      total,
    );
  });

  routes.add(endpoints.adminEndSession, async ({ caller, params, request }) => {
    const origin = toRequestOrigin(request);
    await userAdministration.endSession(caller, Number(params.id), Number(params.session), origin);
    return done();
  });

  routes.add(endpoints.adminListAudit, async ({ query }) => {
    const { actor_id, action, target } = query;
    const filter = { actorId: actor_id === undefined ? undefined : Number(actor_id), action, target };
    const { rows, ...page } = await listAuditLog(filter, toLongPage(query));
    const entries = rows.map((row) => ({
      id: row.id,
      actor_id: row.actor_id,
      action: row.action,
      target: row.target,
      before: parseJsonColumn(row.before),
      after: parseJsonColumn(row.after),
      address: row.address,
      request_id: row.request_id,
      created_time: toSeconds(row.created_at),
    }));
    return longList(entries, page);
  });
}

const parseJsonColumn = (text: string | null): unknown => (text === null ? null : JSON.parse(text));
