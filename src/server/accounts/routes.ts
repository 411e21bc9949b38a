import type { Static } from 'typebox';
import { toSpendLimitState } from '../../contract/account-fields.ts';
import * as accountEndpoints from '../../contract/accounts.ts';
import * as endpoints from '../../contract/admin-accounts.ts';
import * as tokenEndpoints from '../../contract/api-tokens.ts';
import * as passkeyEndpoints from '../../contract/passkeys.ts';
import { done, list, longList, ok, parseSort, toLongPage, toPage } from '../../contract/responses.ts';
import { toSeconds } from '../../contract/time-units.ts';
import { AppError, notExistError } from '../platform/app-error.ts';
import type { LoginCookies } from '../platform/http/login-cookies.ts';
import {
  type AccountCaller,
  ownerOf,
  type RouteRegistry,
  toActor,
  toLoginClient,
  toRequestOrigin,
} from '../platform/http/route-registry.ts';
import { readIdempotencyKey } from '../platform/idempotency-key.ts';
import type { Account } from './account-store.ts';
import type { LoginAttemptRow } from './login-service.ts';
import type { Accounts } from './module.ts';
import type { PasskeyRow } from './passkeys.ts';
import type { Profile } from './registration.ts';
import type { SessionService } from './sessions.ts';
import type { TokenListItem, TokenOwner } from './tokens.ts';

type SessionListItem = Awaited<ReturnType<SessionService['list']>>['rows'][number];

/** An account in the response to a login. */
const toLoginResponse = ({ id, username, display_name, role }: Account) => ({
  id,
  username,
  display_name,
  role,
});

/** Unix seconds of a time in Unix milliseconds. */
const toSecondsOrNull = (unixMs: number | null): number | null => (unixMs === null ? null : toSeconds(unixMs));

/** A session in a response, marked if it is the caller's own. */
const toSessionRow = (row: SessionListItem, caller: AccountCaller): Static<typeof accountEndpoints.Session> => ({
  id: row.id,
  current: caller.kind === 'session' && caller.sessionId === row.id,
  address: row.address,
  user_agent: row.user_agent,
  created_time: toSeconds(row.created_at),
  last_used_time: toSeconds(row.last_used_at),
  expires_at: toSeconds(row.expires_at),
});

/** An account in a response to its owner. */
const toUserRow = ({ account, wallet, plan, spendLimit, ...profile }: Profile) => ({
  id: account.id,
  username: account.username,
  display_name: account.display_name,
  email: account.email ?? '',
  role: account.role,
  status: account.status,
  quota: wallet.balance,
  used_quota: wallet.used,
  request_count: wallet.requests,
  current_package_code: plan.code,
  package_expires_at: plan.expiresAt,
  has_2fa: profile.hasTwoFactor,
  phone_bound: profile.phoneBound,
  messaging_bound: profile.messagingBound,
  spend_limit: toSpendLimitState(spendLimit),
  created_time: toSeconds(account.created_at),
});

/** An account in a response to administrators. */
const toAdminUserRow = (profile: Profile) => ({
  ...toUserRow(profile),
  concurrent_tasks: profile.account.concurrent_tasks,
  queued_tasks: profile.account.queued_tasks,
});

/** Console page where people manage their passkeys. */
const MANAGE_PAGE = '/account/security';

/** Registers the endpoints of passkeys. */
function addPasskeyRoutes(
  routes: RouteRegistry,
  {
    logins,
    passkeys,
    presence,
    relyingParty,
    userAdministration,
  }: Pick<Accounts, 'logins' | 'passkeys' | 'presence' | 'relyingParty' | 'userAdministration'>,
  cookies: LoginCookies,
): void {
  routes.add(passkeyEndpoints.listPasskeys, async ({ caller }) =>
    ok((await passkeys.list(caller.userId)).map((row) => toPasskey(row, row.isUsable))),
  );

  routes.add(passkeyEndpoints.passkeyCreationOptions, async ({ caller, body }) => {
    if (!passkeys.isOn) throw new AppError('passkeys_off');
    await presence.assertPresent(caller, body);
    return ok(await passkeys.creationOptions(caller.userId));
  });

  routes.add(passkeyEndpoints.addPasskey, async ({ caller, body, request }) =>
    ok(toPasskey(await passkeys.add(caller, body.name, body.credential, toRequestOrigin(request)), true)),
  );

  routes.add(passkeyEndpoints.renamePasskey, async ({ caller, params, body, request }) => {
    await passkeys.rename(caller.userId, Number(params.id), body.name, toRequestOrigin(request));
    return done();
  });

  routes.add(passkeyEndpoints.removePasskey, async ({ caller, params, request }) => {
    await passkeys.remove(caller.userId, Number(params.id), toRequestOrigin(request));
    return done();
  });

  routes.add(passkeyEndpoints.passkeyLoginOptions, async () => ok(passkeys.requestOptions()));

  routes.add(passkeyEndpoints.passkeyLogin, async ({ body, request, reply }) => {
    const client = toLoginClient(request, cookies.knownDeviceOf(reply));
    const login = await logins.logInWithPasskey({ credential: body.credential, client });
    cookies.clearPending(reply);
    cookies.setLogin(reply, login);
    return ok(toLoginResponse(login.account));
  });

  routes.add(passkeyEndpoints.passkeyEndpoints, async () => {
    if (!passkeys.isOn) throw new AppError('not_found');
    const page = `${relyingParty.origin}${MANAGE_PAGE}`;
    return { enroll: page, manage: page };
  });

  routes.add(passkeyEndpoints.adminResetSecondFactors, async ({ caller, params, request }) => {
    await userAdministration.resetSecondFactors(caller, Number(params.id), toRequestOrigin(request));
    return done();
  });
}

