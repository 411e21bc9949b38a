import { Button, Group, Stack, Text } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { adminCreateResetLink } from '../../../../contract/accounts.ts';
import { CopyField } from '../../../components/copy-button-and-field.tsx';
import { Dialog } from '../../../components/dialog.tsx';
import { ErrorAlert } from '../../../components/error-alert.tsx';
import { OneTimeSecretDialog } from '../../../components/one-time-secret-dialog.tsx';
import type { User } from '../../../data/admin-types.ts';
import { callApi } from '../../../data/api-client.ts';
import { formatDateTime } from '../../../data/format-times-and-durations.ts';
import { useInvalidateQueries } from '../../../data/query-any-admin-endpoint.ts';

/** A link for a new password, which the administrator passes on: for users whose mails do not arrive, or where none are sent. */
export function ResetLinkDialog({ user, onClose }: { readonly user: User; readonly onClose: () => void }) {
  const { t } = useTranslation(['admin', 'app']);
  const invalidate = useInvalidateQueries();
  const create = useMutation({
    mutationFn: async () => (await callApi(adminCreateResetLink, { params: { id: String(user.id) } })).data,
    onSettled: invalidate,
  });
  const title = t('users.resetLinkTitle', { name: user.username });
  if (create.data !== undefined) {
    return (
      <OneTimeSecretDialog title={title} onClose={onClose}>
        <Stack>
          <Text size="sm">
            {t('users.resetLinkMade', { name: user.username, time: formatDateTime(create.data.expires_at) })}
          </Text>
          <CopyField text={create.data.url} />
          <Group justify="flex-end">
            <Button onClick={onClose}>{t('app:close')}</Button>
          </Group>
        </Stack>
      </OneTimeSecretDialog>
    );
  }
  return (
    <Dialog onClose={onClose} title={title}>
      <Stack>
        <Text size="sm">{t('users.resetLinkText', { name: user.username })}</Text>
        <ErrorAlert error={create.error} />
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose} data-autofocus>
            {t('app:cancel')}
          </Button>
          <Button loading={create.isPending} onClick={() => create.mutate()}>
            {t('users.resetLinkAction')}
          </Button>
        </Group>
      </Stack>
    </Dialog>
  );
}
