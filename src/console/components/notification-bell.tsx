import { ActionIcon, Indicator } from '@mantine/core';
import { IconBell } from '@tabler/icons-react';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { lazy, useEffect } from 'react';
import { useTranslation } from 'react-i18next';
import type { StreamEvent } from '../../sdk/notifications.ts';
import {
  NOTIFICATIONS_KEY,
  type NotificationItemData,
  subscribeNotifications,
  unreadCountQuery,
} from '../data/notifications.ts';
import { PLAN_KEY } from '../data/plans.ts';
import { selfQuery, useSelf } from '../data/self.ts';
import { LazyDropdownButton } from './lazy-dropdown-button.tsx';

const BellDropdown = lazy(() => import('./notification-dropdown.tsx'));

const MAX_COUNT = 9;

/** Live unread count, shown on every page; a click opens the latest notifications. */
export function NotificationBell() {
  const { t } = useTranslation();
  const { data: self } = useSelf();
  useRefetchOnNotification(self?.id);
  const { data: unread = 0 } = useQuery(unreadCountQuery);
  useUnreadCountInTitle(unread);
  const label = unread === 0 ? t('notifications') : t('unread', { count: unread });
  return (
    <Indicator
      disabled={unread === 0}
      label={unread > MAX_COUNT ? `${MAX_COUNT}+` : unread}
      size={17}
      offset={7}
      color="accent"
    >
      <LazyDropdownButton
        dropdown={(button) => <BellDropdown target={button} />}
        popup="dialog"
        button={
          <ActionIcon data-hint={label} size="lg" aria-label={label}>
            <IconBell size={19} />
          </ActionIcon>
        }
      />
    </Indicator>
  );
}

/** Shows `(2) Studio · Reelgate` as the title, so that a background tab shows unread notifications too. */
function useUnreadCountInTitle(unread: number): void {
  useEffect(() => {
    const write = (): void => {
      const bare = document.title.replace(/^\(\d+\+?\) /, '');
      const wanted = unread === 0 ? bare : `(${unread > MAX_COUNT ? `${MAX_COUNT}+` : unread}) ${bare}`;
      if (document.title !== wanted) document.title = wanted;
    };
    write();
    const watch = new MutationObserver(write);
    const title = document.querySelector('title');
    if (title !== null) watch.observe(title, { childList: true });
    return () => watch.disconnect();
  }, [unread]);
}

/** Queries to refetch for each kind of notification, besides the notifications themselves. */
const STALE_QUERIES: Readonly<Record<string, readonly (readonly string[])[]>> = {
  system: [['videos', 'list'], ['devices'], ['sessions'], PLAN_KEY, selfQuery.queryKey],
  ticket_reply: [['tickets']],
  ticket_status: [['tickets']],
  beta_result: [['beta']],
  admin_ticket: [['admin']],
  admin_beta: [['admin']],
};

/** Fetched again after a gap: nothing but notifications refreshes them while they are on the screen. */
const STALE_AFTER_GAP = ['ticket_reply', 'beta_result'].flatMap((type) => STALE_QUERIES[type] ?? []);

/** Refetches on-screen data that a notification has made stale. */
function useRefetchOnNotification(userId: number | undefined): void {
  const queries = useQueryClient();
  useEffect(() => {
    if (userId === undefined) return;
    const unmounted = new AbortController();
    const invalidate = (key: readonly string[]): void => void queries.invalidateQueries({ queryKey: key });
    const onEvent = ({ kind, data }: StreamEvent): void => {
      // The unread count comes with the event after a gap.
      if (kind === 'gap') for (const key of [[...NOTIFICATIONS_KEY, 'list'], ...STALE_AFTER_GAP]) invalidate(key);
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
