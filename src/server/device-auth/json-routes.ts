import { authorizePage } from '../../contract/authorize.ts';
import * as lines from '../../contract/device-auth.ts';
import { toText } from '../../contract/messages/messages.ts';
import { done, list, toPage } from '../../contract/schemas.ts';
import type { Logins } from '../accounts/logins.ts';
import { AppError } from '../platform/errors.ts';
import type { RequestContext } from '../platform/http/request-context.ts';
import type { Routes } from '../platform/http/routes.ts';
import type { SessionCookies } from '../platform/http/session-cookie.ts';
import { assertAllowed } from '../platform/limits/assert-allowed.ts';
import type { Origin } from './codes.ts';
import type { DeviceAuth } from './device-auth.ts';
import type { OnPending } from './devices.ts';
import { logInForCode } from './login.ts';
import { makePollPace } from './poll-pace.ts';

export interface DeviceRouteParts {
  readonly deviceAuth: Pick<DeviceAuth, 'codes' | 'devices' | 'limits' | 'nameDevice'>;
  readonly logins: Pick<Logins, 'logIn'>;
  readonly cookies: SessionCookies;
  /** Every link is made from it. */
  readonly baseUrl: string;
}

/** The JSON face of device authorization. */
export function addDeviceRoutes(routes: Routes, { deviceAuth, logins, cookies, baseUrl }: DeviceRouteParts): void {
  const { codes, devices, limits } = deviceAuth;
  const pace = makePollPace();

  /** This face only advises on speed; who floods is told to wait, with the code he knows. */
  const onPending: OnPending = async (code, now) => {
    const { retryAfterSeconds, flooding } = pace.note(code.device_code_hash, now);
    if (flooding) assertAllowed({ allowed: false, retryAfterMs: 10_000 }, 'authorization_pending');
    return new AppError('authorization_pending', retryAfterSeconds === undefined ? {} : { retryAfterSeconds });
  };

  routes.add(lines.createDeviceCode, async ({ body, request }) => {
    const issued = await codes.issue({
      clientId: body.client_id,
      clientName: body.client_name ?? '',
      deviceId: body.device_id ?? '',
      userAgent: request.headers['user-agent'] ?? '',
      address: request.address,
    });
    const data = {
      device_code: issued.deviceCode,
      user_code: issued.userCode,
      ...toVerificationLinks(baseUrl, issued.userCode),
      expires_in: issued.expiresInSeconds,
      interval: issued.intervalSeconds,
    };
    return { success: true as const, data };
  });

  routes.add(lines.deviceLogin, async ({ body, request, reply }) => {
    const outcome = await logInForCode({ codes, limits, logins }, body, request);
    if (outcome.step === 'second') {
      cookies.setPending(reply, outcome.pending);
      return { success: true as const, data: { require_2fa: true as const } };
    }
    cookies.setSession(reply, outcome.session);
    const { id, username } = outcome.account;
    return { success: true as const, message: toText('device_logged_in', request.locale), data: { id, username } };
  });

  routes.add(lines.verifyUserCode, async ({ query, request }) => {
    const { status } = await codes.look(query.user_code, request.address);
    return { success: status === 'pending', status, message: toText(`device_status_${status}`, request.locale) };
  });

  routes.add(lines.approveDevice, async ({ body, caller, request }) => {
    await codes.approve(body.user_code, caller.userId, originOf(request));
    return done(toText('device_approved', request.locale));
  });

  routes.add(lines.denyDevice, async ({ body, caller, request }) => {
    await codes.deny(body.user_code, caller.userId, originOf(request));
    return done(toText('device_denied', request.locale));
  });

  routes.add(lines.pollDeviceToken, async ({ body, request }) => {
    const credentials = { clientId: body.client_id, clientSecret: body.client_secret };
    const tokens = await devices.collect(body.device_code, credentials, originOf(request), onPending);
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

  routes.add(lines.refreshDevice, async ({ body, request }) => {
    const credentials = { clientId: body.client_id, clientSecret: body.client_secret };
    const pair = await devices.refresh(body.refresh_token, credentials, originOf(request));
    const data = {
      access_token: pair.accessToken,
      refresh_token: pair.refreshToken,
      token_type: 'Bearer' as const,
      expires_in: pair.expiresInSeconds,
    };
    return { success: true as const, data };
  });

  routes.add(lines.logoutDevice, async ({ request }) => {
    const token = /^bearer +(\S{1,200})\s*$/i.exec(request.headers.authorization ?? '')?.[1];
    if (token === undefined) throw new AppError('device_token_missing');
    await devices.logOut(token, originOf(request));
    return done(toText('device_logged_out', request.locale));
  });

  routes.add(lines.listDevices, async ({ caller, query }) => {
    const { rows, total } = await devices.list(caller.userId, toPage(query));
    const shown = rows.map((row) => ({
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
    }));
    return list(shown, total);
  });

  routes.add(lines.nameDevice, async ({ caller, params, body, request }) => {
    await deviceAuth.nameDevice(caller.userId, Number(params.id), body.name, originOf(request));
    return done();
  });

  routes.add(lines.endDevice, async ({ caller, params, request }) => {
    await devices.end(caller.userId, Number(params.id), originOf(request));
    return done();
  });
}

/** Where the person goes, without and with the code. */
export function toVerificationLinks(baseUrl: string, userCode: string) {
  const verification_uri = `${baseUrl}${authorizePage.path}`;
  return { verification_uri, verification_uri_complete: `${verification_uri}?code=${userCode}` };
}

export const originOf = ({ address, id }: RequestContext): Origin => ({ address, requestId: id });

const toSeconds = (unixMs: number): number => Math.floor(unixMs / 1000);
