import { Button, Code, Switch, Text } from '@mantine/core';
import { IconDeviceTvOld, IconPlus } from '@tabler/icons-react';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { adminListDeviceClients, adminUpdateDeviceClient } from '../../../../contract/device-clients.ts';
import { listQuery, type RowOf, useRefresh } from '../../../data/admin.ts';
import { call } from '../../../data/client.ts';
import { Confirm } from '../../../parts/confirm.tsx';
import { Empty } from '../../../parts/empty.tsx';
import { toMessage } from '../../../parts/failure.tsx';
import { useNotices } from '../../../parts/notices.tsx';
import { Page } from '../../../parts/page.tsx';
import { useFilters } from '../frame/filters.ts';
import { RecordList } from '../frame/record-list.tsx';
import { ClientDialog } from './client-dialog.tsx';
import { ClientSecrets } from './client-secrets.tsx';
import { RemoveClient } from './remove-client.tsx';

export type DeviceClient = RowOf<typeof adminListDeviceClients>;

/** Programs that may ask people to sign a device in. */
export function DeviceClientsPage() {
  const { t } = useTranslation(['admin', 'shell']);
  const filters = useFilters([]);
  const [making, setMaking] = useState(false);
  const clients = useQuery(listQuery(adminListDeviceClients, filters.query));
  const make = (
    <Button leftSection={<IconPlus size={16} />} onClick={() => setMaking(true)}>
      {t('clients.make')}
    </Button>
  );
  return (
    <Page title={t('shell:pages.deviceClients')} lead={t('clients.lead')} size="xl" actions={make}>
      <RecordList
        label={t('shell:pages.deviceClients')}
        query={clients}
        filters={filters}
        keyOf={({ id }) => id}
        empty={
          <Empty icon={<IconDeviceTvOld size={28} />} title={t('clients.emptyTitle')} action={make}>
            {t('clients.emptyText')}
          </Empty>
        }
        columns={[
          {
            label: t('clients.name'),
            cell: ({ id, name }) => (
              <>
                <Text size="sm" fw={600} style={{ overflowWrap: 'anywhere' }}>
                  {name}
                </Text>
                <Code>{id}</Code>
              </>
            ),
          },
          { label: t('clients.devices'), align: 'right', cell: ({ devices }) => devices },
          { label: t('clients.secrets'), cell: (client) => <ClientSecrets client={client} /> },
          { label: t('clients.enabled'), cell: (client) => <KillSwitch client={client} /> },
          { label: t('shell:remove'), align: 'right', cell: (client) => <RemoveClient client={client} /> },
        ]}
      />
      {making ? <ClientDialog onClose={() => setMaking(false)} /> : null}
    </Page>
  );
}

/** Off: no new codes, polls or refreshes from that moment, which deserves a question; on needs none. */
function KillSwitch({ client }: { readonly client: DeviceClient }) {
  const { t } = useTranslation(['admin', 'shell']);
  const refresh = useRefresh();
  const notices = useNotices();
  const set = async (enabled: boolean): Promise<void> => {
    await call(adminUpdateDeviceClient, { params: { id: client.id }, body: { enabled } });
    await refresh();
  };
  const turnOn = useMutation({
    mutationFn: () => set(true),
    onError: (error) => notices.failed(toMessage(error, t('shell:unreachable'))),
  });
  return (
    <Confirm
      title={t('clients.offTitle', { name: client.name })}
      action={t('clients.offAction', { name: client.name })}
      onConfirm={() => set(false)}
      trigger={(open) => (
        <Switch
          aria-label={t('clients.enabledOf', { name: client.name })}
          checked={client.enabled}
          onChange={(event) => (event.currentTarget.checked ? turnOn.mutate() : open())}
        />
      )}
    >
      {t('clients.offText', { count: client.devices })}
    </Confirm>
  );
}
