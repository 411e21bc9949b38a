import { Alert, Badge, Group, SimpleGrid, Stack, Text, ThemeIcon } from '@mantine/core';
import { IconAlertTriangle, IconCheck, IconUrgent } from '@tabler/icons-react';
import type { UseQueryResult } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import type { getServiceStatus } from '../../../../contract/service.ts';
import { ErrorAlert } from '../../../components/error-alert.tsx';
import { Panel } from '../../../components/panel.tsx';
import { RelativeTime } from '../../../components/relative-time.tsx';
import { RouteButton } from '../../../components/route-link.tsx';
import type { ResponseData } from '../../../data/query-any-admin-endpoint.ts';
import { useChannelNames } from '../../../data/user-and-channel-names.ts';
import type operationStrings from '../../../strings/en/admin-service-status.ts';

export type OperationState = ResponseData<typeof getServiceStatus>;
type Incident = OperationState['incidents'][number];
type IncidentId = keyof typeof operationStrings.incidents;

/** Incidents whose subjects are channels. */
const OF_CHANNELS: ReadonlySet<string> = new Set(['key_revoked', 'no_balance', 'billing_difference']);
/** Where to act. */
const PAGES: Readonly<Partial<Record<IncidentId, string>>> = {
  vendor_down: '/admin/channels',
  vendor_slow: '/admin/channels',
  key_revoked: '/admin/channels',
  no_balance: '/admin/channels',
  ledger_mismatch: '/admin/ledger',
  billing_difference: '/admin/reconciliation',
  backlog_grows: '/admin/tasks',
};

/** Whether everything works, and what to do where it does not. */
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
              {t(`incidents.${id as IncidentId}.check`)}
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
              <Badge key={subject} color="gray">
                {subject}
              </Badge>
            ))}
          </Group>
          <Text size="sm">{t(`incidents.${id}.advice`)}</Text>
          <Text size="xs" c="dimmed">
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
