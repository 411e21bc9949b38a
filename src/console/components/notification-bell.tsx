import { ActionIcon, Indicator } from '@mantine/core';
import { IconBell } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { lazy, useEffect } from 'react';
import { useTranslation } from 'react-i18next';
import { unreadCountQuery } from '../data/notification-queries.ts';
import { useSelf } from '../data/signed-in-user-and-site-queries.ts';
import { LazyDropdownButton } from './lazy-dropdown-button.tsx';
import { useRefetchOnNotification } from './use-refetch-on-notification.ts';

const BellDropdown = lazy(() => import('./notification-dropdown.tsx'));

const MAX_COUNT = 9;

/** How much is unread, on every page, live; a press shows the latest. */
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

/** `(2) Studio · Reelgate`, so that a tab in the background shows unread notifications too. */
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
