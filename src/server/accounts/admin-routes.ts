import * as lines from '../../contract/account-admin.ts';
import { done, list, ok, toPage } from '../../contract/schemas.ts';
import type { Routes } from '../platform/http/routes.ts';
import type { Accounts } from './accounts.ts';
import { toSeconds, toSessionRow, toUserRow, traceOf } from './presenter.ts';

/** What administrators do with accounts, and what anybody did. */
export function addAccountAdminRoutes(
  routes: Routes,
  { people, administration, auditLog }: Pick<Accounts, 'people' | 'administration' | 'auditLog'>,
): void {
  routes.add(lines.adminListUsers, async ({ query }) => {
    const { q, ids, role, status } = query;
    const filter = {
      ...(q === undefined || q === '' ? {} : { q }),
      ...(ids === undefined ? {} : { ids: ids.split(',').map(Number) }),
      ...(role === undefined ? {} : { role }),
      ...(status === undefined ? {} : { status: Number(status) }),
    };
    const { rows, total } = await people.profiles(filter, toPage(query));
    return list(rows.map(toUserRow), total);
  });

  routes.add(lines.adminMakeUser, async ({ caller, body, request }) => {
    const { username, password, role, email, display_name: displayName, quota = 0 } = body;
    const person = { username, password, role, email, displayName, quota };
    return ok({ id: await administration.make(caller, person, traceOf(request)) });
  });

  routes.add(lines.adminGetUser, async ({ params }) => ok(toUserRow(await people.profile(Number(params.id)))));

  routes.add(lines.adminChangeUser, async ({ caller, params, body, request }) => {
    await administration.change(caller, Number(params.id), body, traceOf(request));
    return done();
  });

  routes.add(lines.adminDeleteUser, async ({ caller, params, request }) => {
    await administration.remove(caller, Number(params.id), traceOf(request));
    return done();
  });

  routes.add(lines.adminListSessions, async ({ caller, params, query }) => {
    const { rows, total } = await administration.sessions(caller, Number(params.id), toPage(query));
    return list(
      rows.map((row) => toSessionRow(row, caller)),
      total,
    );
  });

  routes.add(lines.adminEndSession, async ({ caller, params, request }) => {
    await administration.endSession(caller, Number(params.id), Number(params.session), traceOf(request));
    return done();
  });

  routes.add(lines.adminListAudit, async ({ query }) => {
    const { actor_id, action, target } = query;
    const filter = {
      ...(actor_id === undefined ? {} : { actorId: Number(actor_id) }),
      ...(action === undefined ? {} : { action }),
      ...(target === undefined ? {} : { target }),
    };
    const { rows, total } = await auditLog(filter, toPage(query));
    const shown = rows.map((row) => ({
      id: row.id,
      actor_id: row.actor_id,
      action: row.action,
      target: row.target,
      before: toJson(row.before),
      after: toJson(row.after),
      address: row.address,
      request_id: row.request_id,
      created_time: toSeconds(row.created_at),
    }));
    return list(shown, total);
  });
}

const toJson = (text: string | null): unknown => (text === null ? null : JSON.parse(text));
