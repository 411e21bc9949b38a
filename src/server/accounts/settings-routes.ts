import * as lines from '../../contract/accounts.ts';
import { done, ok } from '../../contract/schemas.ts';
import type { Routes } from '../platform/http/routes.ts';
import type { Accounts } from './accounts.ts';

export function addSettingsRoutes(routes: Routes, { settings }: Pick<Accounts, 'settings'>): void {
  routes.add(lines.getSettings, async ({ caller }) => ok({ time_zone: await settings.timeZone(caller.userId) }));

  routes.add(lines.putSettings, async ({ caller, body }) => {
    if (body.time_zone !== undefined) await settings.setTimeZone(caller.userId, body.time_zone);
    return done();
  });
}
