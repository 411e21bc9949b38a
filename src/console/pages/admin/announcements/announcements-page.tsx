import { Badge, Button, Group, Text } from '@mantine/core';
import { IconPlus, IconSpeakerphone } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { adminDeleteAnnouncement, adminListAnnouncements } from '../../../../contract/notifications.ts';
import { listQuery, useRefresh } from '../../../data/admin.ts';
import { call } from '../../../data/client.ts';
import { Confirm } from '../../../parts/confirm.tsx';
import { Empty } from '../../../parts/empty.tsx';
import { Moment } from '../../../parts/moment.tsx';
import { useNotices } from '../../../parts/notices.tsx';
import { Page } from '../../../parts/page.tsx';
import { useFilters } from '../frame/filters.ts';
import { RecordList } from '../frame/record-list.tsx';
import { ToLink } from '../frame/to-link.tsx';
import { AnnouncementDialog } from './announcement-dialog.tsx';
import type { Announcement } from './announcement-draft.ts';

/** What every account is told. */
export function AnnouncementsPage() {
  const { t } = useTranslation(['desk', 'shell']);
  const filters = useFilters([]);
  const [open, setOpen] = useState<Announcement | 'new'>();
  const announcements = useQuery(listQuery(adminListAnnouncements, filters.query));
  const make = (
    <Button leftSection={<IconPlus size={16} />} onClick={() => setOpen('new')}>
      {t('announcements.make')}
    </Button>
  );
  return (
    <Page title={t('shell:pages.announcements')} lead={t('announcements.lead')} size="xl" actions={make}>
      <RecordList
        label={t('shell:pages.announcements')}
        query={announcements}
        filters={filters}
        keyOf={({ id }) => id}
        empty={
          <Empty icon={<IconSpeakerphone size={28} />} title={t('announcements.emptyTitle')} action={make}>
            {t('announcements.emptyText')}
          </Empty>
        }
        columns={[
          { label: t('announcements.title'), cell: (each) => <Said announcement={each} /> },
          {
            label: t('announcements.languages'),
            cell: ({ zh_cn: chinese }) => (
              <Group gap={4}>
                <Badge color="gray">en</Badge>
                {chinese === null ? null : <Badge color="gray">zh-CN</Badge>}
              </Group>
            ),
            wide: true,
          },
          {
            label: t('announcements.target'),
            cell: ({ target_url: target }) =>
              target === '' ? (
                '–'
              ) : (
                <ToLink to={target} size="sm" style={{ overflowWrap: 'anywhere' }}>
                  {target}
                </ToLink>
              ),
          },
          { label: t('announcements.told'), cell: ({ created_time: at }) => <Moment at={at} size="sm" /> },
          {
            label: t('shell:edit'),
            align: 'right',
            cell: (each) => (
              <Group gap={4} justify="flex-end" wrap="nowrap">
                <Button size="compact-sm" variant="subtle" color="gray" onClick={() => setOpen(each)}>
                  {t('announcements.edit')}
                </Button>
                <TakeBack announcement={each} />
              </Group>
            ),
          },
        ]}
      />
      {open === undefined ? null : (
        <AnnouncementDialog {...(open === 'new' ? {} : { known: open })} onClose={() => setOpen(undefined)} />
      )}
    </Page>
  );
}

function Said({ announcement: { title, content } }: { readonly announcement: Announcement }) {
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

function TakeBack({ announcement: { id, title } }: { readonly announcement: Announcement }) {
  const { t } = useTranslation('desk');
  const refresh = useRefresh();
  const notices = useNotices();
  const remove = async (): Promise<void> => {
    await call(adminDeleteAnnouncement, { params: { id: String(id) } });
    await refresh();
    notices.done(t('announcements.removed'));
  };
  return (
    <Confirm
      title={t('announcements.removeTitle', { title })}
      action={t('announcements.removeAction')}
      onConfirm={remove}
      trigger={(open) => (
        <Button size="compact-sm" variant="subtle" color="red" onClick={open}>
          {t('announcements.removeAction')}
        </Button>
      )}
    >
      {t('announcements.removeText')}
    </Confirm>
  );
}
