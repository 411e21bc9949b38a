import { Switch, Text, Textarea, TextInput } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { adminCreateAnnouncement, adminUpdateAnnouncement } from '../../../../contract/notifications.ts';
import { FormDialog } from '../../../components/form-dialog.tsx';
import { useFormValues } from '../../../components/use-form-values.ts';
import { useSaveAndClose } from '../../../components/use-save-and-close.ts';
import type { Announcement } from '../../../data/admin-types.ts';
import { callApi } from '../../../data/api-client.ts';
import { toAnnouncementBody, toAnnouncementFormValues } from './announcement-form-values.ts';

interface AnnouncementDialogProps {
  /** Edits this announcement instead of creating one. */
  readonly announcement?: Announcement;
  readonly onClose: () => void;
}

const MAX_LENGTH = { title: 200, content: 10_000 } as const;

export function AnnouncementDialog({ announcement, onClose }: AnnouncementDialogProps) {
  const { t } = useTranslation(['admin-announcements', 'app']);
  const { draft, text, checked } = useFormValues(() => toAnnouncementFormValues(announcement));
  const save = useSaveAndClose(
    async () => {
      const body = toAnnouncementBody(draft);
      if (announcement === undefined) await callApi(adminCreateAnnouncement, { body });
      else await callApi(adminUpdateAnnouncement, { params: { id: String(announcement.id) }, body });
    },
    { onClose, message: announcement === undefined ? t('sent') : t('app:saved') },
  );
  const contentField = (label: string, name: 'content' | 'contentChinese') => (
    <Textarea label={label} autosize minRows={4} maxRows={14} maxLength={MAX_LENGTH.content} required {...text(name)} />
  );
  return (
    <FormDialog
      title={t(announcement === undefined ? 'make' : 'editTitle')}
      submitLabel={announcement === undefined ? t('make') : t('app:save')}
      save={save}
      onClose={onClose}
      disabled={draft.title.trim() === '' || draft.content.trim() === ''}
    >
      <TextInput label={t('title')} maxLength={MAX_LENGTH.title} required data-autofocus {...text('title')} />
      {contentField(t('text'), 'content')}
      <Switch label={t('inChinese')} description={t('inChineseHint')} {...checked('inChinese')} />
      {draft.inChinese ? (
        <>
          <TextInput
            label={t('titleChinese')}
            maxLength={MAX_LENGTH.title}
            required
            lang="zh-CN"
            {...text('titleChinese')}
          />
          {contentField(t('textChinese'), 'contentChinese')}
        </>
      ) : null}
      <TextInput
        label={`${t('target')} (${t('app:optional')})`}
        description={t('targetHint')}
        placeholder="/packages"
        pattern="/.*"
        maxLength={500}
        {...text('target')}
      />
      {announcement === undefined ? null : (
        <Text size="xs" c="dimmed">
          {t('editHint')}
        </Text>
      )}
    </FormDialog>
  );
}
