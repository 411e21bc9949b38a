import { ok } from '../../contract/responses.ts';
import { getServiceStatus } from '../../contract/service.ts';
import { DAY_MS, toSeconds } from '../../contract/time-units.ts';
import type { Clock } from '../platform/clock.ts';
import type { RouteRegistry } from '../platform/http/route-registry.ts';
import { isResponsive, mergeInstanceIncidents } from './incidents.ts';
import type { ServiceStatus } from './module.ts';

/** Registers the status overview for administrators. */
export function addServiceStatusRoutes(
  routes: RouteRegistry,
  {
    operations: { instances, overview },
    clock,
  }: { readonly operations: Pick<ServiceStatus, 'instances' | 'overview'>; readonly clock: Clock },
): void {
  routes.add(getServiceStatus, async () => {
    const now = clock.now();
    const [rows, lastDay, dayBefore, blocked] = await Promise.all([
      instances.list(),
      overview.figures(now - DAY_MS, now),
      overview.figures(now - 2 * DAY_MS, now - DAY_MS),
      overview.blocked(now - DAY_MS),
    ]);
    return ok({
      incidents: mergeInstanceIncidents(rows, now).map((each) => ({ ...each, since: toSeconds(each.since) })),
      instances: rows.map((row) => ({
        name: row.name,
        version: row.version,
        started_at: toSeconds(row.started_at),
        seen_at: toSeconds(row.seen_at),
        is_alive: isResponsive(row, now),
      })),
      last_day: lastDay,
      day_before: dayBefore,
      blocked: blocked.map((row) => ({
        ...row,
        username: row.username ?? '',
        last_time: toSeconds(row.last_time),
      })),
    });
  });
}
