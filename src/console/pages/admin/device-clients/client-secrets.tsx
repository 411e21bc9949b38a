import { Button, Code, Group, Stack, Text } from '@mantine/core';
import { IconKey } from '@tabler/icons-react';
import { useMutation } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { adminAddDeviceClientSecret, adminDeleteDeviceClientSecret } from '../../../../contract/device-clients.ts';
import { ConfirmDialog } from '../../../components/confirm-dialog.tsx';
import { toErrorMessage } from '../../../components/error-alert.tsx';
import { OneTimeSecretDialog } from '../../../components/one-time-secret-dialog.tsx';
import { RelativeTime } from '../../../components/relative-time.tsx';
import { useToasts } from '../../../components/toasts.tsx';
import type { DeviceClient } from '../../../data/admin-types.ts';
import { callApi } from '../../../data/api-client.ts';
import { useInvalidateQueries } from '../../../data/query-any-admin-endpoint.ts';
import { OneTimeClientSecret } from './one-time-client-secret.tsx';

const MAX_SECRETS = 2;

/** One secret, or two while programs change over from the old one. */
export function ClientSecrets({ client }: { readonly client: DeviceClient }) {
  const { t } = useTranslation(['admin', 'app']);
  const invalidate = useInvalidateQueries();
  const toasts = useToasts();
  const add = useMutation({
    mutationFn: async () => (await callApi(adminAddDeviceClientSecret, { params: { id: client.id } })).data,
    onSuccess: invalidate,
    onError: (error) => toasts.error(toErrorMessage(error, t('app:unreachable'))),
  });
  const retire = async (secret: number): Promise<void> => {
    await callApi(adminDeleteDeviceClientSecret, { params: { id: client.id, secret: String(secret) } });
    await invalidate();
  };
  return (
    <Stack gap={4} align="flex-start">
      {client.secrets.map(({ id, hint, created_time: at }) => (
        <Group key={id} gap={6}>
          <Code>{hint}…</Code>
          <RelativeTime at={at} size="xs" c="dimmed" />
          {client.secrets.length < 2 ? null : (
            <ConfirmDialog
              title={t('deviceClients.retireTitle', { hint, name: client.name })}
              confirmLabel={t('deviceClients.retireAction', { hint })}
              onConfirm={() => retire(id)}
              trigger={(open) => (
                <Button size="compact-xs" variant="subtle" color="red" onClick={open}>
                  {t('deviceClients.retire')}
                </Button>
              )}
            >
              {t('deviceClients.retireText')}
            </ConfirmDialog>
          )}
        </Group>
      ))}
      {client.secrets.length < MAX_SECRETS ? (
        <Button
          size="compact-xs"
          variant="default"
          leftSection={<IconKey size={13} />}
          loading={add.isPending}
          onClick={() => add.mutate()}
          title={t('deviceClients.rotateHint')}
        >
          {t('deviceClients.rotate')}
        </Button>
      ) : (
        <Text size="xs" c="dimmed">
          {t('deviceClients.rotating')}
        </Text>
      )}
      {add.data === undefined ? null : (
        <OneTimeSecretDialog title={t('deviceClients.secretOf', { name: client.name })} onClose={add.reset}>
          <OneTimeClientSecret clientId={client.id} secret={add.data.client_secret} onClose={add.reset} />
        </OneTimeSecretDialog>
      )}
    </Stack>
  );
}
