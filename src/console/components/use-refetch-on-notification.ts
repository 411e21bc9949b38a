import { useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import type { StreamEvent } from '../../sdk/notifications.ts';
import { NOTIFICATIONS_KEY, type NotificationItemData, unreadCountQuery } from '../data/notification-queries.ts';
import { subscribeNotifications } from '../data/notification-stream.ts';
import { PLAN_KEY } from '../data/plan-queries.ts';
import { selfQuery } from '../data/signed-in-user-and-site-queries.ts';

/** What a notification of a kind makes stale besides the center itself. */
const STALE_QUERIES: Readonly<Record<string, readonly (readonly string[])[]>> = {
  system: [['videos', 'list'], ['devices'], ['sessions'], PLAN_KEY, selfQuery.queryKey],
  ticket_reply: [['tickets']],
  ticket_status: [['tickets']],
  beta_result: [['beta']],
  admin_ticket: [['admin']],
  admin_beta: [['admin']],
};

/** Refetches the data on the screen that a notification of the service has made outdated. */
export function useRefetchOnNotification(userId: number | undefined): void {
  const queries = useQueryClient();
  useEffect(() => {
    if (userId === undefined) return;
    const unmounted = new AbortController();
    const invalidate = (key: readonly string[]): void => void queries.invalidateQueries({ queryKey: key });
    const onEvent = ({ kind, data }: StreamEvent): void => {
      // What follows says how many are unread.
      if (kind === 'gap') invalidate([...NOTIFICATIONS_KEY, 'list']);
      else if (kind === 'unread') {
        queries.setQueryData(unreadCountQuery.queryKey, (JSON.parse(data) as { unread_count: number }).unread_count);
        invalidate([...NOTIFICATIONS_KEY, 'list']);
      } else {
        invalidate([...NOTIFICATIONS_KEY, 'list']);
        for (const key of STALE_QUERIES[(JSON.parse(data) as NotificationItemData).type] ?? []) invalidate(key);
      }
    };
    subscribeNotifications(userId, onEvent, unmounted.signal).catch(() => undefined);
    return () => unmounted.abort();
  }, [userId, queries]);
}
