import { Button, Group, Select, Stack, Text } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { endTokenRotation, rotateToken } from '../../../contract/api-tokens.ts';
import { CopyField } from '../../components/copy-button.tsx';
import { FormDialog, OneTimeSecretDialog } from '../../components/dialog.tsx';
import { RelativeTime } from '../../components/relative-time.tsx';
import { useFormValues } from '../../components/save-form.tsx';
import { useToasts } from '../../components/toasts.tsx';
import { callApi } from '../../data/api-client.ts';
import { formatDeadline } from '../../data/format-values.ts';
import type { ApiKey } from '../../data/keys.ts';

/** Choices of how long the old secret still works, in hours. */
const OVERLAP_HOURS = ['0', '1', '24', '72', '168'] as const;

interface RotateKeyDialogProps {
  readonly apiKey: Pick<ApiKey, 'id' | 'name'>;
  readonly onClose: () => void;
}

/** Gives a key a new secret and shows it once. */
export function RotateKeyDialog({ apiKey, onClose }: RotateKeyDialogProps) {
  const { t } = useTranslation('account');
  const queries = useQueryClient();
  const { draft, value } = useFormValues({ hours: '24' as string | null });
  const rotate = useMutation({
    mutationFn: async () => {
      const body = { overlap_seconds: Number(draft.hours) * 3_600 };
      return (await callApi(rotateToken, { params: { id: String(apiKey.id) }, body })).data;
    },
    onSuccess: () => queries.invalidateQueries({ queryKey: ['tokens'] }),
  });
  const title = t('apiKeys.rotate.title', { name: apiKey.name });
  if (rotate.data !== undefined) {
    const end = rotate.data.old_key_expires_at;
    return (
      <OneTimeSecretDialog title={title} onClose={onClose}>
        <Stack>
          <Text size="sm">
            {end === null ? t('apiKeys.rotate.doneNow') : t('apiKeys.rotate.done', { at: formatDeadline(end) })}
          </Text>
          <CopyField text={rotate.data.key} focused />
          <Group justify="flex-end">
            <Button onClick={onClose}>{t('apiKeys.done')}</Button>
          </Group>
        </Stack>
      </OneTimeSecretDialog>
    );
  }
  return (
    <FormDialog title={title} submitLabel={t('apiKeys.rotate.action')} save={rotate} onClose={onClose}>
      <Text size="sm">{t('apiKeys.rotate.text')}</Text>
      <Select
        label={t('apiKeys.rotate.overlap')}
        allowDeselect={false}
        data={OVERLAP_HOURS.map((hours) => ({ value: hours, label: t(`apiKeys.rotate.hours.h${hours}`) }))}
        {...value('hours')}
      />
    </FormDialog>
  );
}

/** Old secrets of a key that still work, with their last use and the action that ends them. */
export function OldSecrets({ apiKey }: { readonly apiKey: Pick<ApiKey, 'id' | 'old_keys'> }) {
  const { t } = useTranslation('account');
  const queries = useQueryClient();
  const toasts = useToasts();
  const end = useMutation({
    mutationFn: () => callApi(endTokenRotation, { params: { id: String(apiKey.id) } }),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['tokens'] }),
    onError: (error) => toasts.error(error.message),
  });
  if (apiKey.old_keys.length === 0) return null;
  return (
    <Stack gap={4} align="flex-start">
      {apiKey.old_keys.map((old) => (
        <Text key={old.expires_at} size="xs" c="dimmed">
          {t('apiKeys.rotate.old', { hint: old.key_hint, at: formatDeadline(old.expires_at) })}{' '}
          {t('apiKeys.rotate.lastUse')} <RelativeTime at={old.last_used_time} never={t('apiKeys.notUsed')} />
        </Text>
      ))}
      <Button
        size="compact-xs"
        variant="light"
        color="red"
        loading={end.isPending}
        aria-label={t('apiKeys.rotate.endHint')}
        onClick={() => end.mutate()}
      >
        {t('apiKeys.rotate.end')}
      </Button>
    </Stack>
  );
}
