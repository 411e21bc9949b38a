import { queryOptions } from '@tanstack/react-query';
import type { EndpointPart } from '../../contract/endpoint.ts';
import * as notificationEndpoints from '../../contract/notifications.ts';
import { followNotifications, type StreamEvent } from '../../sdk/notifications.ts';
import { sleep } from '../../sdk/transport.ts';
import { callApi, sendRequest } from './api-client.ts';

/** A notification as listed by the service. */
export type NotificationItemData = EndpointPart<
  typeof notificationEndpoints.listNotifications,
  'response'
>['data'][number];
/** Schedule of notification e-mails. */
export type MailSettings = EndpointPart<typeof notificationEndpoints.getMailSettings, 'response'>['data'];

/** Prefix of all query keys about notifications. */
export const NOTIFICATIONS_KEY = ['notifications'] as const;

/** One page of notifications, newest first. */
export const notificationsQuery = (page: number, pageSize: number, onlyUnread: boolean) =>
  queryOptions({
    queryKey: [...NOTIFICATIONS_KEY, 'list', page, pageSize, onlyUnread],
    queryFn: ({ signal }) =>
      callApi(
        notificationEndpoints.listNotifications,
        { query: { page: String(page), page_size: String(pageSize), status: onlyUnread ? 'unread' : undefined } },
        { signal },
      ),
  });

/** Number of unread notifications. */
export const unreadCountQuery = queryOptions({
  queryKey: [...NOTIFICATIONS_KEY, 'unread'],
  queryFn: async ({ signal }) => (await callApi(notificationEndpoints.countUnread, { query: {} }, { signal })).data,
});

/** Notification preferences by topic. */
export const preferencesQuery = queryOptions({
  queryKey: ['preferences'],
  queryFn: async ({ signal }) => (await callApi(notificationEndpoints.getPreferences, {}, { signal })).data,
});

/** Schedule of notification e-mails. */
export const mailSettingsQuery = queryOptions({
  queryKey: ['mail-settings'],
  queryFn: async ({ signal }) => (await callApi(notificationEndpoints.getMailSettings, {}, { signal })).data,
});

/** Marks one notification as read. */
export const markRead = (id: number) => callApi(notificationEndpoints.markRead, { params: { id: String(id) } });
/** Marks all notifications as read. */
export const markAllRead = () => callApi(notificationEndpoints.markAllRead, { query: {} });

/** Target of a notification; `related_id` is resolved by the notification's type. Undefined if there is no target. */
export function notificationPath({ target_url, related_id, type }: NotificationItemData): string | undefined {
  if (target_url !== '') return target_url;
  if (related_id === 0) return undefined;
  if (type === 'ticket_reply' || type === 'ticket_status') return `/tickets/${related_id}`;
  if (type === 'admin_ticket') return `/admin/tickets/${related_id}`;
  if (type === 'admin_beta') return '/admin/beta-applications';
  return type === 'beta_result' ? '/beta-applications' : undefined;
}

/** Delay after a refused stream; short enough that notifications resume soon after the user signs in again. */
const RETRY_DELAY_MS = 60_000;

/**
 * Delivers live notifications of the account until the signal aborts. One tab holds the stream and forwards its events
 * to the other tabs: browsers limit connections per host, and one stream per tab would leave none for other requests.
 */
export async function subscribeNotifications(
  userId: number,
  onEvent: (event: StreamEvent) => void,
  signal: AbortSignal,
): Promise<void> {
  const name = `reelgate.news.${userId}`;
  const channel = new BroadcastChannel(name);
  signal.addEventListener('abort', () => channel.close(), { once: true });
  let lastEventId: string | undefined;
  const handleEvent = (event: StreamEvent): void => {
    if (event.id !== '') lastEventId = event.id;
    onEvent(event);
  };
  channel.onmessage = ({ data }) => handleEvent(data as StreamEvent);
  const runAsLeader = (during: AbortSignal): Promise<void> =>
    keepStreamOpen(
      () => lastEventId,
      (event) => {
        handleEvent(event);
        if (!signal.aborted) channel.postMessage(event);
      },
      during,
    );
  // The Web Locks API is unavailable without TLS; then every visible tab holds its own stream.
  const { locks } = navigator as { readonly locks?: LockManager };
  await (locks === undefined
    ? whileVisible(runAsLeader, signal)
    : locks.request(name, { signal }, () => runAsLeader(signal)));
}

/** Keeps a stream open, resuming after the last event received. */
async function keepStreamOpen(
  lastEventId: () => string | undefined,
  onEvent: (event: StreamEvent) => void,
  signal: AbortSignal,
) {
  while (!signal.aborted) {
    try {
      for await (const event of followNotifications({ send: sendRequest }, { lastEventId: lastEventId(), signal }))
        onEvent(event);
    } catch {
      await sleep(RETRY_DELAY_MS, signal).catch(() => undefined);
    }
  }
}

/** Runs while the page is visible, and again each time it becomes visible, until the signal aborts. */
async function whileVisible(run: (signal: AbortSignal) => Promise<void>, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    if (document.visibilityState === 'visible') {
      const hidden = new AbortController();
      const onChange = (): void => hidden.abort();
      document.addEventListener('visibilitychange', onChange, { once: true });
      await run(AbortSignal.any([signal, hidden.signal]));
      document.removeEventListener('visibilitychange', onChange);
    } else {
      await new Promise<void>((resolve) => {
        document.addEventListener('visibilitychange', () => resolve(), { once: true });
        signal.addEventListener('abort', () => resolve(), { once: true });
      });
    }
  }
}
