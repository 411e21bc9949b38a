import { Alert, Badge, Group, SimpleGrid, Stack, Table, Text, ThemeIcon } from '@mantine/core';
import { IconAlertTriangle, IconCheck, IconUrgent } from '@tabler/icons-react';
import type { UseQueryResult } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import type { getServiceStatus } from '../../../../contract/service.ts';
import { ErrorAlert } from '../../../components/error-alert.tsx';
import { Panel } from '../../../components/panel.tsx';
import { RelativeTime } from '../../../components/relative-time.tsx';
import { RouteButton, RouteLink } from '../../../components/route-link.tsx';
import type { ResponseData } from '../../../data/admin.ts';
import { useChannelNames } from '../../../data/names.ts';
import type operationStrings from '../../../strings/en/admin-service-status.ts';

type OperationState = ResponseData<typeof getServiceStatus>;
type Incident = OperationState['incidents'][number];
type IncidentId = keyof typeof operationStrings.incidents;

/** Incidents whose subjects are channels. */
const OF_CHANNELS: ReadonlySet<string> = new Set(['key_revoked', 'no_balance', 'billing_difference']);
/** Page with the remedy, by incident. */
const PAGES: Readonly<Partial<Record<IncidentId, string>>> = {
  vendor_down: '/admin/channels',
  vendor_slow: '/admin/channels',
  key_revoked: '/admin/channels',
  no_balance: '/admin/channels',
  ledger_mismatch: '/admin/ledger',
  billing_difference: '/admin/reconciliation',
  backlog_grows: '/admin/tasks',
};

/** Current incidents, each with its remedy. */
export function ServiceStatus({ state }: { readonly state: UseQueryResult<OperationState> }) {
  const { t } = useTranslation('admin-service-status');
  const open = state.data?.incidents.filter(({ is_open: isOpen }) => isOpen) ?? [];
  const alive = state.data?.instances.filter(({ is_alive: isAlive }) => isAlive).length ?? 0;
  return (
    <Panel
      title={t('title')}
      actions={
        state.data === undefined ? null : (
          <Text size="xs" c="dimmed">
            {t('processes', { count: alive })}
          </Text>
        )
      }
    >
      <ErrorAlert error={state.error} retry={() => void state.refetch()} />
      <Stack gap="sm" role="status">
        {state.data !== undefined && open.length === 0 ? (
          <Alert color="teal" icon={<IconCheck />}>
            {t('allWell')}
          </Alert>
        ) : null}
        {open.map((incident) => (
          <OpenIncident key={incident.id} incident={incident} />
        ))}
      </Stack>
      <SimpleGrid component="ul" cols={{ base: 1, xs: 2, md: 3, lg: 4 }} spacing={6} mt="md" p={0} mb={0}>
        {state.data?.incidents.map(({ id, is_open: isOpen }) => (
          <Group key={id} component="li" gap={6} wrap="nowrap">
            <ThemeIcon size={18} radius="xl" variant={isOpen ? 'filled' : 'light'} color={isOpen ? 'red.8' : 'teal'}>
              {isOpen ? <IconAlertTriangle size={12} /> : <IconCheck size={12} />}
            </ThemeIcon>
            <Text size="xs" c={isOpen ? undefined : 'dimmed'}>
              {t(`incidents.${id as IncidentId}.${isOpen ? 'name' : 'check'}`)}
            </Text>
          </Group>
        ))}
      </SimpleGrid>
    </Panel>
  );
}

function OpenIncident({ incident }: { readonly incident: Incident }) {
  const { t } = useTranslation('admin-service-status');
  const channels = useChannelNames();
  const id = incident.id as IncidentId;
  const page = PAGES[id];
  const subjects = incident.subjects.map((subject) =>
    OF_CHANNELS.has(id) ? (channels(Number(subject)) ?? `#${subject}`) : subject,
  );
  const isCritical = incident.severity === 'critical';
  return (
    <Alert color={isCritical ? 'red' : 'yellow'} icon={isCritical ? <IconUrgent /> : <IconAlertTriangle />}>
      <Group justify="space-between" align="flex-start" gap="sm">
        <div style={{ flex: 1, minWidth: 220 }}>
          <Group gap="xs">
            <Text size="sm" fw={650}>
              {t(`incidents.${id}.name`)}
            </Text>
            {subjects.map((subject) => (
              <Badge key={subject} color="gray" className="verbatim">
                {subject}
              </Badge>
            ))}
          </Group>
          <Text size="sm">{t(`incidents.${id}.advice`)}</Text>
          <Text size="xs">
            {t('since')} <RelativeTime at={incident.since} />
          </Text>
        </div>
        {page === undefined ? null : (
          <RouteButton to={page} size="compact-sm" variant="default">
            {t('act')}
          </RouteButton>
        )}
      </Group>
    </Alert>
  );
}

type BlockReason = keyof typeof operationStrings.reasons;

/** Users whose calls were refused in the last day, with the reasons. */
export function UsersWithRefusedCalls({ blocked }: { readonly blocked: OperationState['blocked'] | undefined }) {
  const { t } = useTranslation('admin-service-status');
  return (
    <Panel title={t('blocked')}>
      {blocked?.length === 0 ? (
        <Text size="sm" c="dimmed">
          {t('nobodyBlocked')}
        </Text>
      ) : null}
      {blocked === undefined || blocked.length === 0 ? null : (
        <Table verticalSpacing={6} horizontalSpacing={4} aria-label={t('blocked')}>
          <Table.Tbody>
            {blocked.map((row) => (
              <Table.Tr key={`${row.user_id} ${row.error_code}`}>
                <Table.Td>
                  <RouteLink to="/admin/users/$id" params={{ id: String(row.user_id) }} size="sm">
                    {row.username}
                  </RouteLink>
                  <Text size="xs" c="dimmed">
                    {t(`reasons.${row.error_code as BlockReason}`, { defaultValue: row.error_code })}
                  </Text>
                </Table.Td>
                <Table.Td ta="right">
                  <RouteLink to="/admin/requests" search={{ user_id: row.user_id, status: 'failed' }} size="sm">
                    {t('refused', { count: row.requests })}
                  </RouteLink>
                  <Text size="xs" c="dimmed">
                    <RelativeTime at={row.last_time} />
                  </Text>
                </Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      )}
    </Panel>
  );
}
