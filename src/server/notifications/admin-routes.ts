import * as lines from '../../contract/notifications.ts';
import { done, list, ok, toPage } from '../../contract/schemas.ts';
import type { AccountCaller } from '../platform/http/caller.ts';
import type { RequestContext } from '../platform/http/request-context.ts';
import type { Routes } from '../platform/http/routes.ts';
import type { Actor, Announcements } from './announcements.ts';
import type { NotificationRow } from './store.ts';

/** Announcements, for administrators. */
export function addAnnouncementRoutes(routes: Routes, announcements: Announcements): void {
  routes.add(lines.adminListAnnouncements, async ({ query }) => {
    const { rows, total } = await announcements.list(toPage(query));
    return list(rows.map(toRow), total);
  });
  routes.add(lines.adminMakeAnnouncement, async ({ caller, body, request }) =>
    ok({ id: await announcements.make(actorOf(caller, request), body) }),
  );
  routes.add(lines.adminGetAnnouncement, async ({ params }) => ok(toRow(await announcements.get(Number(params.id)))));
  routes.add(lines.adminChangeAnnouncement, async ({ caller, params, body, request }) => {
    await announcements.change(actorOf(caller, request), Number(params.id), body);
    return done();
  });
  routes.add(lines.adminDeleteAnnouncement, async ({ caller, params, request }) => {
    await announcements.remove(actorOf(caller, request), Number(params.id));
    return done();
  });
}

const actorOf = (caller: AccountCaller, { address, id }: RequestContext): Actor => ({
  actorId: caller.userId,
  address,
  requestId: id,
});

const toRow = ({ id, title_en, content_en, title_zh, content_zh, target_url, created_at }: NotificationRow) => ({
  id,
  title: title_en,
  content: content_en,
  zh_cn: title_zh === null || content_zh === null ? null : { title: title_zh, content: content_zh },
  target_url,
  created_time: Math.floor(created_at / 1000),
});
