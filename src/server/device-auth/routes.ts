import { toSpendLimitState } from '../../contract/account-fields.ts';
import * as endpoints from '../../contract/device-auth.ts';
import * as deviceClientEndpoints from '../../contract/device-clients.ts';
import { toDeviceAuthorization } from '../../contract/device-pages.ts';
import { formatMessage } from '../../contract/messages/format-message.ts';
import type { OauthScope } from '../../contract/oauth.ts';
import { defined } from '../../contract/objects.ts';
import { done, list, ok, parseSort, toPage } from '../../contract/responses.ts';
import { toSeconds } from '../../contract/time-units.ts';
import type { Accounts } from '../accounts/module.ts';
import { AppError } from '../platform/app-error.ts';
import type { Clock } from '../platform/clock.ts';
import type { Live, SiteSettings } from '../platform/config.ts';
import type { LoginCookies } from '../platform/http/login-cookies.ts';
import {
  type AccountCaller,
  type RouteRegistry,
  toActor,
  toLoginClient,
  toRequestOrigin,
} from '../platform/http/route-registry.ts';
import { assertWithinLimit } from '../platform/limits/rate-limits.ts';
import { type ClientListItem, parseScopes } from './clients.ts';
import { logInForDevice } from './codes.ts';
import type { DevicesService } from './devices.ts';
import type { DeviceAuth } from './module.ts';
import { addConsentRoutes, addOauthRoutes } from './oauth-routes.ts';
import { addPageRoutes, PageChooser, PageVisits } from './page-routes.ts';
import { PollRateTracker } from './rate-limits.ts';
import type { OnPendingPoll } from './tokens.ts';

interface DeviceAuthRouteDependencies {
  readonly deviceAuth: DeviceAuth;
  readonly accounts: Pick<
    Accounts,
    'access' | 'credentials' | 'logins' | 'passkeys' | 'secondFactors' | 'sessions' | 'twoFactors'
  >;
  readonly cookies: LoginCookies;
  readonly clock: Clock;
  readonly masterKey: Buffer;
  /** Prefix of every link. */
  readonly baseUrl: string;
  /** See {@link addPageRoutes}. */
  readonly findManagedSettings: (clientId: string) => Promise<readonly string[]>;
  readonly site: Live<
    Pick<SiteSettings, 'siteName' | 'oauthClientMetadata' | 'currency' | 'oidcProviders' | 'passwordSignIn'>
  >;
  /** Quota of one credit. */
  readonly quotaPerUnit: number;
}

/** Registers all endpoints of device authorization: JSON, pages, OAuth, and administration. */
export function addDeviceAuthRoutes(routes: RouteRegistry, dependencies: DeviceAuthRouteDependencies): void {
  addJsonRoutes(routes, dependencies);
  const pages = { ...dependencies, secure: dependencies.baseUrl.startsWith('https:') };
  const visits = new PageVisits(pages);
  const chooser = new PageChooser({ ...dependencies, ...dependencies.deviceAuth, ...dependencies.accounts });
  addPageRoutes(routes, pages, visits, chooser);
  const { quotaPerUnit: quotaPerCredit, site } = dependencies;
  const amountUnit = () => ({ quotaPerCredit, currency: site.current().currency ?? '' });
  addConsentRoutes(routes, { ...dependencies, amountUnit }, visits, chooser);
  addOauthRoutes(routes, dependencies);
  addDeviceClientAdminRoutes(routes, dependencies.deviceAuth);
}

const FLOOD_RETRY_MS = 10_000;
const BEARER_TOKEN = /^bearer +(\S{1,200})\s*$/i;

interface JsonRouteDependencies {
  readonly deviceAuth: Pick<DeviceAuth, 'codes' | 'devices' | 'deviceTokens' | 'rateLimits'>;
  readonly accounts: Pick<Accounts, 'logins' | 'credentials'>;
  readonly cookies: LoginCookies;
  /** Prefix of every link. */
  readonly baseUrl: string;
  readonly site: Live<Pick<SiteSettings, 'passwordSignIn'>>;
}

/** The JSON endpoints of device authorization. */
function addJsonRoutes(routes: RouteRegistry, dependencies: JsonRouteDependencies): void {
  addCodeRoutes(routes, dependencies);
  addDecisionRoutes(routes, dependencies);
  addTokenRoutes(routes, dependencies);
  addDeviceRoutes(routes, dependencies.deviceAuth.devices);
}

