import { Button, Code, Switch, Text } from '@mantine/core';
import { IconDeviceTvOld, IconPlus } from '@tabler/icons-react';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { adminListDeviceClients, adminUpdateDeviceClient, CLIENT_SORTS } from '../../../../contract/device-clients.ts';
import { ConfirmDialog } from '../../../components/confirm-dialog.tsx';
import { EmptyState } from '../../../components/empty-state.tsx';
import { toErrorMessage } from '../../../components/error-alert.tsx';
import { PagedTable } from '../../../components/list/paged-table.tsx';
import { useListFilters } from '../../../components/list/use-list-filters.ts';
import { Page } from '../../../components/page.tsx';
import { RelativeTime } from '../../../components/relative-time.tsx';
import { useToasts } from '../../../components/toasts.tsx';
import type { DeviceClient } from '../../../data/admin-types.ts';
import { callApi } from '../../../data/api-client.ts';
import { listQuery, useInvalidateQueries } from '../../../data/query-any-admin-endpoint.ts';
import { ClientSecrets } from './client-secrets.tsx';
import { DeleteClient } from './delete-client.tsx';
import { NewClientDialog } from './new-client-dialog.tsx';

/** OAuth clients that may ask users to sign in a device. */
export function DeviceClientsPage() {
  const { t } = useTranslation(['admin', 'app']);
  const filters = useListFilters([], CLIENT_SORTS);
  const [making, setMaking] = useState(false);
  const clients = useQuery(listQuery(adminListDeviceClients, filters.query));
  const make = (
    <Button leftSection={<IconPlus size={16} />} onClick={() => setMaking(true)}>
      {t('deviceClients.make')}
    </Button>
  );
  return (
    <Page title={t('app:pages.deviceClients')} subtitle={t('deviceClients.lead')} size="xl" actions={make}>
      <PagedTable
        label={t('app:pages.deviceClients')}
        query={clients}
        filters={filters}
        rowKey={({ id }) => id}
        emptyState={
          <EmptyState icon={<IconDeviceTvOld size={28} />} title={t('deviceClients.emptyTitle')} action={make}>
            {t('deviceClients.emptyText')}
          </EmptyState>
        }
        columns={[
          {
            label: t('deviceClients.name'),
            sortKey: 'name',
            cell: ({ id, name }) => (
              <>
                <Text size="sm" fw={600} style={{ overflowWrap: 'anywhere' }}>
                  {name}
                </Text>
                <Code>{id}</Code>
              </>
            ),
          },
          { label: t('deviceClients.devices'), sortKey: 'devices', align: 'right', cell: ({ devices }) => devices },
          {
            label: t('deviceClients.created'),
            sortKey: 'created',
            cell: ({ created_time: at }) => <RelativeTime at={at} size="sm" />,
            hideOnPhone: true,
          },
          { label: t('deviceClients.secrets'), cell: (client) => <ClientSecrets client={client} /> },
          { label: t('deviceClients.enabled'), cell: (client) => <EnabledSwitch client={client} /> },
          { label: t('app:remove'), align: 'right', cell: (client) => <DeleteClient client={client} /> },
        ]}
      />
      {making ? <NewClientDialog onClose={() => setMaking(false)} /> : null}
    </Page>
  );
}

/** Off: no new codes, polls or refreshes from that moment, which deserves a question; on needs none. */
function EnabledSwitch({ client }: { readonly client: DeviceClient }) {
  const { t } = useTranslation(['admin', 'app']);
  const invalidate = useInvalidateQueries();
  const toasts = useToasts();
  const set = async (enabled: boolean): Promise<void> => {
    await callApi(adminUpdateDeviceClient, { params: { id: client.id }, body: { enabled } });
    await invalidate();
  };
  const turnOn = useMutation({
    mutationFn: () => set(true),
    onError: (error) => toasts.error(toErrorMessage(error, t('app:unreachable'))),
  });
  return (
    <ConfirmDialog
      title={t('deviceClients.offTitle', { name: client.name })}
      confirmLabel={t('deviceClients.offAction', { name: client.name })}
      onConfirm={() => set(false)}
      trigger={(open) => (
        <Switch
          aria-label={t('deviceClients.enabledOf', { name: client.name })}
          checked={client.enabled}
          onChange={(event) => (event.currentTarget.checked ? turnOn.mutate() : open())}
        />
      )}
    >
      {t('deviceClients.offText', { count: client.devices })}
    </ConfirmDialog>
  );
}
