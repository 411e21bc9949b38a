import { SimpleGrid, Skeleton, Stack } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { listTasks } from '../../../../contract/admin-videos.ts';
import { listChannels } from '../../../../contract/channels.ts';
import { getAllUsage } from '../../../../contract/ledger.ts';
import { getServiceStatus } from '../../../../contract/service.ts';
import { adminListTickets } from '../../../../contract/tickets.ts';
import { DAY_SECONDS } from '../../../../contract/time-units.ts';
import { ErrorAlert } from '../../../components/error-alert.tsx';
import { useListFilters } from '../../../components/list/use-list-filters.ts';
import { Page } from '../../../components/page.tsx';
import { SegmentedControl } from '../../../components/segmented-control.tsx';
import { useFormatCredits } from '../../../components/use-format-credits.ts';
import { dataQuery, type ListItem, listQuery } from '../../../data/query-any-admin-endpoint.ts';
import { needsAttention } from '../channels/channel-status-badge.tsx';
import { GettingStarted, useIsGettingStartedDecided } from './getting-started.tsx';
import { ModelOrUserUsageRanking } from './model-or-user-usage-ranking.tsx';
import { ServiceStatus } from './service-status.tsx';
import { StatCard } from './stat-card.tsx';
import { UsagePanel } from './usage-panel.tsx';
import { UsersWithRefusedCalls } from './users-with-refused-calls.tsx';

const PERIODS = ['7', '30', '90'] as const;
const REFRESH_MS = 30_000;

/** How the service does: what is used, what waits, what fails. */
export function OverviewPage() {
  const { t } = useTranslation(['admin', 'app']);
  const filters = useListFilters(['days']);
  const days = Number(PERIODS.find((span) => span === filters.value.days) ?? 30);
  // Whole minutes: a span that moves with every drawing would be fetched with every drawing.
  const nowMs = useMemo(() => Math.floor(Date.now() / 60_000) * 60_000, []);
  const from = String(nowMs / 1000 - (days - 1) * DAY_SECONDS);
  const usage = useQuery(dataQuery(getAllUsage, { query: { from, by: 'day,model' } }));
  const byUser = useQuery(dataQuery(getAllUsage, { query: { from, by: 'user' } }));
  const channels = useQuery({ ...listQuery(listChannels, { page_size: '50' }), refetchInterval: REFRESH_MS });
  const operations = useQuery({ ...dataQuery(getServiceStatus, {}), refetchInterval: REFRESH_MS });
  const error = usage.error ?? channels.error;
  // What may stand above everything else is waited for, so that nothing moves when it comes.
  const isReady = useIsGettingStartedDecided() && !channels.isPending && !operations.isPending;
  return (
    <Page
      title={t('app:pages.adminOverview')}
      subtitle={t('overview.lead')}
      size="xl"
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
        <UsagePanel rows={usage.data?.rows} days={days} nowMs={nowMs} />
        <SimpleGrid cols={{ base: 1, lg: 2 }}>
          <ModelOrUserUsageRanking title={t('overview.topModels')} rows={usage.data?.rows} by="model" days={days} />
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

/** Key figures that show whether everything works; each links to the list it summarizes. */
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
