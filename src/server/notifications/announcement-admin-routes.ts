import { parseSort } from '../../contract/list-sorting.ts';
import * as endpoints from '../../contract/notifications-preferences-and-announcements.ts';
import { done, list, ok, toPage } from '../../contract/success-bodies-and-pagination.ts';
import { toSeconds } from '../../contract/time-units.ts';
import { toActor } from '../platform/http/request-context.ts';
import type { RouteRegistry } from '../platform/http/route-registry.ts';
import type { AnnouncementService } from './announcement-service.ts';
import type { NotificationRow } from './notification-store.ts';

/** Announcements, for administrators. */
export function addAnnouncementAdminRoutes(routes: RouteRegistry, announcements: AnnouncementService): void {
  routes.add(endpoints.adminListAnnouncements, async ({ query }) => {
    const { rows, total } = await announcements.list(toPage(query), parseSort(query.sort)?.descending === false);
    return list(rows.map(toAnnouncement), total);
  });
  routes.add(endpoints.adminCreateAnnouncement, async ({ caller, body, request }) =>
    ok({ id: await announcements.create(toActor(caller, request), body) }),
  );
  routes.add(endpoints.adminGetAnnouncement, async ({ params }) =>
    ok(toAnnouncement(await announcements.get(Number(params.id)))),
  );
  routes.add(endpoints.adminUpdateAnnouncement, async ({ caller, params, body, request }) => {
    await announcements.update(toActor(caller, request), Number(params.id), body);
    return done();
  });
  routes.add(endpoints.adminDeleteAnnouncement, async ({ caller, params, request }) => {
    await announcements.remove(toActor(caller, request), Number(params.id));
    return done();
  });
}

const toAnnouncement = ({
  id,
  title_en,
  content_en,
  title_zh,
  content_zh,
  target_url,
  created_at,
}: NotificationRow) => ({
  id,
  title: title_en,
  content: content_en,
  zh_cn: title_zh === null || content_zh === null ? null : { title: title_zh, content: content_zh },
  target_url,
  created_time: toSeconds(created_at),
});
