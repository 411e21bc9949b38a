import * as endpoints from '../../contract/notifications-preferences-and-announcements.ts';
import { done, ok, toPage } from '../../contract/success-bodies-and-pagination.ts';
import type { CredentialRevocationWatch } from '../accounts/credential-watch.ts';
import { answerHeadRequest, beginEventStream } from '../platform/http/event-stream.ts';
import type { Input, RouteRegistry } from '../platform/http/route-registry.ts';
import { toReader } from './inbox-service.ts';
import type { Notifications } from './make.ts';
import { parseCursor } from './notification-streams.ts';
import { toNotification } from './presenter.ts';
import { openSseSink } from './sse-writer.ts';

export interface NotificationRouteDependencies {
  readonly notifications: Pick<Notifications, 'inboxes' | 'mailSettings' | 'streams'>;
  /** Ends a stream with the credential that opened it. */
  readonly credentialWatch: Pick<CredentialRevocationWatch, 'watch'>;
  /** Unprocessed tickets and beta applications. */
  readonly countPending: () => Promise<number>;
}

type ListInput = Pick<Input<typeof endpoints.listNotifications>, 'caller' | 'query' | 'request'>;

/** The notification center, as accounts see it. */
export function addNotificationRoutes(routes: RouteRegistry, dependencies: NotificationRouteDependencies): void {
  const { inboxes, mailSettings } = dependencies.notifications;

  const list = async ({ caller, query, request }: ListInput) => {
    const reader = toReader(caller, query.audience);
    const { rows, total, unread, hasMore } = await inboxes.list(reader, query.status === 'unread', toPage(query));
    const data = rows.map((item) => toNotification(item, caller.userId, request.locale));
    return { success: true as const, data, total, unread_count: unread, has_more: hasMore };
  };
  routes.add(endpoints.listNotifications, list);
  routes.add(endpoints.listNotificationsWithoutSlash, list);

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
