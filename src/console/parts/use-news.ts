import { useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import type { StreamEvent } from '../../sdk/notification-stream.ts';
import { followNews } from '../data/news.ts';
import { NOTIFICATIONS_KEY, type NotificationRow, unreadQuery } from '../data/notifications.ts';
import { selfQuery } from '../data/queries.ts';

/** What a notification of a kind makes stale besides the center itself. */
const STALE: Readonly<Record<string, readonly (readonly string[])[]>> = {
  system: [['videos', 'list'], ['devices'], ['sessions'], ['package'], selfQuery.queryKey],
  ticket_reply: [['tickets']],
  ticket_status: [['tickets']],
  beta_result: [['beta']],
  admin_ticket: [['admin']],
  admin_beta: [['admin']],
};

/** Keeps what is on the screen true to what the service tells. */
export function useNews(userId: number | undefined): void {
  const queries = useQueryClient();
  useEffect(() => {
    if (userId === undefined) return;
    const gone = new AbortController();
    const renew = (key: readonly string[]): void => void queries.invalidateQueries({ queryKey: key });
    const onEvent = ({ kind, data }: StreamEvent): void => {
      if (kind === 'gap') renew(NOTIFICATIONS_KEY);
      else if (kind === 'unread') {
        queries.setQueryData(unreadQuery.queryKey, (JSON.parse(data) as { unread_count: number }).unread_count);
        renew([...NOTIFICATIONS_KEY, 'list']);
      } else {
        renew([...NOTIFICATIONS_KEY, 'list']);
        for (const key of STALE[(JSON.parse(data) as NotificationRow).type] ?? []) renew(key);
      }
    };
    followNews(userId, onEvent, gone.signal).catch(() => undefined);
    return () => gone.abort();
  }, [userId, queries]);
}
