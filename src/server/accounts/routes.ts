import * as lines from '../../contract/accounts.ts';
import { done, list, ok, toPage } from '../../contract/schemas.ts';
import * as tokenLines from '../../contract/tokens.ts';
import { notExist } from '../platform/errors.ts';
import type { AccountCaller } from '../platform/http/caller.ts';
import type { RequestContext } from '../platform/http/request-context.ts';
import type { Routes } from '../platform/http/routes.ts';
import type { SessionCookies } from '../platform/http/session-cookie.ts';
import type { Accounts } from './accounts.ts';
import { addAccountAdminRoutes } from './admin-routes.ts';
import { addBindingRoutes } from './binding-routes.ts';
import { toLoggedIn, toSeconds, toSecondsOrNull, toSessionRow, toUserRow, traceOf, visitorOf } from './presenter.ts';
import { addSettingsRoutes } from './settings-routes.ts';

export interface AccountRouteParts {
  readonly accounts: Accounts;
  readonly cookies: SessionCookies;
}

/** All addresses of this capability. */
export function addAccountRoutes(routes: Routes, { accounts, cookies }: AccountRouteParts): void {
  addBindingRoutes(routes, accounts);
  addAccountAdminRoutes(routes, accounts);
  addSettingsRoutes(routes, accounts);
  const { people, logins, sessions, tokens, twoFactors, userTokens } = accounts;

  routes.add(lines.register, async ({ body, request }) => {
    const { username, password, email } = body;
    return ok(await people.register({ username, password, email }, request.address));
  });

  routes.add(lines.login, async ({ body, request, reply }) => {
    const { username, password } = body;
    const outcome = await logins.logIn({
      username,
      password,
      from: visitorOf(request),
      oldSession: request.session,
    });
    if (outcome.step === 'second') {
      cookies.setPending(reply, outcome.pending);
      return ok({ require_2fa: true as const });
    }
    cookies.setSession(reply, outcome.session);
    return ok(toLoggedIn(outcome.account));
  });

  routes.add(lines.loginSecondStep, async ({ body, request, reply }) => {
    const outcome = await logins.finish({
      pending: cookies.pendingOf(reply),
      code: body.code,
      from: visitorOf(request),
      oldSession: request.session,
    });
    cookies.clearPending(reply);
    cookies.setSession(reply, outcome.session);
    return ok(toLoggedIn(outcome.account));
  });

  routes.add(lines.logout, async ({ caller, reply }) => {
    if (caller.kind === 'session') await sessions.end(caller.userId, caller.sessionId);
    cookies.clearSession(reply);
    return done();
  });

  routes.add(lines.getSelf, async ({ caller }) => ok(toUserRow(await people.profile(caller.userId))));

  routes.add(lines.putSelf, async ({ caller, body, request }) => {
    await people.changeSelf(caller, body, traceOf(request));
    return done();
  });

  routes.add(lines.listSessions, async ({ caller, query }) => {
    const { rows, total } = await sessions.list(caller.userId, toPage(query));
    return list(
      rows.map((row) => toSessionRow(row, caller)),
      total,
    );
  });

  routes.add(lines.endSession, async ({ caller, params }) => {
    if (!(await sessions.end(caller.userId, Number(params.id)))) throw notExist('session');
    return done();
  });

  routes.add(lines.makeUserToken, async ({ caller, request }) =>
    ok({ access_token: await userTokens.renew(caller, traceOf(request)) }),
  );

  routes.add(lines.setUpTwoFactor, async ({ caller }) => {
    const { account } = await people.profile(caller.userId);
    const { secret, otpauthUrl } = await twoFactors.setUp(account);
    return ok({ secret, otpauth_url: otpauthUrl });
  });

  routes.add(lines.enableTwoFactor, async ({ caller, body, request }) =>
    ok({ backup_codes: [...(await twoFactors.enable(changerOf(caller, request), body.code))] }),
  );

  routes.add(lines.disableTwoFactor, async ({ caller, body, request }) => {
    await twoFactors.disable(changerOf(caller, request), body.code);
    return done();
  });

  routes.add(tokenLines.listTokens, async ({ caller, query }) => {
    const { rows, total } = await tokens.list(caller.userId, toPage(query));
    const shown = rows.map((token) => ({
      id: token.id,
      name: token.name,
      key_hint: token.hint,
      expires_at: toSecondsOrNull(token.expiresAt),
      quota_limit: token.quotaLimit,
      quota_used: token.quotaUsed,
      models: [...token.models],
      created_time: toSeconds(token.createdAt),
      last_used_time: toSecondsOrNull(token.lastUsedAt),
    }));
    return list(shown, total);
  });

  routes.add(tokenLines.makeToken, async ({ caller, body }) => ok(await tokens.make(caller.userId, body)));

  routes.add(tokenLines.changeToken, async ({ caller, params, body }) => {
    await tokens.change(caller.userId, Number(params.id), body);
    return done();
  });

  routes.add(tokenLines.revokeToken, async ({ caller, params }) => {
    await tokens.revoke(caller.userId, Number(params.id));
    return done();
  });
}

const changerOf = (caller: AccountCaller, request: RequestContext) => ({
  userId: caller.userId,
  ...(caller.kind === 'session' ? { keepSessionId: caller.sessionId } : {}),
  trace: traceOf(request),
});
