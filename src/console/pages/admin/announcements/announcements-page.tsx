import { Badge, Button, Group, Text } from '@mantine/core';
import { IconPlus, IconSpeakerphone } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { adminDeleteAnnouncement, adminListAnnouncements } from '../../../../contract/notifications.ts';
import { ConfirmDialog } from '../../../components/confirm-dialog.tsx';
import { EmptyState } from '../../../components/empty-state.tsx';
import { PagedTable } from '../../../components/list/paged-table.tsx';
import { useListFilters } from '../../../components/list/use-list-filters.ts';
import { Page } from '../../../components/page.tsx';
import { RelativeTime } from '../../../components/relative-time.tsx';
import { RouteLink } from '../../../components/route-link.tsx';
import { useToasts } from '../../../components/toasts.tsx';
import type { Announcement } from '../../../data/admin-types.ts';
import { callApi } from '../../../data/api-client.ts';
import { listQuery, useInvalidateQueries } from '../../../data/query-any-admin-endpoint.ts';
import { AnnouncementDialog } from './announcement-dialog.tsx';

/** Announcements, which are shown to every account. */
export function AnnouncementsPage() {
  const { t } = useTranslation(['admin-announcements', 'app']);
  const filters = useListFilters([], ['created']);
  const [open, setOpen] = useState<Announcement | 'new'>();
  const announcements = useQuery(listQuery(adminListAnnouncements, filters.query));
  const make = (
    <Button leftSection={<IconPlus size={16} />} onClick={() => setOpen('new')}>
      {t('make')}
    </Button>
  );
  return (
    <Page title={t('app:pages.announcements')} subtitle={t('lead')} size="xl" actions={make}>
      <PagedTable
        label={t('app:pages.announcements')}
        query={announcements}
        filters={filters}
        rowKey={({ id }) => id}
        emptyState={
          <EmptyState icon={<IconSpeakerphone size={28} />} title={t('emptyTitle')} action={make}>
            {t('emptyText')}
          </EmptyState>
        }
        columns={[
          { label: t('title'), cell: (each) => <AnnouncementText announcement={each} /> },
          {
            label: t('languages'),
            cell: ({ zh_cn: chinese }) => (
              <Group gap={4}>
                <Badge color="gray">en</Badge>
                {chinese === null ? null : <Badge color="gray">zh-CN</Badge>}
              </Group>
            ),
            hideOnPhone: true,
          },
          {
            label: t('target'),
            cell: ({ target_url: target }) =>
              target === '' ? (
                '–'
              ) : (
                <RouteLink to={target} size="sm" style={{ overflowWrap: 'anywhere' }}>
                  {target}
                </RouteLink>
              ),
          },
          { label: t('told'), sortKey: 'created', cell: ({ created_time: at }) => <RelativeTime at={at} size="sm" /> },
          {
            label: t('app:edit'),
            align: 'right',
            cell: (each) => (
              <Group gap={4} justify="flex-end" wrap="nowrap">
                <Button size="compact-sm" variant="subtle" color="gray" onClick={() => setOpen(each)}>
                  {t('edit')}
                </Button>
                <DeleteAnnouncement announcement={each} />
              </Group>
            ),
          },
        ]}
      />
      {open === undefined ? null : (
        <AnnouncementDialog announcement={open === 'new' ? undefined : open} onClose={() => setOpen(undefined)} />
      )}
    </Page>
  );
}

function AnnouncementText({ announcement: { title, content } }: { readonly announcement: Announcement }) {
  return (
    <div style={{ maxWidth: 460 }}>
      <Text size="sm" fw={600} style={{ overflowWrap: 'anywhere' }}>
        {title}
      </Text>
      <Text size="xs" c="dimmed" lineClamp={2} style={{ overflowWrap: 'anywhere' }}>
        {content}
      </Text>
    </div>
  );
}

function DeleteAnnouncement({ announcement: { id, title } }: { readonly announcement: Announcement }) {
  const { t } = useTranslation('admin-announcements');
  const invalidate = useInvalidateQueries();
  const toasts = useToasts();
  const remove = async (): Promise<void> => {
    await callApi(adminDeleteAnnouncement, { params: { id: String(id) } });
    await invalidate();
    toasts.success(t('removed'));
  };
  return (
    <ConfirmDialog
      title={t('removeTitle', { title })}
      confirmLabel={t('removeAction')}
      onConfirm={remove}
      trigger={(open) => (
        <Button size="compact-sm" variant="subtle" color="red" onClick={open}>
          {t('removeAction')}
        </Button>
      )}
    >
      {t('removeText')}
    </ConfirmDialog>
  );
}
