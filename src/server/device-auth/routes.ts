import type { Accounts } from '../accounts/accounts.ts';
import type { Clock } from '../platform/clock.ts';
import type { Routes } from '../platform/http/routes.ts';
import type { SessionCookies } from '../platform/http/session-cookie.ts';
import { addDeviceClientRoutes } from './admin-routes.ts';
import type { DeviceAuth } from './device-auth.ts';
import { addDeviceRoutes } from './json-routes.ts';
import { addOauthRoutes } from './oauth-routes.ts';
import { addPageRoutes } from './page-routes.ts';

export interface DeviceAuthRouteParts {
  readonly deviceAuth: DeviceAuth;
  readonly accounts: Pick<Accounts, 'logins' | 'sessions' | 'standing' | 'twoFactors'>;
  readonly cookies: SessionCookies;
  readonly clock: Clock;
  readonly masterKey: Buffer;
  /** Every link is made from it. */
  readonly baseUrl: string;
}

/** All faces of device authorization: JSON, the pages, the standard one, and the administrators'. */
export function addDeviceAuthRoutes(routes: Routes, parts: DeviceAuthRouteParts): void {
  const { deviceAuth, accounts, cookies, baseUrl } = parts;
  addDeviceRoutes(routes, { deviceAuth, logins: accounts.logins, cookies, baseUrl });
  addPageRoutes(routes, { ...parts, secure: baseUrl.startsWith('https:') });
  addOauthRoutes(routes, { deviceAuth, baseUrl });
  addDeviceClientRoutes(routes, deviceAuth);
}
