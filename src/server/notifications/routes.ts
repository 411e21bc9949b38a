import * as endpoints from '../../contract/notifications.ts';
import { done, list, ok, parseSort, toPage } from '../../contract/responses.ts';
import { toSeconds } from '../../contract/time-units.ts';
import type { CredentialRevocationWatch } from '../accounts/credential-watch.ts';
import { type Input, type RouteRegistry, toActor } from '../platform/http/route-registry.ts';
import { answerHeadRequest, beginEventStream } from '../platform/http/streams.ts';
import type { AnnouncementService } from './announcements.ts';
import { toNotification, toReader } from './inbox.ts';
import type { Notifications } from './module.ts';
import type { NotificationRow } from './notification-store.ts';
import { openSseSink, parseCursor } from './streams.ts';

interface NotificationRouteDependencies {
  readonly notifications: Pick<Notifications, 'inboxes' | 'mailSettings' | 'streams'>;
  /** Ends a stream when the credential that opened it ends. */
  readonly credentialWatch: Pick<CredentialRevocationWatch, 'watch'>;
  /** Number of unprocessed tickets and beta applications. */
  readonly countPending: () => Promise<number>;
}

type ListInput = Pick<Input<typeof endpoints.listNotifications>, 'caller' | 'query' | 'request'>;

/** Registers the accounts' endpoints of the notification center. */
export function addNotificationRoutes(routes: RouteRegistry, dependencies: NotificationRouteDependencies): void {
  const { inboxes, mailSettings } = dependencies.notifications;

  const list = async ({ caller, query, request }: ListInput) => {
    const reader = toReader(caller, query.audience);
    const { rows, total, unread, hasMore } = await inboxes.list(reader, query.status === 'unread', toPage(query));
    const data = rows.map((item) => toNotification(item, caller.userId, request.locale));
    return { success: true as const, data, total, unread_count: unread, has_more: hasMore };
  };
  routes.add(endpoints.listNotifications, list);
  routes.add(endpoints.listNotificationsAlias, list);

  routes.add(endpoints.countUnread, async ({ caller, query }) => ({
    success: true as const,
    data: (await inboxes.countUnread(toReader(caller, query.audience))).unread,
  }));

  routes.add(endpoints.countPending, async ({ caller }) => ({
    success: true as const,
    data: caller.role === 'user' ? 0 : await dependencies.countPending(),
  }));

  routes.add(endpoints.markAllRead, async ({ caller, query }) => {
    await inboxes.markAllRead(toReader(caller, query.audience));
    return done();
  });

  routes.add(endpoints.markRead, async ({ caller, params }) => {
    await inboxes.markRead(toReader(caller), params.id);
    return done();
  });

  routes.add(endpoints.getPreferences, async ({ caller }) => ok(await inboxes.preferences(toReader(caller))));

  routes.add(endpoints.putPreferences, async ({ caller, body }) => {
    await inboxes.setPreferences(toReader(caller), body);
    return ok(await inboxes.preferences(toReader(caller)));
  });

  routes.add(endpoints.getMailSettings, async ({ caller }) => ok(await mailSettings.get(caller.userId)));

  routes.add(endpoints.putMailSettings, async ({ caller, body }) => {
    await mailSettings.put(caller.userId, body);
    return ok(await mailSettings.get(caller.userId));
  });

  addStreamRoute(routes, dependencies);
}

function addStreamRoute(
  routes: RouteRegistry,
  { notifications: { streams }, credentialWatch }: NotificationRouteDependencies,
): void {
  routes.add(endpoints.streamNotifications, async ({ caller, query, request, reply }) => {
    const reader = toReader(caller, query.audience);
    const lastEventId = request.headers['last-event-id'] ?? query.last_event_id;
    const from = parseCursor(typeof lastEventId === 'string' ? lastEventId : undefined);
    if (answerHeadRequest(reply)) return reply;
    streams.assertCapacity(caller.userId);
    const ended = beginEventStream(reply, {
      disconnected: request.disconnected,
      watchAccess: (onEnd) => credentialWatch.watch(caller, onEnd),
    });
    const sink = openSseSink(reply.raw, reader, request.locale);
    await streams.open(reader, from, sink, ended).catch((error: unknown) => {
      request.log.warn({ err: error, requestId: request.id }, 'a notification stream could not be opened');
      reply.raw.end();
    });
    return reply;
  });
}

/** Registers the administrators' endpoints of announcements. */
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
