import { Button } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { adminDeleteDeviceClient } from '../../../../contract/device-clients.ts';
import { useRefresh } from '../../../data/admin.ts';
import { call } from '../../../data/client.ts';
import { Confirm } from '../../../parts/confirm.tsx';
import { useNotices } from '../../../parts/notices.tsx';
import type { DeviceClient } from './device-clients-page.tsx';

export function RemoveClient({ client: { id, name, devices } }: { readonly client: DeviceClient }) {
  const { t } = useTranslation(['admin', 'shell']);
  const refresh = useRefresh();
  const notices = useNotices();
  const remove = async (): Promise<void> => {
    await call(adminDeleteDeviceClient, { params: { id } });
    await refresh();
    notices.done(t('clients.removed', { name }));
  };
  return (
    <Confirm
      title={t('clients.removeTitle', { name })}
      action={t('clients.removeAction', { name })}
      onConfirm={remove}
      trigger={(open) => (
        <Button size="compact-sm" variant="subtle" color="red" onClick={open}>
          {t('shell:remove')}
        </Button>
      )}
    >
      {t('clients.removeText', { count: devices })}
    </Confirm>
  );
}
