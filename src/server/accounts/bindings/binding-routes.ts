import * as endpoints from '../../../contract/registration-login-and-own-account.ts';
import { done } from '../../../contract/success-bodies-and-pagination.ts';
import { toRequestOrigin } from '../../platform/http/request-context.ts';
import type { RouteRegistry } from '../../platform/http/route-registry.ts';
import type { Accounts } from '../make.ts';

/** Binding a phone or a messaging-app account to the own account. */
export function addBindingRoutes(routes: RouteRegistry, { bindings }: Pick<Accounts, 'bindings'>): void {
  routes.add(endpoints.sendPhoneCode, async ({ caller, body }) => {
    await bindings.sendPhoneCode(caller.userId, body.phone);
    return done();
  });

  routes.add(endpoints.bindPhone, async ({ caller, body, request }) => {
    await bindings.bindPhone(caller.userId, body.phone, body.code, toRequestOrigin(request));
    return done();
  });

  routes.add(endpoints.bindMessaging, async ({ caller, body, request }) => {
    await bindings.bindMessaging(caller.userId, body.code, toRequestOrigin(request));
    return done();
  });
}
