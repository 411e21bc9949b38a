import * as lines from '../../contract/accounts.ts';
import { done } from '../../contract/schemas.ts';
import type { Routes } from '../platform/http/routes.ts';
import type { Accounts } from './accounts.ts';
import { traceOf } from './presenter.ts';

/** Binding a phone or a messaging-app account to the own account. */
export function addBindingRoutes(routes: Routes, { bindings }: Pick<Accounts, 'bindings'>): void {
  routes.add(lines.sendPhoneCode, async ({ caller, body }) => {
    await bindings.sendPhoneCode(caller.userId, body.phone);
    return done();
  });

  routes.add(lines.bindPhone, async ({ caller, body, request }) => {
    await bindings.bindPhone(caller.userId, body.phone, body.code, traceOf(request));
    return done();
  });

  routes.add(lines.bindMessaging, async ({ caller, body, request }) => {
    await bindings.bindMessaging(caller.userId, body.code, traceOf(request));
    return done();
  });
}
