import type { LoginCookies } from '../platform/http/login-cookies.ts';
import type { RouteRegistry } from '../platform/http/route-registry.ts';
import { addAccountAdminRoutes } from './admin-routes.ts';
import { addBindingRoutes } from './bindings/binding-routes.ts';
import { addEmailRoutes } from './email/email-routes.ts';
import { addLoginRoutes } from './login/login-session-and-two-factor-routes.ts';
import { addLoginHistoryRoutes } from './login-history/login-history-session-end-reason-routes.ts';
import type { Accounts } from './make.ts';
import { addTokenRoutes } from './tokens/token-and-management-token-routes.ts';
import { addUserRoutes } from './users/registration-and-own-account-routes.ts';

export interface AccountRouteDependencies {
  readonly accounts: Accounts;
  readonly cookies: LoginCookies;
}

/** Registers all endpoints of this capability. */
export function addAccountRoutes(routes: RouteRegistry, { accounts, cookies }: AccountRouteDependencies): void {
  addLoginRoutes(routes, accounts, cookies);
  addLoginHistoryRoutes(routes, accounts);
  addUserRoutes(routes, accounts);
  addTokenRoutes(routes, accounts);
  addBindingRoutes(routes, accounts);
  addEmailRoutes(routes, accounts);
  addAccountAdminRoutes(routes, accounts);
}
