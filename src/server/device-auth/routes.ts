import type { Accounts } from '../accounts/module.ts';
import type { Clock } from '../platform/clock.ts';
import type { LoginCookies } from '../platform/http/login-cookies.ts';
import type { RouteRegistry } from '../platform/http/route-registry.ts';
import { addDeviceClientAdminRoutes } from './client-admin-routes.ts';
import { addJsonRoutes } from './device-login-and-management-json-routes.ts';
import type { DeviceAuth } from './make.ts';
import { addOauthRoutes } from './oauth-routes.ts';
import { addPageRoutes } from './page-routes.ts';

export interface DeviceAuthRouteDependencies {
  readonly deviceAuth: DeviceAuth;
  readonly accounts: Pick<Accounts, 'access' | 'credentials' | 'logins' | 'sessions'>;
  readonly cookies: LoginCookies;
  readonly clock: Clock;
  readonly masterKey: Buffer;
  /** Every link starts with it. */
  readonly baseUrl: string;
  /** Has the name of the site as it is set now. */
  readonly site: { readonly siteName: string };
}

/** Registers all endpoints of device authorization: JSON, the pages, OAuth, and the administrators'. */
export function addDeviceAuthRoutes(routes: RouteRegistry, dependencies: DeviceAuthRouteDependencies): void {
  addJsonRoutes(routes, dependencies);
  addPageRoutes(routes, { ...dependencies, secure: dependencies.baseUrl.startsWith('https:') });
  addOauthRoutes(routes, dependencies);
  addDeviceClientAdminRoutes(routes, dependencies.deviceAuth);
}