/** The first steps of a device and the approval page: a code, its state, and a login for it. */
function addCodeRoutes(
  routes: RouteRegistry,
  { deviceAuth, accounts, cookies, baseUrl, site }: JsonRouteDependencies,
): void {
  const { codes, rateLimits } = deviceAuth;

  routes.add(endpoints.createDeviceCode, async ({ body, request }) => {
    const issued = await codes.issue({
      clientId: body.client_id,
      clientName: body.client_name ?? '',
      deviceId: body.device_id ?? '',
      userAgent: request.headers['user-agent'] ?? '',
      address: request.clientIp,
    });
    return { success: true as const, data: toDeviceAuthorization(issued, baseUrl) };
  });

  routes.add(endpoints.deviceLogin, async ({ body, request, reply }) => {
    if (!site.current().passwordSignIn) throw new AppError('password_sign_in_off');
    const client = toLoginClient(request, cookies.knownDeviceOf(reply));
    const outcome = await logInForDevice({ codes, rateLimits, logins: accounts.logins }, body, client);
    if (outcome.step === 'second') {
      cookies.setPending(reply, outcome.pending);
      return { success: true as const, data: { require_2fa: true as const } };
    }
    cookies.setLogin(reply, outcome);
    const { id, username } = outcome.account;
    return {
      success: true as const,
      message: formatMessage('device_logged_in', request.locale),
      data: { id, username },
    };
  });

  routes.add(endpoints.verifyUserCode, async ({ query, request }) => {
    const { status } = await codes.lookUp(query.user_code, request.clientIp);
    return { success: status === 'pending', status, message: formatMessage(`device_status_${status}`, request.locale) };
  });
}

function addDecisionRoutes(routes: RouteRegistry, { deviceAuth, accounts }: JsonRouteDependencies): void {
  const { codes } = deviceAuth;
  const findLoginTime = async (caller: AccountCaller): Promise<number> => {
    if (caller.kind === 'device') throw new AppError('forbidden');
    const createdAt = await accounts.credentials.findCreatedAt(caller);
    if (createdAt === undefined) throw new AppError('unauthorized');
    return createdAt;
  };

  routes.add(endpoints.approveDevice, async ({ body, caller, request }) => {
    const { organization } = body;
    const approver = { caller, loggedInAt: await findLoginTime(caller), organization };
    await codes.approve(body.user_code, approver, toRequestOrigin(request), {
      code: body.code,
      credential: body.credential,
    });
    return done(formatMessage('device_approved', request.locale));
  });

  routes.add(endpoints.denyDevice, async ({ body, caller, request }) => {
    await codes.deny(body.user_code, caller.userId, toRequestOrigin(request));
    return done(formatMessage('device_denied', request.locale));
  });
}

/** The endpoints clients call with their credentials or tokens. */
function addTokenRoutes(routes: RouteRegistry, { deviceAuth }: JsonRouteDependencies): void {
  const { deviceTokens } = deviceAuth;
  const pollRates = new PollRateTracker();
  /** These endpoints only recommend an interval; excessive polling is rejected with an error code the clients know. */
  const onPending: OnPendingPoll = async (code, now) => {
    const { retryAfterSeconds, isFlooding } = pollRates.record(code.device_code_hash, now);
    if (isFlooding) assertWithinLimit({ allowed: false, retryAfterMs: FLOOD_RETRY_MS }, 'authorization_pending');
    return new AppError('authorization_pending', defined({ retryAfterSeconds }));
  };

  routes.add(endpoints.pollDeviceToken, async ({ body, request }) => {
    const credentials = { clientId: body.client_id, clientSecret: body.client_secret };
    const origin = toRequestOrigin(request);
    const tokens = await deviceTokens.exchangeCode(body.device_code, credentials, origin, onPending);
    // Only a code of this endpoint's flow reaches here, and its sign-in has one.
    if (tokens.llmToken === undefined) throw new AppError('record_incomplete');
    const data = {
      access_token: tokens.accessToken,
      refresh_token: tokens.refreshToken,
      llm_token: tokens.llmToken,
      token_type: 'Bearer' as const,
      expires_in: tokens.expiresInSeconds,
      user_id: tokens.userId,
      username: tokens.username,
      display_name: tokens.displayName,
    };
    return { success: true as const, data };
  });

  routes.add(endpoints.refreshDevice, async ({ body, request }) => {
    const credentials = { clientId: body.client_id, clientSecret: body.client_secret };
    const pair = await deviceTokens.refresh(body.refresh_token, credentials, toRequestOrigin(request));
    const data = {
      access_token: pair.accessToken,
      refresh_token: pair.refreshToken,
      token_type: 'Bearer' as const,
      expires_in: pair.expiresInSeconds,
    };
    return { success: true as const, data };
  });

  routes.add(endpoints.logoutDevice, async ({ request }) => {
    const token = BEARER_TOKEN.exec(request.headers.authorization ?? '')?.[1];
    if (token === undefined) throw new AppError('device_token_missing');
    await deviceTokens.logOut(token, toRequestOrigin(request));
    return done(formatMessage('device_logged_out', request.locale));
  });
}

