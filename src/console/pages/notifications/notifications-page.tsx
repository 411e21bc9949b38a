import { Button, Paper, Skeleton, Stack } from '@mantine/core';
import { IconBell, IconChecks, IconSettings } from '@tabler/icons-react';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import { ErrorAlert } from '../../components/error-alert.tsx';
import { NotificationItem, useMarkAllRead } from '../../components/notification-item.tsx';
import { EmptyState, Page } from '../../components/page.tsx';
import { Pager } from '../../components/pager.tsx';
import { SegmentedControl } from '../../components/segmented-control.tsx';
import { notificationsQuery } from '../../data/notifications.ts';

const PAGE_SIZE = 20;

/** All notifications of the account, newest first, updated live. */
export function NotificationsPage() {
  const { t } = useTranslation('notifications');
  const { page = 1, unread = false } = useSearch({ from: '/app/notifications' });
  const navigate = useNavigate();
  const list = useQuery({ ...notificationsQuery(page, PAGE_SIZE, unread), placeholderData: keepPreviousData });
  const readAll = useMarkAllRead();
  const show = (search: { page?: number; unread?: true }): void => void navigate({ to: '/notifications', search });
  const actions = (
    <>
      <Button
        variant="default"
        leftSection={<IconChecks size={16} />}
        loading={readAll.isPending}
        disabled={list.data === undefined || list.data.unread_count === 0}
        onClick={() => readAll.mutate()}
      >
        {t('readAll')}
      </Button>
      <Button
        variant="default"
        leftSection={<IconSettings size={16} />}
        renderRoot={(props) => <Link to="/notifications/settings" {...props} />}
      >
        {t('settings')}
      </Button>
    </>
  );
  return (
    <Page title={t('title')} subtitle={t('lead')} size="md" actions={actions}>
      <SegmentedControl
        mb="md"
        aria-label={t('show')}
        value={unread ? 'unread' : 'all'}
        onChange={(value) => show(value === 'unread' ? { unread: true } : {})}
        data={[
          { value: 'all', label: t('everything') },
          { value: 'unread', label: t('unreadCount', { count: list.data?.unread_count ?? 0 }) },
        ]}
      />
      <ErrorAlert error={readAll.error ?? list.error} retry={() => void list.refetch()} />
      {list.data === undefined && list.error === null ? (
        <Stack>
          {[0, 1, 2, 3].map((each) => (
            <Skeleton key={each} h={74} radius="lg" />
          ))}
        </Stack>
      ) : null}
      {list.data?.data.length === 0 ? (
        <EmptyState icon={<IconBell size={28} />} title={unread ? t('noneUnread') : t('emptyTitle')}>
          {unread ? t('noneUnreadText') : t('emptyText')}
        </EmptyState>
      ) : null}
      {(list.data?.data.length ?? 0) > 0 ? (
        <Paper withBorder style={{ overflow: 'hidden' }}>
          {list.data?.data.map((item) => (
            <NotificationItem key={`${item.type}${item.id}`} item={item} />
          ))}
        </Paper>
      ) : null}
      <Pager
        page={page}
        total={list.data?.total ?? 0}
        pageSize={PAGE_SIZE}
        onChange={(next) => show({ page: next, unread: unread || undefined })}
      />
    </Page>
  );
}
