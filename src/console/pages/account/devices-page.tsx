import { Badge, Button, Card, Group, SimpleGrid, Skeleton, Stack, Text, Title } from '@mantine/core';
import { IconDeviceLaptop } from '@tabler/icons-react';
import { keepPreviousData, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { endDevice } from '../../../contract/device-auth.ts';
import { type DeviceRow, devicesQuery, PAGE_SIZE } from '../../data/account.ts';
import { call } from '../../data/client.ts';
import { toDay } from '../../data/time.ts';
import { Confirm } from '../../parts/confirm.tsx';
import { Empty } from '../../parts/empty.tsx';
import { Failure } from '../../parts/failure.tsx';
import { Moment } from '../../parts/moment.tsx';
import { useNotices } from '../../parts/notices.tsx';
import { Page } from '../../parts/page.tsx';
import { Pager } from '../../parts/pager.tsx';
import { RenameDevice } from './rename-device.tsx';

/** Where the account is signed in by a code. */
export function DevicesPage() {
  const { t } = useTranslation('account');
  const [page, setPage] = useState(1);
  const devices = useQuery({ ...devicesQuery(page), placeholderData: keepPreviousData });
  const confirm = (
    <Button component="a" href="/authorize" variant="default">
      {t('devices.open')}
    </Button>
  );
  return (
    <Page title={t('devices.title')} lead={t('devices.lead')} actions={confirm}>
      <Failure error={devices.error} retry={() => void devices.refetch()} />
      {devices.data === undefined && devices.error === null ? <Skeleton h={180} radius="lg" /> : null}
      {devices.data?.total === 0 ? (
        <Empty icon={<IconDeviceLaptop size={28} />} title={t('devices.emptyTitle')} action={confirm}>
          {t('devices.emptyText')}
        </Empty>
      ) : null}
      <SimpleGrid cols={{ base: 1, md: 2 }}>
        {(devices.data?.data ?? []).map((device) => (
          <Device key={device.id} device={device} />
        ))}
      </SimpleGrid>
      <Pager page={page} total={devices.data?.total ?? 0} pageSize={PAGE_SIZE} onChange={setPage} />
    </Page>
  );
}

function Device({ device }: { readonly device: DeviceRow }) {
  const { t } = useTranslation('account');
  const queries = useQueryClient();
  const notices = useNotices();
  const name = device.name === '' ? device.client : device.name;
  const end = async (): Promise<void> => {
    await call(endDevice, { params: { id: String(device.id) } });
    await queries.invalidateQueries({ queryKey: ['devices'] });
    notices.done(t('devices.ended'));
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
        <Confirm
          title={t('devices.endTitle', { name })}
          action={t('devices.end')}
          onConfirm={end}
          trigger={(open) => (
            <Button size="compact-sm" variant="light" color="red" onClick={open}>
              {t('devices.end')}
            </Button>
          )}
        >
          {t('devices.endText')}
        </Confirm>
      </Group>
      <Stack gap={4} mt="md" fz="sm">
        <Text size="sm">
          {t('devices.lastUsed')}: <Moment at={device.last_used_time} />{' '}
          {device.last_used_address === '' ? '' : t('devices.from', { address: device.last_used_address })}
        </Text>
        <Text size="sm" c="dimmed">
          {t('devices.signedIn')}: <Moment at={device.created_time} />, {t('devices.from', { address: device.address })}
        </Text>
        <Text size="sm" c="dimmed">
          {t('devices.expires')}: {toDay(device.expires_time)}
        </Text>
        <Text size="xs" c="dimmed" truncate title={device.user_agent}>
          {device.user_agent}
        </Text>
      </Stack>
    </Card>
  );
}
