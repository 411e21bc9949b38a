import { useTranslation } from 'react-i18next';
import { adminDeleteDeviceClient } from '../../../../contract/device-clients.ts';
import { DeleteButton } from '../../../components/delete-button-and-panel.tsx';
import type { DeviceClient } from '../../../data/admin-types.ts';
import { callApi } from '../../../data/api-client.ts';

export function DeleteClient({ client: { id, name, devices } }: { readonly client: DeviceClient }) {
  const { t } = useTranslation(['admin', 'app']);
  return (
    <DeleteButton
      label={t('app:remove')}
      title={t('deviceClients.removeTitle', { name })}
      text={t('deviceClients.removeText', { count: devices })}
      confirmLabel={t('deviceClients.removeAction', { name })}
      remove={() => callApi(adminDeleteDeviceClient, { params: { id } })}
      message={t('deviceClients.removed', { name })}
    />
  );
}
