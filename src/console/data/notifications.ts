import { queryOptions } from '@tanstack/react-query';
import type { PartOf } from '../../contract/endpoint.ts';
import * as lines from '../../contract/notifications.ts';
import { call } from './client.ts';

export type NotificationRow = PartOf<typeof lines.listNotifications, 'answer'>['data'][number];
export type PreferenceRow = PartOf<typeof lines.getPreferences, 'answer'>['data'][number];

export const NOTIFICATIONS_KEY = ['notifications'] as const;

export const notificationsQuery = (page: number, pageSize: number, onlyUnread: boolean) =>
  queryOptions({
    queryKey: [...NOTIFICATIONS_KEY, 'list', page, pageSize, onlyUnread],
    queryFn: ({ signal }) =>
      call(
        lines.listNotifications,
        { query: { page: String(page), page_size: String(pageSize), ...(onlyUnread ? { status: 'unread' } : {}) } },
        { signal },
      ),
  });

export const unreadQuery = queryOptions({
  queryKey: [...NOTIFICATIONS_KEY, 'unread'],
  queryFn: async ({ signal }) => (await call(lines.countUnread, { query: {} }, { signal })).data,
});

export const preferencesQuery = queryOptions({
  queryKey: ['preferences'],
  queryFn: async ({ signal }) => (await call(lines.getPreferences, {}, { signal })).data,
});

export const readOne = (id: number) => call(lines.markRead, { params: { id: String(id) } });
export const readAll = () => call(lines.markAllRead, { query: {} });

/** Where a notification leads; what it names by number is found by its kind. Undefined: nowhere. */
export function targetOf({ target_url, related_id, type }: NotificationRow): string | undefined {
  if (target_url !== '') return target_url;
  if (related_id === 0) return undefined;
  if (type === 'ticket_reply' || type === 'ticket_status') return `/tickets/${related_id}`;
  if (type === 'admin_ticket') return `/admin/tickets/${related_id}`;
  if (type === 'admin_beta') return '/admin/beta-applications';
  return type === 'beta_result' ? '/beta-applications' : undefined;
}
