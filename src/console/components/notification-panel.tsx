import { ActionIcon, Anchor, Button, Divider, Group, ScrollArea, Skeleton, Stack, Text } from '@mantine/core';
import { IconSettings } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import { notificationsQuery } from '../data/notification-queries.ts';
import { ErrorAlert } from './error-alert.tsx';
import { NotificationItem } from './notification-item.tsx';
import { useMarkAllRead } from './use-mark-all-read.ts';

const MAX_ITEMS = 8;

/** The newest notifications, in a panel below the bell button. */
export function NotificationPanel({ onClose }: { readonly onClose: () => void }) {
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
        <ErrorAlert error={latest.error} retry={() => void latest.refetch()} />
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
        {(latest.data?.data ?? []).map((item) => (
          <NotificationItem key={`${item.type}${item.id}`} item={item} short onOpen={onClose} />
        ))}
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
