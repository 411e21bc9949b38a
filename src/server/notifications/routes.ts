import * as lines from '../../contract/notifications.ts';
import { done, ok, toPage } from '../../contract/schemas.ts';
import { isAppError } from '../platform/errors.ts';
import type { Authenticator } from '../platform/http/caller.ts';
import type { Input, Routes } from '../platform/http/routes.ts';
import { makeEventStream } from './event-stream.ts';
import { readerOf } from './inbox.ts';
import type { Notifications } from './notifications.ts';
import { toNotification } from './presenter.ts';
import { readCursor } from './stream.ts';

export interface NotificationRouteParts {
  readonly notifications: Pick<Notifications, 'inboxes' | 'streams'>;
  /** Asked again while a stream is open: a session that ends takes its streams with it. */
  readonly authenticator: Pick<Authenticator, 'account'>;
  /** Unprocessed tickets and beta applications. */
  readonly countPending: () => Promise<number>;
}

type Asked = Pick<Input<typeof lines.listNotifications>, 'caller' | 'query' | 'request'>;

/** The notification center, as accounts see it. */
export function addNotificationRoutes(routes: Routes, parts: NotificationRouteParts): void {
  const { inboxes } = parts.notifications;

  const list = async ({ caller, query, request }: Asked) => {
    const reader = readerOf(caller, query.audience);
    const { rows, total, unread, hasMore } = await inboxes.list(reader, query.status === 'unread', toPage(query));
    const data = rows.map((shown) => toNotification(shown, caller.userId, request.locale));
    return { success: true as const, data, total, unread_count: unread, has_more: hasMore };
  };
  routes.add(lines.listNotifications, list);
  routes.add(lines.listNotificationsBare, list);

  routes.add(lines.countUnread, async ({ caller, query }) => ({
    success: true as const,
    data: (await inboxes.unread(readerOf(caller, query.audience))).unread,
  }));

  routes.add(lines.countPending, async ({ caller }) => ({
    success: true as const,
    data: caller.role === 'user' ? 0 : await parts.countPending(),
  }));

  routes.add(lines.markAllRead, async ({ caller, query }) => {
    await inboxes.markAll(readerOf(caller, query.audience));
    return done();
  });

  routes.add(lines.markRead, async ({ caller, params }) => {
    await inboxes.markOne(readerOf(caller), params.id);
    return done();
  });

  routes.add(lines.getPreferences, async ({ caller }) => ok(await inboxes.preferences(readerOf(caller))));

  routes.add(lines.putPreferences, async ({ caller, body }) => {
    await inboxes.prefer(readerOf(caller), body.topics);
    return ok(await inboxes.preferences(readerOf(caller)));
  });

  addStreamRoute(routes, parts);
}

function addStreamRoute(routes: Routes, { notifications: { streams }, authenticator }: NotificationRouteParts): void {
  routes.add(lines.streamNotifications, async ({ caller, query, request, reply }) => {
    const reader = readerOf(caller, query.audience);
    const lastEventId = request.headers['last-event-id'] ?? query.last_event_id;
    const from = readCursor(typeof lastEventId === 'string' ? lastEventId : undefined);
    const headers = {
      ...reply.getHeaders(),
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store',
      // nginx would hold events back otherwise.
      'x-accel-buffering': 'no',
    };
    if (reply.request.method === 'HEAD') return reply.headers(headers).send();
    const { headers: sent, session, address, gone } = request;
    const isAllowed = async (): Promise<boolean> => {
      const asked = authenticator.account('account', { headers: sent, session, address });
      return asked.then(
        ({ userId, role }) => userId === caller.userId && role === caller.role,
        (error: unknown) => !isAppError(error),
      );
    };
    streams.assertRoom(caller.userId);
    reply.hijack();
    reply.raw.writeHead(200, headers as Record<string, string>);
    reply.raw.on('error', () => {});
    const sink = makeEventStream(reply.raw, reader, request.locale, isAllowed);
    await streams.open(reader, from, sink, gone).catch((error: unknown) => {
      request.log.warn({ err: error, requestId: request.id }, 'a notification stream did not open');
      reply.raw.end();
    });
    return reply;
  });
}