function addDeviceRoutes(routes: RouteRegistry, devices: DevicesService): void {
  routes.add(endpoints.listDevices, async ({ caller, query }) => {
    const { rows, total } = await devices.list(caller.userId, toPage(query));
    return list(
      rows.map((row) => toDeviceRow(row, caller)),
      total,
    );
  });

  routes.add(endpoints.renameDevice, async ({ caller, params, body, request }) => {
    await devices.rename(caller.userId, Number(params.id), body.name, toRequestOrigin(request));
    return done();
  });

  routes.add(endpoints.endDevice, async ({ caller, params, request }) => {
    await devices.revoke(caller.userId, Number(params.id), toRequestOrigin(request));
    return done();
  });
}

type DeviceListItem = Awaited<ReturnType<DevicesService['list']>>['rows'][number];

const toDeviceRow = (row: DeviceListItem, caller: AccountCaller) => ({
  id: row.id,
  client: row.registered_name ?? row.client_id,
  name: row.client_name,
  device_id: row.device_id,
  address: row.address,
  user_agent: row.user_agent,
  created_time: toSeconds(row.created_at),
  last_used_time: toSeconds(row.last_used_at),
  last_used_address: row.last_address,
  expires_time: toSeconds(row.refresh_expires_at),
  current: caller.kind === 'device' && caller.authorizationId === row.id,
  scopes: row.scopes === null ? [...DEVICE_SCOPES] : parseScopes(row.scopes),
  spend_limit: toSpendLimitState(row.spendLimit),
  expires_at: row.grant_ends_at === null ? null : toSeconds(row.grant_ends_at),
  organization: row.organization ?? '',
});

/** What a device sign-in may do, in the words of grants. */
const DEVICE_SCOPES: readonly OauthScope[] = ['account', 'models'];

/** Administration of official clients. */
function addDeviceClientAdminRoutes(
  routes: RouteRegistry,
  { clients, devices }: Pick<DeviceAuth, 'clients' | 'devices'>,
): void {
  routes.add(deviceClientEndpoints.adminListDeviceClients, async ({ query }) => {
    const { rows, total } = await clients.list(toPage(query), parseSort(query.sort));
    return list(rows.map(toClientRow), total);
  });

  routes.add(deviceClientEndpoints.adminCreateDeviceClient, async ({ body, caller, request }) => {
    const { client_id, ...properties } = body;
    const client = { ...properties, ...defined({ id: client_id }) };
    const { id, secret } = await clients.create(toActor(caller, request), client);
    return ok({ id, client_id: id, ...defined({ client_secret: secret }) });
  });

  routes.add(deviceClientEndpoints.adminGetDeviceClient, async ({ params }) =>
    ok(toClientRow(await clients.get(params.id))),
  );

  routes.add(deviceClientEndpoints.adminUpdateDeviceClient, async ({ params, body, caller, request }) => {
    await clients.update(toActor(caller, request), params.id, body);
    return done();
  });

  routes.add(deviceClientEndpoints.adminDeleteDeviceClient, async ({ params, caller, request }) => {
    await devices.removeClient(toActor(caller, request), params.id);
    return done();
  });

  routes.add(deviceClientEndpoints.adminAddClientSecret, async ({ params, caller, request }) => {
    const { id, secret } = await clients.addSecret(toActor(caller, request), params.id);
    return ok({ id, client_secret: secret });
  });

  routes.add(deviceClientEndpoints.adminDeleteClientSecret, async ({ params, caller, request }) => {
    await clients.removeSecret(toActor(caller, request), params.id, Number(params.secret));
    return done();
  });
}

const toClientRow = ({ id, name, enabled, secrets, devices, createdAt, ...client }: ClientListItem) => ({
  id,
  name,
  enabled,
  type: client.type,
  redirect_uris: [...client.redirectUris],
  scopes: client.scopes === undefined ? null : [...client.scopes],
  secrets: secrets.map((secret) => ({ id: secret.id, hint: secret.hint, created_time: toSeconds(secret.createdAt) })),
  devices,
  created_time: toSeconds(createdAt),
});