const toPasskey = (row: PasskeyRow, isUsable: boolean): passkeyEndpoints.Passkey => ({
  id: row.id,
  name: row.name,
  credential_id: row.credential_id,
  user_handle: row.handle,
  rp_id: row.rp_id,
  usable: isUsable,
  algorithm: row.algorithm,
  synced: row.backed_up === 1,
  created_time: toSeconds(row.created_at),
  last_used_time: toSecondsOrNull(row.last_used_at),
});

interface AccountRouteDependencies {
  readonly accounts: Accounts;
  readonly cookies: LoginCookies;
}

/** Registers the endpoints of accounts, logins, tokens and the audit log. */
export function addAccountRoutes(routes: RouteRegistry, { accounts, cookies }: AccountRouteDependencies): void {
  addLoginRoutes(routes, accounts, cookies);
  addLoginHistoryRoutes(routes, accounts);
  addUserRoutes(routes, accounts);
  addTokenRoutes(routes, accounts);
  addBindingRoutes(routes, accounts);
  addEmailRoutes(routes, accounts);
  addAccountAdminRoutes(routes, accounts);
  addPasskeyRoutes(routes, accounts, cookies);
}

/** Account administration and the audit log. */
function addAccountAdminRoutes(
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
    return longList(rows.map(toAdminUserRow), page);
  });

  routes.add(endpoints.adminCreateUser, async ({ caller, body, request }) => {
    const { username, password, role, email, display_name: displayName, quota = 0 } = body;
    const user = { username, password, role, email, displayName, quota };
    return ok({ id: await userAdministration.create(caller, user, toRequestOrigin(request)) });
  });

  routes.add(endpoints.adminGetUser, async ({ params }) => ok(toAdminUserRow(await users.profile(Number(params.id)))));

  routes.add(endpoints.adminUpdateUser, async ({ caller, params, body, request }) => {
    const idempotencyKey = readIdempotencyKey(request.headers['idempotency-key']);
    const origin = toRequestOrigin(request);
    await userAdministration.update(caller, Number(params.id), { ...body, idempotencyKey }, origin);
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
    const { actor_id, organization_id, action, target } = query;
    const toId = (text: string | undefined) => (text === undefined ? undefined : Number(text));
    const filter = { actorId: toId(actor_id), organizationId: toId(organization_id), action, target };
    const { rows, ...page } = await listAuditLog(filter, toLongPage(query));
    const entries = rows.map((row) => ({
      id: row.id,
      actor_id: row.actor_id,
      organization_id: row.organization_id,
      organization: row.organization,
      action: row.action,
      target: row.target,
      target_name: row.target_name,
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

/** Binding a phone or messaging-app account to the caller's account. */
function addBindingRoutes(routes: RouteRegistry, { bindings }: Pick<Accounts, 'bindings'>): void {
  routes.add(accountEndpoints.sendPhoneCode, async ({ caller, body }) => {
    await bindings.sendPhoneCode(caller.userId, body.phone);
    return done();
  });

  routes.add(accountEndpoints.bindPhone, async ({ caller, body, request }) => {
    await bindings.bindPhone(caller.userId, body.phone, body.code, toRequestOrigin(request));
    return done();
  });

  routes.add(accountEndpoints.bindMessaging, async ({ caller, body, request }) => {
    await bindings.bindMessaging(caller.userId, body.code, toRequestOrigin(request));
    return done();
  });
}

/** Confirmation of the e-mail address, and password reset by e-mail. */
function addEmailRoutes(
  routes: RouteRegistry,
  { emailConfirmations, passwordResets }: Pick<Accounts, 'emailConfirmations' | 'passwordResets'>,
): void {
  routes.add(accountEndpoints.getEmail, async ({ caller }) => {
    const { email, confirmed } = await emailConfirmations.findState(caller.userId);
    return ok({ email, confirmed, can_confirm: emailConfirmations.isRequired });
  });

  routes.add(accountEndpoints.resendConfirmation, async ({ caller, request }) => {
    await emailConfirmations.resend(caller.userId, request.locale);
    return done();
  });

  routes.add(accountEndpoints.confirmEmail, async ({ body, request }) => {
    await emailConfirmations.confirm(body.token, request.session, toRequestOrigin(request));
    return done();
  });

  routes.add(accountEndpoints.requestPasswordReset, async ({ body, request }) => {
    await passwordResets.request(body.email, request.clientIp, request.locale);
    return done();
  });

  routes.add(accountEndpoints.resetPassword, async ({ body, request }) => {
    await passwordResets.reset(body.token, body.password, toRequestOrigin(request));
    return done();
  });

  routes.add(accountEndpoints.adminCreateResetLink, async ({ caller, params, request }) => {
    const { url, expiresAt } = await passwordResets.issueLink(Number(params.id), toActor(caller, request));
    return ok({ url, expires_at: toSeconds(expiresAt) });
  });
}

/** Login history, and the reason a session ended. */
function addLoginHistoryRoutes(
  routes: RouteRegistry,
  { loginHistory, sessions }: Pick<Accounts, 'loginHistory' | 'sessions'>,
): void {
  routes.add(accountEndpoints.listLogins, async ({ caller, query }) => {
    const { rows, ...page } = await loginHistory.listOwn(caller.userId, query.failed === 'true', toLongPage(query));
    return longList(rows.map(toAttempt), page);
  });

  routes.add(accountEndpoints.adminListLogins, async ({ caller, query }) => {
    const { user_id: userId, failed } = query;
    const filter = { userId: userId === undefined ? undefined : Number(userId), failed: failed === 'true' };
    const { rows, ...page } = await loginHistory.listManaged(caller.role, filter, toLongPage(query));
    return longList(rows.map(toAttempt), page);
  });

  routes.add(accountEndpoints.getSessionEnd, async ({ request }) => {
    const end = request.session === undefined ? undefined : await sessions.findEnd(request.session);
    return ok({ reason: end?.reason ?? null, ended_time: toSecondsOrNull(end?.ended_at ?? null) });
  });
}

const toAttempt = (row: LoginAttemptRow): accountEndpoints.LoginAttempt => ({
  id: row.id,
  user_id: row.user_id,
  outcome: row.outcome,
  two_step: row.two_step === 1,
  known_source: row.known_source === 1,
  address: row.address,
  user_agent: row.user_agent,
  created_time: toSeconds(row.created_at),
});

/** Login, logout, sessions and two-step verification. */
function addLoginRoutes(
  routes: RouteRegistry,
  { users, logins, sessions, twoFactors }: Pick<Accounts, 'users' | 'logins' | 'sessions' | 'twoFactors'>,
  cookies: LoginCookies,
): void {
  routes.add(accountEndpoints.login, async ({ body, request, reply }) => {
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

  routes.add(accountEndpoints.loginSecondStep, async ({ body, request, reply }) => {
    const client = toLoginClient(request, cookies.knownDeviceOf(reply));
    const outcome = await logins.completeSecondStep({ ...body, pending: cookies.pendingOf(reply), client });
    cookies.clearPending(reply);
    cookies.setLogin(reply, outcome);
    return ok(toLoginResponse(outcome.account));
  });

  routes.add(accountEndpoints.logout, async ({ caller, reply }) => {
    if (caller.kind === 'session') await sessions.end(caller.userId, caller.sessionId);
    cookies.clearSession(reply);
    return done();
  });

  routes.add(accountEndpoints.listSessions, async ({ caller, query }) => {
    const { rows, total } = await sessions.list(caller.userId, toPage(query));
    return list(
      rows.map((row) => toSessionRow(row, caller)),
      total,
    );
  });

  routes.add(accountEndpoints.endSession, async ({ caller, params }) => {
    const id = Number(params.id);
    const isOwn = caller.kind === 'session' && caller.sessionId === id;
    const isEnded = await (isOwn ? sessions.end(caller.userId, id) : sessions.endFromElsewhere(caller.userId, id));
    if (!isEnded) throw notExistError('session');
    return done();
  });

  routes.add(accountEndpoints.setUpTwoFactor, async ({ caller }) => {
    const { account } = await users.profile(caller.userId);
    const { secret, otpauthUrl } = await twoFactors.setUp(account);
    return ok({ secret, otpauth_url: otpauthUrl });
  });

  routes.add(accountEndpoints.enableTwoFactor, async ({ caller, body, request }) => {
    const codes = await twoFactors.enable({ caller, origin: toRequestOrigin(request) }, body.code);
    return ok({ backup_codes: [...codes] });
  });

  routes.add(accountEndpoints.disableTwoFactor, async ({ caller, body, request }) => {
    await twoFactors.disable({ caller, origin: toRequestOrigin(request) }, body.code);
    return done();
  });
}

/** The caller's `sk-` tokens and management access token. */
function addTokenRoutes(
  routes: RouteRegistry,
  { tokens, rotation, managementTokens }: Pick<Accounts, 'tokens' | 'rotation' | 'managementTokens'>,
): void {
  routes.add(accountEndpoints.createManagementToken, async ({ caller, request }) =>
    ok({ access_token: await managementTokens.reissue(caller, toRequestOrigin(request)) }),
  );

  routes.add(tokenEndpoints.listTokens, async ({ caller, query }) => {
    const { rows, total } = await tokens.list(ownTokensOf(caller), toPage(query), parseSort(query.sort));
    return list(rows.map(toTokenRow), total);
  });

  routes.add(tokenEndpoints.getToken, async ({ caller, params }) =>
    ok(toTokenRow(await tokens.get(ownTokensOf(caller), Number(params.id)))),
  );

  routes.add(tokenEndpoints.createToken, async ({ caller, body }) => ok(await tokens.create(ownerOf(caller), body)));

  routes.add(tokenEndpoints.updateToken, async ({ caller, params, body }) => {
    await tokens.update(ownTokensOf(caller), Number(params.id), body);
    return done();
  });

  routes.add(tokenEndpoints.rotateToken, async ({ caller, params, body, request }) => {
    const { overlap_seconds: overlap = tokenEndpoints.DEFAULT_OVERLAP_SECONDS } = body;
    const rotated = await rotation.rotate(ownerOf(caller), Number(params.id), overlap, toRequestOrigin(request));
    return ok({ id: rotated.id, key: rotated.key, old_key_expires_at: toSecondsOrNull(rotated.oldKeyExpiresAt) });
  });

  routes.add(tokenEndpoints.endTokenRotation, async ({ caller, params, request }) => {
    await rotation.endOverlap(ownTokensOf(caller), Number(params.id), toActor(caller, request));
    return done();
  });

  routes.add(tokenEndpoints.revokeToken, async ({ caller, params }) => {
    await tokens.revoke(ownTokensOf(caller), Number(params.id));
    return done();
  });
}

/** A plain member sees only the keys it created. */
const ownTokensOf = ({ userId, member }: AccountCaller): TokenOwner =>
  member?.role === 'member' ? { userId, actorId: member.userId } : { userId };

const toTokenRow = (token: TokenListItem) => ({
  id: token.id,
  name: token.name,
  key_hint: token.hint,
  expires_at: toSecondsOrNull(token.expiresAt),
  quota_limit: token.quotaLimit,
  quota_used: token.quotaUsed,
  spend_limit: toSpendLimitState(token.spendLimit),
  models: [...token.models],
  allowed_addresses: [...token.allowedAddresses],
  requests_per_minute: token.requestsPerMinute,
  tokens_per_minute: token.tokensPerMinute,
  concurrent_calls: token.concurrentCalls,
  concurrent_tasks: token.concurrentTasks,
  queued_tasks: token.queuedTasks,
  created_by: token.createdBy ?? '',
  created_time: toSeconds(token.createdAt),
  last_used_time: toSecondsOrNull(token.lastUsedAt),
  old_keys: token.oldSecrets.map(({ hint, expires_at, last_used_at }) => ({
    key_hint: hint,
    expires_at: toSeconds(expires_at),
    last_used_time: toSecondsOrNull(last_used_at),
  })),
});

/** Registration, and the caller's profile and settings. */
function addUserRoutes(routes: RouteRegistry, { users, ownAccount }: Pick<Accounts, 'users' | 'ownAccount'>): void {
  routes.add(accountEndpoints.register, async ({ body, request }) => {
    const { username, password, email } = body;
    return ok(await users.register({ username, password, email }, request.clientIp, request.locale));
  });

  routes.add(accountEndpoints.getSelf, async ({ caller }) => ok(toUserRow(await users.profile(caller.userId))));

  routes.add(accountEndpoints.putSelf, async ({ caller, body, request }) => {
    await ownAccount.update(caller, body, toRequestOrigin(request), request.locale);
    return done();
  });

  routes.add(accountEndpoints.getSettings, async ({ caller }) =>
    ok({ time_zone: await ownAccount.findTimeZone(caller.userId) }),
  );

  routes.add(accountEndpoints.putSettings, async ({ caller, body }) => {
    if (body.time_zone !== undefined) await ownAccount.setTimeZone(caller.userId, body.time_zone);
    return done();
  });
}
