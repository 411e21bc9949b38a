import { queryOptions } from '@tanstack/react-query';
import type { EndpointPart } from '../../contract/endpoint.ts';
import * as notificationEndpoints from '../../contract/notifications.ts';
import { callApi } from './api-client.ts';

export type NotificationItemData = EndpointPart<
  typeof notificationEndpoints.listNotifications,
  'response'
>['data'][number];
export type MailSettings = EndpointPart<typeof notificationEndpoints.getMailSettings, 'response'>['data'];

export const NOTIFICATIONS_KEY = ['notifications'] as const;

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

export const unreadCountQuery = queryOptions({
  queryKey: [...NOTIFICATIONS_KEY, 'unread'],
  queryFn: async ({ signal }) => (await callApi(notificationEndpoints.countUnread, { query: {} }, { signal })).data,
});

export const preferencesQuery = queryOptions({
  queryKey: ['preferences'],
  queryFn: async ({ signal }) => (await callApi(notificationEndpoints.getPreferences, {}, { signal })).data,
});

export const mailSettingsQuery = queryOptions({
  queryKey: ['mail-settings'],
  queryFn: async ({ signal }) => (await callApi(notificationEndpoints.getMailSettings, {}, { signal })).data,
});

export const markRead = (id: number) => callApi(notificationEndpoints.markRead, { params: { id: String(id) } });
export const markAllRead = () => callApi(notificationEndpoints.markAllRead, { query: {} });

/** Where a notification leads; what it names by number is found by its kind. Undefined: nowhere. */
export function notificationPath({ target_url, related_id, type }: NotificationItemData): string | undefined {
  if (target_url !== '') return target_url;
  if (related_id === 0) return undefined;
  if (type === 'ticket_reply' || type === 'ticket_status') return `/tickets/${related_id}`;
  if (type === 'admin_ticket') return `/admin/tickets/${related_id}`;
  if (type === 'admin_beta') return '/admin/beta-applications';
  return type === 'beta_result' ? '/beta-applications' : undefined;
}
