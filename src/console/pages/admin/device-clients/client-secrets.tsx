import { Button, Code, Group, Modal, Stack, Text } from '@mantine/core';
import { IconKey } from '@tabler/icons-react';
import { useMutation } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { adminAddDeviceClientSecret, adminDeleteDeviceClientSecret } from '../../../../contract/device-clients.ts';
import { useRefresh } from '../../../data/admin.ts';
import { call } from '../../../data/client.ts';
import { Confirm } from '../../../parts/confirm.tsx';
import { toMessage } from '../../../parts/failure.tsx';
import { Moment } from '../../../parts/moment.tsx';
import { useNotices } from '../../../parts/notices.tsx';
import type { DeviceClient } from './device-clients-page.tsx';
import { ShownOnce } from './shown-once.tsx';

const MOST = 2;

/** One secret, or two while programs change over from the old one. */
export function ClientSecrets({ client }: { readonly client: DeviceClient }) {
  const { t } = useTranslation(['admin', 'shell']);
  const refresh = useRefresh();
  const notices = useNotices();
  const add = useMutation({
    mutationFn: async () => (await call(adminAddDeviceClientSecret, { params: { id: client.id } })).data,
    onSuccess: refresh,
    onError: (error) => notices.failed(toMessage(error, t('shell:unreachable'))),
  });
  const retire = async (secret: number): Promise<void> => {
    await call(adminDeleteDeviceClientSecret, { params: { id: client.id, secret: String(secret) } });
    await refresh();
  };
  return (
    <Stack gap={4} align="flex-start">
      {client.secrets.map(({ id, hint, created_time: at }) => (
        <Group key={id} gap={6}>
          <Code>{hint}…</Code>
          <Moment at={at} size="xs" c="dimmed" />
          {client.secrets.length < 2 ? null : (
            <Confirm
              title={t('clients.retireTitle', { hint, name: client.name })}
              action={t('clients.retireAction', { hint })}
              onConfirm={() => retire(id)}
              trigger={(open) => (
                <Button size="compact-xs" variant="subtle" color="red" onClick={open}>
                  {t('clients.retire')}
                </Button>
              )}
            >
              {t('clients.retireText')}
            </Confirm>
          )}
        </Group>
      ))}
      {client.secrets.length < MOST ? (
        <Button
          size="compact-xs"
          variant="default"
          leftSection={<IconKey size={13} />}
          loading={add.isPending}
          onClick={() => add.mutate()}
          title={t('clients.rotateHint')}
        >
          {t('clients.rotate')}
        </Button>
      ) : (
        <Text size="xs" c="dimmed">
          {t('clients.rotating')}
        </Text>
      )}
      {add.data === undefined ? null : (
        <Modal
          opened
          onClose={add.reset}
          title={t('clients.secretOf', { name: client.name })}
          closeOnClickOutside={false}
          closeButtonProps={{ 'aria-label': t('shell:close') }}
        >
          <ShownOnce clientId={client.id} secret={add.data.client_secret} onClose={add.reset} />
        </Modal>
      )}
    </Stack>
  );
}
