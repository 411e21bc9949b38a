import {
  ActionIcon,
  Badge,
  Button,
  Card,
  Group,
  SimpleGrid,
  Skeleton,
  Stack,
  Text,
  TextInput,
  Title,
  Tooltip,
} from '@mantine/core';
import { IconDeviceLaptop, IconPencil } from '@tabler/icons-react';
import { keepPreviousData, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { endDevice, listDevices, NAME_LENGTH_MAX, renameDevice } from '../../../contract/device-auth.ts';
import { useFormatCredits } from '../../components/credit-amount.tsx';
import { ConfirmDialog, FormDialog } from '../../components/dialog.tsx';
import { QueryError } from '../../components/error-alert.tsx';
import { EmptyState, Page } from '../../components/page.tsx';
import { Pager } from '../../components/pager.tsx';
import { RelativeTime } from '../../components/relative-time.tsx';
import { useToasts } from '../../components/toasts.tsx';
import { type Device, devicesQuery, endEach, SESSIONS_PAGE_SIZE } from '../../data/account-queries.ts';
import { callApi } from '../../data/api-client.ts';
import { formatColon, formatDate, formatLabelled } from '../../data/format-values.ts';

/** Devices signed in to the account by code. */
export function DevicesPage() {
  const { t } = useTranslation('account');
  const [page, setPage] = useState(1);
  const devices = useQuery({ ...devicesQuery(page), placeholderData: keepPreviousData });
  const confirm = (
    <Button data-create component="a" href="/authorize" variant="default">
      {t('devices.open')}
    </Button>
  );
  return (
    <Page
      title={t('devices.title')}
      subtitle={t('devices.lead')}
      actions={
        devices.data?.total === 0 ? undefined : (
          <>
            {(devices.data?.total ?? 0) > 1 ? <EndAllDevices /> : null}
            {confirm}
          </>
        )
      }
    >
      <QueryError query={devices} />
      {devices.data === undefined && devices.error === null ? <Skeleton h={180} radius="lg" /> : null}
      {devices.data?.total === 0 ? (
        <EmptyState icon={<IconDeviceLaptop size={28} />} title={t('devices.emptyTitle')} action={confirm}>
          {t('devices.emptyText')}
        </EmptyState>
      ) : null}
      <SimpleGrid cols={{ base: 1, md: 2 }}>
        {(devices.data?.data ?? []).map((device) => (
          <DeviceCard key={device.id} device={device} />
        ))}
      </SimpleGrid>
      <Pager page={page} total={devices.data?.total ?? 0} pageSize={SESSIONS_PAGE_SIZE} onChange={setPage} />
    </Page>
  );
}

/** Signs out every device, for example after a theft. */
function EndAllDevices() {
  const { t } = useTranslation('account');
  const queries = useQueryClient();
  const toasts = useToasts();
  const end = async (): Promise<void> => {
    try {
      await endEach(
        async () => (await callApi(listDevices, { query: {} })).data,
        ({ id }) => callApi(endDevice, { params: { id: String(id) } }),
      );
    } finally {
      await queries.invalidateQueries({ queryKey: ['devices'] });
    }
    toasts.success(t('devices.allEnded'));
  };
  return (
    <ConfirmDialog
      title={t('devices.endAllTitle')}
      confirmLabel={t('devices.endAll')}
      onConfirm={end}
      trigger={(open) => (
        <Button variant="light" color="red" onClick={open}>
          {t('devices.endAll')}
        </Button>
      )}
    >
      {t('devices.endAllText')}
    </ConfirmDialog>
  );
}

function DeviceCard({ device }: { readonly device: Device }) {
  const { t } = useTranslation(['account', 'app']);
  const queries = useQueryClient();
  const toasts = useToasts();
  const formatAmount = useFormatCredits();
  const name = device.name === '' ? device.client : device.name;
  const end = async (): Promise<void> => {
    await callApi(endDevice, { params: { id: String(device.id) } });
    await queries.invalidateQueries({ queryKey: ['devices'] });
    toasts.success(t('devices.ended'));
  };
  return (
    <Card p="lg">
      <Group justify="space-between" wrap="nowrap" align="flex-start">
        <Stack gap={2} style={{ minWidth: 0 }}>
          <Group gap="xs">
            <Title order={2} style={{ overflowWrap: 'anywhere' }}>
              {name}
            </Title>
            <RenameDevice device={device} />
            {device.current ? <Badge>{t('devices.current')}</Badge> : null}
          </Group>
          <Text size="sm" c="dimmed">
            {device.client}
          </Text>
        </Stack>
        <ConfirmDialog
          title={t('devices.endTitle', { name })}
          confirmLabel={t('devices.end')}
          onConfirm={end}
          trigger={(open) => (
            <Button size="compact-sm" variant="light" color="red" onClick={open}>
              {t('devices.end')}
            </Button>
          )}
        >
          {t('devices.endText')}
        </ConfirmDialog>
      </Group>
      <Stack gap={4} mt="md" fz="sm">
        <Text size="sm">
          {t('devices.lastUsed') + formatColon()}
          <RelativeTime at={device.last_used_time} />
          {device.last_used_address === '' ? '' : ` · ${t('devices.from', { address: device.last_used_address })}`}
        </Text>
        <Text size="sm" c="dimmed">
          {t('devices.signedIn') + formatColon()}
          <RelativeTime at={device.created_time} />
          {' · '}
          {t('devices.from', { address: device.address })}
        </Text>
        {device.organization === '' ? null : (
          <Text size="sm">{formatLabelled(t('app:organization'), device.organization)}</Text>
        )}
        <Text size="sm">
          {formatLabelled(t('devices.scopes'), device.scopes.map((scope) => t(`devices.scope.${scope}`)).join(' · '))}
        </Text>
        {device.spend_limit === null ? null : (
          <Text size="sm">
            {t(`devices.spendLimit.${device.spend_limit.period}`, {
              amount: formatAmount(device.spend_limit.amount),
              spent: formatAmount(device.spend_limit.spent),
            })}
          </Text>
        )}
        <Text size="sm" c="dimmed">
          {device.expires_at === null
            ? formatLabelled(t('devices.expires'), formatDate(device.expires_time))
            : formatLabelled(t('devices.ends'), formatDate(device.expires_at))}
        </Text>
        <Text size="xs" c="dimmed" truncate title={device.user_agent}>
          {device.user_agent}
        </Text>
      </Stack>
    </Card>
  );
}

/** Dialog to rename a device. */
function RenameDevice({ device }: { readonly device: Device }) {
  const { t } = useTranslation('account');
  const [open, setOpen] = useState(false);
  return (
    <>
      <Tooltip label={t('devices.rename')}>
        <ActionIcon size="sm" aria-label={t('devices.rename')} onClick={() => setOpen(true)}>
          <IconPencil size={15} />
        </ActionIcon>
      </Tooltip>
      {open ? <RenameDialog device={device} onClose={() => setOpen(false)} /> : null}
    </>
  );
}

function RenameDialog({ device, onClose }: { readonly device: Device; readonly onClose: () => void }) {
  const { t } = useTranslation(['account', 'app']);
  const queries = useQueryClient();
  const toasts = useToasts();
  const [name, setName] = useState(device.name);
  const save = useMutation({
    mutationFn: () => callApi(renameDevice, { params: { id: String(device.id) }, body: { name } }),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: ['devices'] });
      toasts.success(t('app:saved'));
      onClose();
    },
  });
  return (
    <FormDialog title={t('devices.rename')} submitLabel={t('app:save')} save={save} onClose={onClose}>
      <TextInput
        label={t('devices.name')}
        description={t('devices.nameHint', { client: device.client })}
        maxLength={NAME_LENGTH_MAX}
        data-autofocus
        value={name}
        onChange={(event) => setName(event.currentTarget.value)}
      />
    </FormDialog>
  );
}
