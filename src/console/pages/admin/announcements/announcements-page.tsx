import { Badge, Button, Group, Input, Paper, Switch, Text, Textarea, TextInput } from '@mantine/core';
import { IconPlus, IconSpeakerphone } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import {
  adminCreateAnnouncement,
  adminDeleteAnnouncement,
  adminListAnnouncements,
  adminUpdateAnnouncement,
} from '../../../../contract/notifications.ts';
import { isListEmpty, PagedTable } from '../../../components/data-table.tsx';
import { ConfirmDialog, FormDialog } from '../../../components/dialog.tsx';
import { useListFilters } from '../../../components/list/use-list-filters.ts';
import { NotificationText } from '../../../components/notification-item.tsx';
import { EmptyState, Page } from '../../../components/page.tsx';
import { RelativeTime } from '../../../components/relative-time.tsx';
import { RouteLink } from '../../../components/route-link.tsx';
import { useFormValues, useSaveAndClose } from '../../../components/save-form.tsx';
import { useToasts } from '../../../components/toasts.tsx';
import { useCreateRequest } from '../../../components/use-create-request.ts';
import { type Announcement, listQuery, useInvalidateQueries } from '../../../data/admin.ts';
import { callApi } from '../../../data/api-client.ts';
import { formatAside } from '../../../data/format-values.ts';

