import { longList, toLongPage } from '../../../contract/large-list-pagination.ts';
import * as endpoints from '../../../contract/login-history-and-session-end-reason.ts';
import { ok } from '../../../contract/success-bodies-and-pagination.ts';
import { toSeconds } from '../../../contract/time-units.ts';
import type { RouteRegistry } from '../../platform/http/route-registry.ts';
import type { Accounts } from '../make.ts';
import { toSecondsOrNull } from '../presenter.ts';
import type { LoginAttemptRow } from './login-history-store.ts';

/** Who logged in from where, and why a session ended. */
export function addLoginHistoryRoutes(
  routes: RouteRegistry,
  { loginHistory, sessions }: Pick<Accounts, 'loginHistory' | 'sessions'>,
): void {
  routes.add(endpoints.listLogins, async ({ caller, query }) => {
    const { rows, ...page } = await loginHistory.listOwn(caller.userId, query.failed === 'true', toLongPage(query));
    return longList(rows.map(toAttempt), page);
  });

  routes.add(endpoints.adminListLogins, async ({ caller, query }) => {
    const { user_id: userId, failed } = query;
    const filter = { userId: userId === undefined ? undefined : Number(userId), failed: failed === 'true' };
    const { rows, ...page } = await loginHistory.listManaged(caller.role, filter, toLongPage(query));
    return longList(rows.map(toAttempt), page);
  });

  routes.add(endpoints.getSessionEnd, async ({ request }) => {
    const end = request.session === undefined ? undefined : await sessions.findEnd(request.session);
    return ok({ reason: end?.reason ?? null, ended_time: toSecondsOrNull(end?.ended_at ?? null) });
  });
}

const toAttempt = (row: LoginAttemptRow): endpoints.LoginAttempt => ({
  id: row.id,
  user_id: row.user_id,
  outcome: row.outcome,
  two_step: row.two_step === 1,
  known_source: row.known_source === 1,
  address: row.address,
  user_agent: row.user_agent,
  created_time: toSeconds(row.created_at),
});
