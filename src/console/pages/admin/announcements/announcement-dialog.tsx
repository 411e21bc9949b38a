import { Switch, Text, Textarea, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { adminChangeAnnouncement, adminMakeAnnouncement } from '../../../../contract/notifications.ts';
import { useRefresh } from '../../../data/admin.ts';
import { call } from '../../../data/client.ts';
import { Dialog } from '../../../parts/dialog.tsx';
import { useNotices } from '../../../parts/notices.tsx';
import { type Announcement, toAnnouncement, toAnnouncementDraft } from './announcement-draft.ts';

interface AnnouncementDialogProps {
  /** Corrects this one in place of making another. */
  readonly known?: Announcement;
  readonly onClose: () => void;
}

const MOST = { title: 200, content: 10_000 } as const;

export function AnnouncementDialog({ known, onClose }: AnnouncementDialogProps) {
  const { t } = useTranslation(['desk', 'shell']);
  const refresh = useRefresh();
  const notices = useNotices();
  const [draft, setDraft] = useState(() => toAnnouncementDraft(known));
  const set = (part: Partial<typeof draft>): void => setDraft((old) => ({ ...old, ...part }));
  const save = useMutation({
    mutationFn: async () => {
      const body = toAnnouncement(draft);
      if (known === undefined) await call(adminMakeAnnouncement, { body });
      else await call(adminChangeAnnouncement, { params: { id: String(known.id) }, body });
    },
    onSuccess: async () => {
      await refresh();
      notices.done(known === undefined ? t('announcements.sent') : t('shell:saved'));
      onClose();
    },
  });
  const text = (label: string, name: 'content' | 'contentChinese') => (
    <Textarea
      label={label}
      autosize
      minRows={4}
      maxRows={14}
      maxLength={MOST.content}
      required
      value={draft[name]}
      onChange={(event) => set({ [name]: event.currentTarget.value })}
    />
  );
  return (
    <Dialog
      title={t(known === undefined ? 'announcements.make' : 'announcements.editTitle')}
      action={known === undefined ? t('announcements.make') : t('shell:save')}
      busy={save.isPending}
      error={save.error}
      onSubmit={() => save.mutate()}
      onClose={onClose}
      disabled={draft.title.trim() === '' || draft.content.trim() === ''}
    >
      <TextInput
        label={t('announcements.title')}
        maxLength={MOST.title}
        required
        data-autofocus
        value={draft.title}
        onChange={(event) => set({ title: event.currentTarget.value })}
      />
      {text(t('announcements.text'), 'content')}
      <Switch
        label={t('announcements.inChinese')}
        description={t('announcements.inChineseHint')}
        checked={draft.inChinese}
        onChange={(event) => set({ inChinese: event.currentTarget.checked })}
      />
      {draft.inChinese ? (
        <>
          <TextInput
            label={t('announcements.titleChinese')}
            maxLength={MOST.title}
            required
            lang="zh-CN"
            value={draft.titleChinese}
            onChange={(event) => set({ titleChinese: event.currentTarget.value })}
          />
          {text(t('announcements.textChinese'), 'contentChinese')}
        </>
      ) : null}
      <TextInput
        label={`${t('announcements.target')} (${t('shell:optional')})`}
        description={t('announcements.targetHint')}
        placeholder="/packages"
        pattern="/.*"
        maxLength={500}
        value={draft.target}
        onChange={(event) => set({ target: event.currentTarget.value })}
      />
      {known === undefined ? null : (
        <Text size="xs" c="dimmed">
          {t('announcements.editHint')}
        </Text>
      )}
    </Dialog>
  );
}