/** Manages announcements, which every account sees. */
export function AnnouncementsPage() {
  const { t } = useTranslation(['notifications', 'app']);
  const filters = useListFilters([], ['created']);
  const [open, setOpen] = useState<Announcement | 'new'>();
  useCreateRequest(() => setOpen('new'));
  const announcements = useQuery(listQuery(adminListAnnouncements, filters.query));
  const make = (
    <Button data-create leftSection={<IconPlus size={16} />} onClick={() => setOpen('new')}>
      {t('announcements.make')}
    </Button>
  );
  return (
    <Page
      title={t('app:pages.announcements')}
      subtitle={t('announcements.lead')}
      actions={isListEmpty(announcements, filters) ? undefined : make}
    >
      <PagedTable
        label={t('app:pages.announcements')}
        query={announcements}
        filters={filters}
        rowKey={({ id }) => id}
        emptyState={
          <EmptyState icon={<IconSpeakerphone size={28} />} title={t('announcements.emptyTitle')} action={make}>
            {t('announcements.emptyText')}
          </EmptyState>
        }
        columns={[
          { label: t('announcements.title'), cell: (each) => <AnnouncementText announcement={each} /> },
          {
            label: t('announcements.languages'),
            cell: ({ zh_cn: chinese }) => (
              <Group gap={4}>
                <Badge color="gray">en</Badge>
                {chinese === null ? null : <Badge color="gray">zh-CN</Badge>}
              </Group>
            ),
            hideOnPhone: true,
          },
          {
            label: t('announcements.target'),
            cell: ({ target_url: target }) =>
              target === '' ? (
                '–'
              ) : (
                <RouteLink to={target} size="sm" style={{ overflowWrap: 'anywhere' }}>
                  {target}
                </RouteLink>
              ),
          },
          {
            label: t('announcements.told'),
            sortKey: 'created',
            cell: ({ created_time: at }) => <RelativeTime at={at} size="sm" />,
          },
          {
            label: t('app:edit'),
            align: 'right',
            cell: (each) => (
              <Group gap={4} justify="flex-end" wrap="nowrap">
                <Button size="compact-sm" variant="subtle" color="gray" onClick={() => setOpen(each)}>
                  {t('announcements.edit')}
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
  const { t } = useTranslation('notifications');
  const invalidate = useInvalidateQueries();
  const toasts = useToasts();
  const remove = async (): Promise<void> => {
    await callApi(adminDeleteAnnouncement, { params: { id: String(id) } });
    await invalidate();
    toasts.success(t('announcements.removed'));
  };
  return (
    <ConfirmDialog
      title={t('announcements.removeTitle', { title })}
      confirmLabel={t('announcements.removeAction')}
      onConfirm={remove}
      trigger={(open) => (
        <Button size="compact-sm" variant="subtle" color="red" onClick={open}>
          {t('announcements.removeAction')}
        </Button>
      )}
    >
      {t('announcements.removeText')}
    </ConfirmDialog>
  );
}

interface AnnouncementDialogProps {
  /** Announcement to edit; undefined creates one. */
  readonly announcement?: Announcement;
  readonly onClose: () => void;
}

const MAX_LENGTH = { title: 200, content: 10_000 } as const;

function AnnouncementDialog({ announcement, onClose }: AnnouncementDialogProps) {
  const { t } = useTranslation(['notifications', 'app']);
  const { draft, text, checked } = useFormValues(() => toAnnouncementFormValues(announcement));
  const save = useSaveAndClose(
    async () => {
      const body = toAnnouncementBody(draft);
      if (announcement === undefined) await callApi(adminCreateAnnouncement, { body });
      else await callApi(adminUpdateAnnouncement, { params: { id: String(announcement.id) }, body });
    },
    { onClose, message: announcement === undefined ? t('announcements.sent') : t('app:saved') },
  );
  const contentField = (label: string, name: 'content' | 'contentChinese') => (
    <Textarea label={label} autosize minRows={4} maxRows={14} maxLength={MAX_LENGTH.content} required {...text(name)} />
  );
  return (
    <FormDialog
      title={t(announcement === undefined ? 'announcements.make' : 'announcements.editTitle')}
      submitLabel={announcement === undefined ? t('announcements.make') : t('app:save')}
      save={save}
      onClose={onClose}
      disabled={draft.title.trim() === '' || draft.content.trim() === ''}
    >
      <TextInput
        label={t('announcements.title')}
        maxLength={MAX_LENGTH.title}
        required
        data-autofocus
        {...text('title')}
      />
      {contentField(t('announcements.text'), 'content')}
      <Switch
        label={t('announcements.inChinese')}
        description={t('announcements.inChineseHint')}
        {...checked('inChinese')}
      />
      {draft.inChinese ? (
        <>
          <TextInput
            label={t('announcements.titleChinese')}
            maxLength={MAX_LENGTH.title}
            required
            lang="zh-CN"
            {...text('titleChinese')}
          />
          {contentField(t('announcements.textChinese'), 'contentChinese')}
        </>
      ) : null}
      <TextInput
        label={formatAside(t('announcements.target'), t('app:optional'))}
        description={t('announcements.targetHint')}
        placeholder="/packages"
        pattern="/.*"
        maxLength={500}
        {...text('target')}
      />
      <Preview title={draft.title} content={draft.content} />
      {draft.inChinese ? <Preview lang="zh-CN" title={draft.titleChinese} content={draft.contentChinese} /> : null}
      {announcement === undefined ? null : (
        <Text size="xs" c="dimmed">
          {t('announcements.editHint')}
        </Text>
      )}
    </FormDialog>
  );
}

interface PreviewProps {
  readonly title: string;
  readonly content: string;
  readonly lang?: string;
}

/** The announcement as its readers see it. */
function Preview({ title, content, lang }: PreviewProps) {
  const { t } = useTranslation('notifications');
  const [now] = useState(() => Math.floor(Date.now() / 1000));
  if (title.trim() === '' && content.trim() === '') return null;
  const item = {
    id: 0,
    type: 'system',
    title,
    content,
    target_url: '',
    related_id: 0,
    user_id: 0,
    is_read: true,
    created_at: now,
  } as const;
  return (
    <Input.Wrapper label={t('announcements.preview')} labelElement="div">
      <Paper withBorder p="sm" mt={4} lang={lang}>
        <NotificationText item={item} />
      </Paper>
    </Input.Wrapper>
  );
}

/** Form values of an announcement. */
interface AnnouncementFormValues {
  readonly title: string;
  readonly content: string;
  readonly inChinese: boolean;
  readonly titleChinese: string;
  readonly contentChinese: string;
  readonly target: string;
}

const toAnnouncementFormValues = (known: Announcement | undefined): AnnouncementFormValues => ({
  title: known?.title ?? '',
  content: known?.content ?? '',
  inChinese: known?.zh_cn != null,
  titleChinese: known?.zh_cn?.title ?? '',
  contentChinese: known?.zh_cn?.content ?? '',
  target: known?.target_url ?? '',
});

const toAnnouncementBody = (draft: AnnouncementFormValues) => ({
  title: draft.title.trim(),
  content: draft.content.trim(),
  zh_cn: draft.inChinese ? { title: draft.titleChinese.trim(), content: draft.contentChinese.trim() } : null,
  target_url: draft.target.trim(),
});
