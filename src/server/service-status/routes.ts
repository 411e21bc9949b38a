import { ok } from '../../contract/responses.ts';
import {
  getServiceStatus,
  type NotReadyReason,
  PRODUCT_AREAS,
  statusFile,
  statusPage,
} from '../../contract/service.ts';
import { DAY_MS, toSeconds } from '../../contract/time-units.ts';
import { AppError } from '../platform/app-error.ts';
import type { Clock } from '../platform/clock.ts';
import type { Live, SiteSettings } from '../platform/config.ts';
import { STANDALONE_PAGE_HEADERS } from '../platform/html.ts';
import type { RouteRegistry } from '../platform/http/route-registry.ts';
import { isResponsive, mergeInstanceAreas, mergeInstanceIncidents } from './incidents.ts';
import type { ServiceStatus } from './module.ts';
import { allAreas } from './outages.ts';
import { localeOf, type PublicStatus, renderStatusPage } from './status-page.ts';

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

interface StatusPageDependencies {
  readonly operations: Pick<ServiceStatus, 'instances' | 'outages'>;
  readonly clock: Clock;
  readonly site: Live<Pick<SiteSettings, 'statusPage' | 'siteName' | 'timeZone'>>;
  notReadyReason(): Promise<NotReadyReason | undefined>;
}

/** Registers the public status page. It names no vendor, channel, host or user, and does not exist unless enabled. */
export function addStatusPageRoutes(
  routes: RouteRegistry,
  { operations: { instances, outages }, clock, site, notReadyReason }: StatusPageDependencies,
): void {
  const read = async (): Promise<PublicStatus> => {
    if (!site.current().statusPage) throw new AppError('not_found');
    const reason = await notReadyReason();
    if (reason === 'database') return { areas: allAreas('down'), outages: [] };
    const now = clock.now();
    const [rows, past] = await Promise.all([instances.list(), outages.list(now)]);
    return { areas: reason === 'disk_full' ? allAreas('down') : mergeInstanceAreas(rows, now), outages: past };
  };
  routes.add(statusPage, async ({ query, request, reply }) =>
    reply
      .headers(STANDALONE_PAGE_HEADERS)
      .send(renderStatusPage(await read(), { ...site.current(), locale: localeOf(query.lang, request.locale) })),
  );
  routes.add(statusFile, async ({ reply }) => {
    const { areas, outages: past } = await read();
    reply.headers({ 'cache-control': 'no-store', 'access-control-allow-origin': '*' });
    return {
      areas: PRODUCT_AREAS.map((area) => ({ area, state: areas[area] ?? ('works' as const) })),
      incidents: past.map(({ area, level, started_at: from, ended_at: to }) => ({
        area,
        state: level,
        started_at: toSeconds(from),
        ended_at: to === null ? null : toSeconds(to),
      })),
    };
  });
}
