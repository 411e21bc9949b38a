import { ActionIcon, Anchor, Button, Divider, Group, Popover, ScrollArea, Skeleton, Stack, Text } from '@mantine/core';
import { IconSettings } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { cloneElement, type ReactElement } from 'react';
import { useTranslation } from 'react-i18next';
import { notificationsQuery } from '../data/notifications.ts';
import { QueryError } from './error-alert.tsx';
import { useOpenedOnMount } from './lazy-dropdown-button.tsx';
import { useMarkAllRead } from './notification-item.tsx';
import { NotificationList } from './notification-list.tsx';

/** The latest notifications, in a dropdown below the bell. */
export default function NotificationDropdown({ target }: { readonly target: ReactElement<{ onClick?: () => void }> }) {
  const { t } = useTranslation();
  const [opened, setOpened] = useOpenedOnMount();
  return (
    <Popover opened={opened} onChange={setOpened} position="bottom-end" width={380} shadow="md" trapFocus returnFocus>
      <Popover.Target>{cloneElement(target, { onClick: () => setOpened(!opened) })}</Popover.Target>
      <Popover.Dropdown p={0} maw="calc(100vw - 24px)" aria-label={t('notifications')}>
        <NotificationPanel onClose={() => setOpened(false)} />
      </Popover.Dropdown>
    </Popover>
  );
}

const MAX_ITEMS = 8;

/** Panel with the newest notifications. */
function NotificationPanel({ onClose }: { readonly onClose: () => void }) {
  const { t } = useTranslation('notifications');
  const latest = useQuery(notificationsQuery(1, MAX_ITEMS, false));
  const readAll = useMarkAllRead();
  return (
    <>
      <Group justify="space-between" px="md" py="xs" wrap="nowrap">
        <Text fw={650}>{t('title')}</Text>
        <Group gap={4} wrap="nowrap">
          <Button
            size="compact-sm"
            variant="subtle"
            color="gray"
            loading={readAll.isPending}
            disabled={latest.data?.unread_count === 0}
            onClick={() => readAll.mutate()}
          >
            {t('readAll')}
          </Button>
          <ActionIcon
            aria-label={t('settings')}
            renderRoot={(props) => <Link to="/notifications/settings" onClick={onClose} {...props} />}
          >
            <IconSettings size={18} />
          </ActionIcon>
        </Group>
      </Group>
      <Divider />
      <ScrollArea.Autosize mah="min(60vh, 480px)" type="auto" viewportProps={{ tabIndex: 0 }}>
        <QueryError query={latest} />
        {latest.data === undefined && latest.error === null ? (
          <Stack p="md">
            <Skeleton h={44} />
            <Skeleton h={44} />
          </Stack>
        ) : null}
        {latest.data?.total === 0 ? (
          <Text size="sm" c="dimmed" p="md">
            {t('emptyText')}
          </Text>
        ) : null}
        <NotificationList items={latest.data?.data ?? []} short onOpen={onClose} />
      </ScrollArea.Autosize>
      <Divider />
      <Group justify="center" py="xs">
        <Anchor size="sm" renderRoot={(props) => <Link to="/notifications" onClick={onClose} {...props} />}>
          {t('all')}
        </Anchor>
      </Group>
    </>
  );
}
