import { Button, PasswordInput, Select, Text, TextInput } from '@mantine/core';
import { IconShare } from '@tabler/icons-react';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { defined } from '../../../contract/objects.ts';
import { DAY_SECONDS } from '../../../contract/time-units.ts';
import { SHARE_PASSWORD_MAX } from '../../../contract/video-shares.ts';
import { CopyField } from '../../components/copy-button-and-field.tsx';
import { FormDialog } from '../../components/form-dialog.tsx';
import { useFormValues } from '../../components/use-form-values.ts';
import { createShare } from '../../data/share-queries.ts';

/** How long a link works, days; 0: as long as the video. */
const PERIODS = [1, 7, 30, 0] as const;
/** Makes links by which others watch a video. */
export function ShareButton({ taskId }: { readonly taskId: string }) {
  const { t } = useTranslation('studio');
  const [isOpen, setIsOpen] = useState(false);
  return (
    <>
      <Button variant="default" leftSection={<IconShare size={16} />} onClick={() => setIsOpen(true)}>
        {t('share.action')}
      </Button>
      {isOpen ? <ShareDialog taskId={taskId} onClose={() => setIsOpen(false)} /> : null}
    </>
  );
}

function ShareDialog({ taskId, onClose }: { readonly taskId: string; readonly onClose: () => void }) {
  const { t } = useTranslation('studio');
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
      {save.data === undefined ? null : (
        <div role="status">
          <Text size="sm" fw={600}>
            {t('share.made')}
          </Text>
          <CopyField text={save.data} label={t('share.copy')} />
        </div>
      )}
    </FormDialog>
  );
}
