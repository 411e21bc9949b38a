import { ok } from '../../contract/responses.ts';
import * as endpoints from '../../contract/site-settings.ts';
import { type RouteRegistry, toActor } from '../platform/http/route-registry.ts';
import type { Site } from './settings.ts';

/** Registers root's endpoints of the site settings. */
export function addSiteRoutes(routes: RouteRegistry, { settings }: Pick<Site, 'settings'>): void {
  routes.add(endpoints.listSiteSettings, async () => ok(await settings.list()));
  routes.add(endpoints.updateSiteSetting, async ({ caller, params, body, request }) =>
    ok(await settings.set(toActor(caller, request), params.name, body.value)),
  );
}
