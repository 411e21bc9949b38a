import {
  Alert,
  Badge,
  Card,
  Group,
  List,
  Progress,
  SimpleGrid,
  Skeleton,
  Stack,
  Table,
  Text,
  ThemeIcon,
} from '@mantine/core';
import { IconAlertTriangle, IconCheck, IconCircleDashed, IconUrgent } from '@tabler/icons-react';
import { type UseQueryResult, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { canManage } from '../../../../contract/account-fields.ts';
import { listTasks, listWaitingVideos } from '../../../../contract/admin-videos.ts';
import { listChannels } from '../../../../contract/channels.ts';
import { getAllUsage } from '../../../../contract/ledger.ts';
import { getServiceStatus } from '../../../../contract/service.ts';
import { adminListTickets } from '../../../../contract/tickets.ts';
import { DAY_SECONDS } from '../../../../contract/time-units.ts';
import { CreditAmount, useFormatCredits } from '../../../components/credit-amount.tsx';
import { ErrorAlert, QueryError } from '../../../components/error-alert.tsx';
import { useListFilters } from '../../../components/list/use-list-filters.ts';
import { ModelName } from '../../../components/model-name.tsx';
import { Page } from '../../../components/page.tsx';
import { Panel } from '../../../components/panel.tsx';
import { RelativeTime } from '../../../components/relative-time.tsx';
import { RouteButton, RouteLink } from '../../../components/route-link.tsx';
import { SegmentedControl } from '../../../components/segmented-control.tsx';
import { UsagePanel } from '../../../components/usage-panel.tsx';
import {
  dataQuery,
  type ListItem,
  listQuery,
  type ResponseData,
  useChannelNames,
  useUserNames,
} from '../../../data/admin.ts';
import { formatCount, formatNames } from '../../../data/format-values.ts';
import { usableModelsQuery, useSelf } from '../../../data/self.ts';
import type adminStrings from '../../../strings/en/admin.ts';
import { needsAttention } from '../channels/channel-status.tsx';

const PERIODS = ['7', '30', '90'] as const;
const REFRESH_MS = 30_000;

/** State of the service: usage, backlog and failures. */
export function OverviewPage() {
  const { t } = useTranslation(['admin', 'app']);
  const filters = useListFilters(['days']);
  const days = Number(PERIODS.find((span) => span === filters.value.days) ?? 30);
  // Rounded to whole minutes: a time span that changes with every render would be refetched with every render.
  const nowMs = useMemo(() => Math.floor(Date.now() / 60_000) * 60_000, []);
  const from = String(nowMs / 1000 - (days - 1) * DAY_SECONDS);
  const usage = useQuery(dataQuery(getAllUsage, { query: { from, by: 'day,model' } }));
  const byModel = useQuery(dataQuery(getAllUsage, { query: { from, by: 'model' } }));
  const byUser = useQuery(dataQuery(getAllUsage, { query: { from, by: 'user' } }));
  const channels = useQuery({ ...listQuery(listChannels, { page_size: '50' }), refetchInterval: REFRESH_MS });
  const operations = useQuery({ ...dataQuery(getServiceStatus, {}), refetchInterval: REFRESH_MS });
  const error = usage.error ?? channels.error;
  // Waits for the notices above the figures, so that nothing shifts when they appear.
  const isReady = useIsGettingStartedDecided() && !channels.isPending && !operations.isPending;
  return (
    <Page
      title={t('app:pages.adminOverview')}
      subtitle={t('overview.lead')}
      actions={
        <SegmentedControl
          size="xs"
          aria-label={t('overview.span')}
          value={String(days)}
          onChange={(value) => filters.set('days', value === '30' ? undefined : value)}
          data={PERIODS.map((value) => ({ value, label: t('overview.days', { count: Number(value) }) }))}
        />
      }
    >
      {isReady ? null : <Skeleton h={640} radius="lg" />}
      <Stack display={isReady ? undefined : 'none'}>
        <ErrorAlert error={error} retry={() => void usage.refetch()} />
        <GettingStarted channels={channels.data?.data} />
        <ServiceStatus state={operations} />
        <OverviewStats days={days} nowMs={nowMs} usage={usage.data?.total} channels={channels.data?.data} />
        <WaitingPanel />
        <UsagePanel rows={usage.data?.rows} days={days} nowMs={nowMs} />
        <SimpleGrid cols={{ base: 1, lg: 2 }}>
          <ModelOrUserUsageRanking title={t('overview.topModels')} rows={byModel.data?.rows} by="model" days={days} />
          <ModelOrUserUsageRanking title={t('overview.topUsers')} rows={byUser.data?.rows} by="user_id" days={days} />
          <UsersWithRefusedCalls blocked={operations.data?.blocked} />
        </SimpleGrid>
      </Stack>
    </Page>
  );
}

interface OverviewStatsProps {
  readonly days: number;
  readonly nowMs: number;
  readonly usage: { readonly requests: number; readonly quota: number } | undefined;
  readonly channels: readonly ListItem<typeof listChannels>[] | undefined;
}

/** Key figures of the service's health; each links to the list it summarizes. */
function OverviewStats({ days, nowMs, usage, channels }: OverviewStatsProps) {
  const { t } = useTranslation('admin');
  const formatCredits = useFormatCredits();
  const unfinished = useQuery({
    ...listQuery(listTasks, { unfinished: 'true', page_size: '1' }),
    refetchInterval: REFRESH_MS,
  });
  const failed = useQuery({
    ...listQuery(listTasks, { status: 'FAILURE', from: String(nowMs / 1000 - DAY_SECONDS), page_size: '1' }),
    refetchInterval: REFRESH_MS,
  });
  const unanswered = useQuery({
    ...listQuery(adminListTickets, { unprocessed: 'true', page_size: '1' }),
    refetchInterval: REFRESH_MS,
  });
  const failing = channels?.filter(needsAttention).length;
  return (
    <SimpleGrid cols={{ base: 2, sm: 3 }}>
      <StatCard label={t('overview.spent', { days })} value={usage && formatCredits(usage.quota)} to="/admin/costs" />
      <StatCard label={t('overview.calls', { days })} value={usage?.requests} to="/admin/requests" />
      <StatCard
        label={t('overview.unfinished')}
        value={unfinished.data?.total}
        to="/admin/tasks"
        search={{ unfinished: true }}
      />
      <StatCard
        label={t('overview.failedToday')}
        value={failed.data?.total}
        alert={(failed.data?.total ?? 0) > 0}
        to="/admin/tasks"
        search={{ status: 'FAILURE' }}
      />
      <StatCard
        label={t('overview.failing')}
        value={failing}
        total={channels?.length}
        alert={(failing ?? 0) > 0}
        to="/admin/channels"
      />
      <StatCard
        label={t('overview.unanswered')}
        value={unanswered.data?.total}
        alert={(unanswered.data?.total ?? 0) > 0}
        to="/admin/tickets"
        search={{ unprocessed: true }}
      />
    </SimpleGrid>
  );
}

interface GettingStartedProps {
  /** Undefined while loading. */
  readonly channels: readonly ListItem<typeof listChannels>[] | undefined;
}

const firstTaskQuery = listQuery(listTasks, { page_size: '1' });

/** Whether the data has loaded that decides if the setup steps are shown. */
function useIsGettingStartedDecided(): boolean {
  const tasks = useQuery(firstTaskQuery);
  const models = useQuery(usableModelsQuery);
  const self = useSelf();
  return !tasks.isPending && !models.isPending && !self.isPending;
}

/** Setup steps up to the first video; hidden once a video exists. */
function GettingStarted({ channels }: GettingStartedProps) {
  const { t } = useTranslation('admin');
  const tasks = useQuery(firstTaskQuery);
  const models = useQuery(usableModelsQuery);
  const { data: self } = useSelf();
  if (
    self === undefined ||
    channels === undefined ||
    tasks.data === undefined ||
    models.data === undefined ||
    tasks.data.total > 0
  )
    return null;
  const may = canManage(self.role, self.role);
  const steps = [
    { key: 'channel', done: channels.length > 0, to: '/admin/channels/new' },
    { key: 'test', done: channels.some(({ condition }) => condition === 'working'), to: '/admin/channels' },
    { key: 'model', done: models.data.length > 0, to: '/admin/models' },
    // Only root can give credits to their own account.
    ...(may ? [{ key: 'credits', done: self.quota > 0, to: '/admin/users/$id' } as const] : []),
    { key: 'video', done: false, to: '/studio' },
  ] as const;
  const next = steps.find(({ done }) => !done);
  return (
    <Alert color="accent" variant="light" title={t('gettingStarted.title')}>
      <List spacing="sm" center listStyleType="none">
        {steps.map(({ key, done, to }) => (
          <List.Item
            key={key}
            icon={
              <ThemeIcon
                size={22}
                radius="xl"
                variant={done ? 'filled' : 'transparent'}
                color={done ? 'teal.8' : 'gray'}
              >
                {done ? <IconCheck size={14} /> : <IconCircleDashed size={20} />}
              </ThemeIcon>
            }
          >
            <Group gap="sm">
              <Text size="sm" fw={key === next?.key ? 650 : 400} td={done ? 'line-through' : 'none'}>
                {t(`gettingStarted.${key}`)}
              </Text>
              {key === next?.key ? (
                <RouteButton to={to} params={{ id: String(self.id) }} size="compact-sm">
                  {t(`gettingStarted.${key}Action`)}
                </RouteButton>
              ) : null}
            </Group>
          </List.Item>
        ))}
      </List>
    </Alert>
  );
}

interface StatCardProps {
  readonly label: string;
  /** Undefined while loading. */
  readonly value: number | string | undefined;
  readonly total?: number;
  readonly alert?: boolean;
  readonly to: string;
  readonly search?: Readonly<Record<string, string | boolean>>;
}

/** One figure, linked to the list it counts. */
function StatCard({ label, value, total, alert = false, to, search }: StatCardProps) {
  const text = typeof value === 'number' ? formatCount(value) : value;
  return (
    <Card
      p="md"
      renderRoot={(props) => <Link to={to} search={search} {...props} />}
      style={{ textDecoration: 'none', color: 'inherit' }}
    >
      <Text size="xs" c="dimmed">
        {label}
      </Text>
      {text === undefined ? (
        <Skeleton h={28} w={90} mt={5} />
      ) : (
        <Text
          fz={{ base: 19, sm: 22 }}
          lh="33px"
          fw={650}
          c={alert ? 'var(--mantine-color-error)' : undefined}
          style={{ fontVariantNumeric: 'tabular-nums' }}
        >
          {text}
          {total === undefined ? null : (
            <Text span c="dimmed" fz="sm" fw={400}>
              {` / ${total}`}
            </Text>
          )}
        </Text>
      )}
    </Card>
  );
}

interface RankingRow {
  readonly model?: string;
  readonly user_id?: number;
  readonly requests: number;
  readonly quota: number;
}
interface RankingProps {
  readonly title: string;
  readonly rows: readonly RankingRow[] | undefined;
  readonly by: 'model' | 'user_id';
  readonly days: number;
}

const MAX_ROWS = 8;

/** The models or users with the highest usage. */
function ModelOrUserUsageRanking({ title, rows, by }: RankingProps) {
  const { t } = useTranslation('admin');
  const sums = new Map<string, { requests: number; quota: number }>();
  for (const row of rows ?? []) {
    const known = sums.get(String(row[by])) ?? { requests: 0, quota: 0 };
    sums.set(String(row[by]), { requests: known.requests + row.requests, quota: known.quota + row.quota });
  }
  const ranked = [...sums].sort((one, two) => two[1].quota - one[1].quota || two[1].requests - one[1].requests);
  const names = useUserNames(by === 'user_id' ? ranked.slice(0, MAX_ROWS).map(([id]) => Number(id)) : []);
  const top = Math.max(1, ranked[0]?.[1].quota ?? 0);
  return (
    <Panel title={title}>
      {rows === undefined ? (
        <Stack gap="xs">
          <Skeleton h={24} />
          <Skeleton h={24} />
        </Stack>
      ) : null}
      {rows?.length === 0 ? (
        <Text size="sm" c="dimmed">
          {t('overview.nothing')}
        </Text>
      ) : null}
      {ranked.length === 0 ? null : (
        <Table verticalSpacing={6} aria-label={title} horizontalSpacing={4}>
          <Table.Tbody>
            {ranked.slice(0, MAX_ROWS).map(([name, { requests, quota }]) => (
              <Table.Tr key={name}>
                <Table.Td style={{ overflowWrap: 'anywhere' }}>
                  {by === 'model' ? (
                    <RouteLink to="/admin/tasks" search={{ model: name }} size="sm">
                      <ModelName id={name} />
                    </RouteLink>
                  ) : (
                    <RouteLink to="/admin/users/$id" params={{ id: String(name) }} size="sm">
                      {names(Number(name)) ?? t('overview.user', { id: name })}
                    </RouteLink>
                  )}
                  <Progress value={(quota / top) * 100} size={3} mt={4} aria-hidden color="gray" />
                </Table.Td>
                <Table.Td ta="right" fz="xs" c="dimmed" style={{ whiteSpace: 'nowrap' }}>
                  {t('overview.callCount', { count: requests })}
                </Table.Td>
                <Table.Td ta="right" w={1}>
                  <CreditAmount value={quota} />
                </Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      )}
    </Panel>
  );
}

/** Videos that wait for a slot, by model and channel; hidden while none waits. */
function WaitingPanel() {
  const { t } = useTranslation('admin');
  const channels = useChannelNames();
  const waiting = useQuery({ ...dataQuery(listWaitingVideos, {}), refetchInterval: REFRESH_MS });
  if (waiting.data === undefined || waiting.data.length === 0) return null;
  return (
    <Panel title={t('overview.waiting.title')}>
      <Table verticalSpacing={6} horizontalSpacing={4} aria-label={t('overview.waiting.title')}>
        <Table.Tbody>
          {waiting.data.map(({ model, waits_for: reason, channel_ids: ids, count, oldest_time: oldest }) => (
            <Table.Tr key={`${model} ${reason} ${ids.join()}`}>
              <Table.Td>
                <Text size="sm">
                  <ModelName id={model} />
                </Text>
                <Text size="xs" c="dimmed">
                  {reason === 'channel'
                    ? formatNames(ids.map((id) => channels(id) ?? `#${id}`))
                    : t(`overview.waiting.${reason}`)}
                </Text>
              </Table.Td>
              <Table.Td ta="right">
                <RouteLink to="/admin/tasks" search={{ unfinished: true, model }} size="sm">
                  {t('overview.waiting.count', { count })}
                </RouteLink>
                <Text size="xs" c="dimmed">
                  {t('overview.waiting.oldest')} <RelativeTime at={oldest} />
                </Text>
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Panel>
  );
}

type OperationState = ResponseData<typeof getServiceStatus>;
type Incident = OperationState['incidents'][number];
type IncidentId = keyof typeof adminStrings.serviceStatus.incidents;

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
function ServiceStatus({ state }: { readonly state: UseQueryResult<OperationState> }) {
  const { t } = useTranslation('admin');
  const open = state.data?.incidents.filter(({ is_open: isOpen }) => isOpen) ?? [];
  const alive = state.data?.instances.filter(({ is_alive: isAlive }) => isAlive).length ?? 0;
  return (
    <Panel
      title={t('serviceStatus.title')}
      actions={
        state.data === undefined ? null : (
          <Text size="xs" c="dimmed">
            {t('serviceStatus.processes', { count: alive })}
          </Text>
        )
      }
    >
      <QueryError query={state} />
      <Stack gap="sm" role="status">
        {state.data !== undefined && open.length === 0 ? (
          <Alert color="teal" icon={<IconCheck />}>
            {t('serviceStatus.allWell')}
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
              {t(`serviceStatus.incidents.${id as IncidentId}.${isOpen ? 'name' : 'check'}`)}
            </Text>
          </Group>
        ))}
      </SimpleGrid>
    </Panel>
  );
}

function OpenIncident({ incident }: { readonly incident: Incident }) {
  const { t } = useTranslation('admin');
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
              {t(`serviceStatus.incidents.${id}.name`)}
            </Text>
            {subjects.map((subject) => (
              <Badge key={subject} color="gray" className="verbatim">
                {subject}
              </Badge>
            ))}
          </Group>
          <Text size="sm">{t(`serviceStatus.incidents.${id}.advice`)}</Text>
          <Text size="xs">
            {t('serviceStatus.since')} <RelativeTime at={incident.since} />
          </Text>
        </div>
        {page === undefined ? null : (
          <RouteButton to={page} size="compact-sm" variant="default">
            {t('serviceStatus.act')}
          </RouteButton>
        )}
      </Group>
    </Alert>
  );
}

type BlockReason = keyof typeof adminStrings.serviceStatus.reasons;

/** Users whose calls were refused in the last day, with the reasons. */
function UsersWithRefusedCalls({ blocked }: { readonly blocked: OperationState['blocked'] | undefined }) {
  const { t } = useTranslation('admin');
  return (
    <Panel title={t('serviceStatus.blocked')}>
      {blocked?.length === 0 ? (
        <Text size="sm" c="dimmed">
          {t('serviceStatus.nobodyBlocked')}
        </Text>
      ) : null}
      {blocked === undefined || blocked.length === 0 ? null : (
        <Table verticalSpacing={6} horizontalSpacing={4} aria-label={t('serviceStatus.blocked')}>
          <Table.Tbody>
            {blocked.map((row) => (
              <Table.Tr key={`${row.user_id} ${row.error_code}`}>
                <Table.Td>
                  <RouteLink to="/admin/users/$id" params={{ id: String(row.user_id) }} size="sm">
                    {row.username}
                  </RouteLink>
                  <Text size="xs" c="dimmed">
                    {t(`serviceStatus.reasons.${row.error_code as BlockReason}`, { defaultValue: row.error_code })}
                  </Text>
                </Table.Td>
                <Table.Td ta="right">
                  <RouteLink to="/admin/requests" search={{ user_id: row.user_id, status: 'failed' }} size="sm">
                    {t('serviceStatus.refused', { count: row.requests })}
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
