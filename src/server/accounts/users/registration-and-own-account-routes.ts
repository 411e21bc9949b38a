import * as endpoints from '../../../contract/registration-login-and-own-account.ts';
import { done, ok } from '../../../contract/success-bodies-and-pagination.ts';
import { toRequestOrigin } from '../../platform/http/request-context.ts';
import type { RouteRegistry } from '../../platform/http/route-registry.ts';
import type { Accounts } from '../make.ts';
import { toUserRow } from '../presenter.ts';

/** Registration, and the own account's profile and settings. */
export function addUserRoutes(
  routes: RouteRegistry,
  { users, selfUpdates, settings }: Pick<Accounts, 'users' | 'selfUpdates' | 'settings'>,
): void {
  routes.add(endpoints.register, async ({ body, request }) => {
    const { username, password, email } = body;
    return ok(await users.register({ username, password, email }, request.clientIp, request.locale));
  });

  routes.add(endpoints.getSelf, async ({ caller }) => ok(toUserRow(await users.profile(caller.userId))));

  routes.add(endpoints.putSelf, async ({ caller, body, request }) => {
    await selfUpdates.update(caller, body, toRequestOrigin(request), request.locale);
    return done();
  });

  routes.add(endpoints.getSettings, async ({ caller }) =>
    ok({ time_zone: await settings.findTimeZone(caller.userId) }),
  );

  routes.add(endpoints.putSettings, async ({ caller, body }) => {
    if (body.time_zone !== undefined) await settings.setTimeZone(caller.userId, body.time_zone);
    return done();
  });
}
