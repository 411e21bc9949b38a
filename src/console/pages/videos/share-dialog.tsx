import { PasswordInput, Select, Text, TextInput } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { defined } from '../../../contract/objects.ts';
import { DAY_SECONDS } from '../../../contract/time-units.ts';
import { SHARE_PASSWORD_MAX } from '../../../contract/video-shares.ts';
import { CopyField } from '../../components/copy-button.tsx';
import { Dialog, FormDialog } from '../../components/dialog.tsx';
import { useFormValues } from '../../components/save-form.tsx';
import { createShare } from '../../data/videos.ts';

/** Lifetimes of a link in days; 0: until the video is deleted. */
const PERIODS = [1, 7, 30, 0] as const;

/** Creates a share link of a video, and shows it. */
export default function ShareDialog({ taskId, onClose }: { readonly taskId: string; readonly onClose: () => void }) {
  const { t } = useTranslation('library');
  const queries = useQueryClient();
  const { draft, text, value } = useFormValues({ days: '7' as string | null, password: '', title: '' });
  const save = useMutation({
    mutationFn: () =>
      createShare(
        taskId,
        defined({
          expires_in_seconds: draft.days === '0' ? undefined : Number(draft.days) * DAY_SECONDS,
          password: draft.password || undefined,
          title: draft.title.trim() || undefined,
        }),
      ),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['shares'] }),
  });
  // A form that stayed open would create a second link on the next click.
  if (save.data !== undefined)
    return (
      <Dialog title={t('share.made')} onClose={onClose}>
        <div role="status">
          <CopyField text={save.data} label={t('share.copy')} focused />
        </div>
      </Dialog>
    );
  return (
    <FormDialog title={t('share.title')} submitLabel={t('share.create')} save={save} onClose={onClose}>
      <Text size="sm" c="dimmed">
        {t('share.lead')}
      </Text>
      <Select
        label={t('share.period')}
        allowDeselect={false}
        data={PERIODS.map((days) => ({
          value: String(days),
          label: days === 0 ? t('share.withVideo') : t('share.days', { count: days }),
        }))}
        {...value('days')}
      />
      <PasswordInput
        label={t('share.password')}
        description={t('share.passwordHint')}
        maxLength={SHARE_PASSWORD_MAX}
        autoComplete="new-password"
        {...text('password')}
      />
      <TextInput
        label={t('share.pageTitle')}
        description={t('share.pageTitleHint')}
        maxLength={200}
        {...text('title')}
      />
    </FormDialog>
  );
}
