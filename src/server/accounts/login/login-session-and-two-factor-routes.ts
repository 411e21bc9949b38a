import * as endpoints from '../../../contract/registration-login-and-own-account.ts';
import { done, list, ok, toPage } from '../../../contract/success-bodies-and-pagination.ts';
import { notExistError } from '../../platform/app-error.ts';
import type { LoginCookies } from '../../platform/http/login-cookies.ts';
import { toLoginClient, toRequestOrigin } from '../../platform/http/request-context.ts';
import type { RouteRegistry } from '../../platform/http/route-registry.ts';
import type { Accounts } from '../make.ts';
import { toLoginResponse, toSessionRow } from '../presenter.ts';

/** Login, logout, sessions and two-step verification. */
export function addLoginRoutes(
  routes: RouteRegistry,
  { users, logins, sessions, twoFactors }: Pick<Accounts, 'users' | 'logins' | 'sessions' | 'twoFactors'>,
  cookies: LoginCookies,
): void {
  routes.add(endpoints.login, async ({ body, request, reply }) => {
    const { username, password } = body;
    const outcome = await logins.logIn({
      username,
      password,
      client: toLoginClient(request, cookies.knownDeviceOf(reply)),
    });
    if (outcome.step === 'second') {
      cookies.setPending(reply, outcome.pending);
      return ok({ require_2fa: true as const });
    }
    cookies.setLogin(reply, outcome);
    return ok(toLoginResponse(outcome.account));
  });

  routes.add(endpoints.loginSecondStep, async ({ body, request, reply }) => {
    const client = toLoginClient(request, cookies.knownDeviceOf(reply));
    const outcome = await logins.completeSecondStep({ pending: cookies.pendingOf(reply), code: body.code, client });
    cookies.clearPending(reply);
    cookies.setLogin(reply, outcome);
    return ok(toLoginResponse(outcome.account));
  });

  routes.add(endpoints.logout, async ({ caller, reply }) => {
    if (caller.kind === 'session') await sessions.end(caller.userId, caller.sessionId);
    cookies.clearSession(reply);
    return done();
  });

  routes.add(endpoints.listSessions, async ({ caller, query }) => {
    const { rows, total } = await sessions.list(caller.userId, toPage(query));
    return list(
      rows.map((row) => toSessionRow(row, caller)),
      total,
    );
  });

  routes.add(endpoints.endSession, async ({ caller, params }) => {
    const id = Number(params.id);
    const isOwn = caller.kind === 'session' && caller.sessionId === id;
    const isEnded = await (isOwn ? sessions.end(caller.userId, id) : sessions.endFromElsewhere(caller.userId, id));
    if (!isEnded) throw notExistError('session');
    return done();
  });

  routes.add(endpoints.setUpTwoFactor, async ({ caller }) => {
    const { account } = await users.profile(caller.userId);
    const { secret, otpauthUrl } = await twoFactors.setUp(account);
    return ok({ secret, otpauth_url: otpauthUrl });
  });

  routes.add(endpoints.enableTwoFactor, async ({ caller, body, request }) => {
    const codes = await twoFactors.enable({ caller, origin: toRequestOrigin(request) }, body.code);
    return ok({ backup_codes: [...codes] });
  });

  routes.add(endpoints.disableTwoFactor, async ({ caller, body, request }) => {
    await twoFactors.disable({ caller, origin: toRequestOrigin(request) }, body.code);
    return done();
  });
}
