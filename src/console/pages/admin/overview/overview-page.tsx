import { SegmentedControl, SimpleGrid, Stack } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { listTasks } from '../../../../contract/admin-tasks.ts';
import { listChannels } from '../../../../contract/channels.ts';
import { adminListTickets } from '../../../../contract/tickets.ts';
import { getAllUsage } from '../../../../contract/usage.ts';
import { dataQuery, listQuery } from '../../../data/admin.ts';
import { Failure } from '../../../parts/failure.tsx';
import { Page } from '../../../parts/page.tsx';
import { useQuota } from '../../../parts/quota.tsx';
import { useFilters } from '../frame/filters.ts';
import { Figure } from './figure.tsx';
import { FirstSteps } from './first-steps.tsx';
import { Ranking } from './ranking.tsx';
import { UsagePlot } from './usage-plot.tsx';

const SPANS = ['7', '30', '90'] as const;
const DAY_SECONDS = 86_400;
const REFRESH_MS = 30_000;

/** How the service does: what is used, what waits, what fails. */
export function OverviewPage() {
  const { t } = useTranslation(['admin', 'shell']);
  const quota = useQuota();
  const filters = useFilters(['days']);
  const days = Number(SPANS.find((span) => span === filters.value.days) ?? 30);
  // Whole minutes: a span that moves with every drawing would be fetched with every drawing.
  const nowMs = useMemo(() => Math.floor(Date.now() / 60_000) * 60_000, []);
  const from = String(nowMs / 1000 - (days - 1) * DAY_SECONDS);
  const live = { refetchInterval: REFRESH_MS } as const;
  const usage = useQuery(dataQuery(getAllUsage, { query: { from, by: 'day,model' } }));
  const byUser = useQuery(dataQuery(getAllUsage, { query: { from, by: 'user' } }));
  const unfinished = useQuery({ ...listQuery(listTasks, { unfinished: 'true', page_size: '1' }), ...live });
  const failed = useQuery({
    ...listQuery(listTasks, { status: 'FAILURE', from: String(nowMs / 1000 - DAY_SECONDS), page_size: '1' }),
    ...live,
  });
  const unanswered = useQuery({ ...listQuery(adminListTickets, { unprocessed: 'true', page_size: '1' }), ...live });
  const channels = useQuery({ ...listQuery(listChannels, { page_size: '50' }), ...live });
  const failing = channels.data?.data.filter(({ enabled, state }) => enabled && state !== 'healthy').length;
  const error = usage.error ?? unfinished.error ?? channels.error;
  return (
    <Page
      title={t('shell:pages.adminOverview')}
      lead={t('overview.lead')}
      size="xl"
      actions={
        <SegmentedControl
          size="xs"
          aria-label={t('overview.span')}
          value={String(days)}
          onChange={(value) => filters.set('days', value === '30' ? undefined : value)}
          data={SPANS.map((value) => ({ value, label: t('overview.days', { count: Number(value) }) }))}
        />
      }
    >
      <Stack>
        <Failure error={error} retry={() => void usage.refetch()} />
        <FirstSteps channels={channels.data?.total} />
        <SimpleGrid cols={{ base: 2, sm: 3 }}>
          <Figure
            label={t('overview.spent', { days })}
            value={usage.data && quota(usage.data.total.quota)}
            to="/admin/ledger"
          />
          <Figure label={t('overview.calls', { days })} value={usage.data?.total.requests} to="/admin/tasks" />
          <Figure
            label={t('overview.unfinished')}
            value={unfinished.data?.total}
            to="/admin/tasks"
            search={{ unfinished: true }}
          />
          <Figure
            label={t('overview.failedToday')}
            value={failed.data?.total}
            bad={(failed.data?.total ?? 0) > 0}
            to="/admin/tasks"
            search={{ status: 'FAILURE' }}
          />
          <Figure
            label={t('overview.failing')}
            value={failing}
            of={channels.data?.total}
            bad={(failing ?? 0) > 0}
            to="/admin/channels"
          />
          <Figure
            label={t('overview.unanswered')}
            value={unanswered.data?.total}
            bad={(unanswered.data?.total ?? 0) > 0}
            to="/admin/tickets"
            search={{ unprocessed: true }}
          />
        </SimpleGrid>
        <UsagePlot rows={usage.data?.rows} days={days} nowMs={nowMs} />
        <SimpleGrid cols={{ base: 1, lg: 2 }}>
          <Ranking title={t('overview.topModels')} rows={usage.data?.rows} by="model" days={days} />
          <Ranking title={t('overview.topUsers')} rows={byUser.data?.rows} by="user_id" days={days} />
        </SimpleGrid>
      </Stack>
    </Page>
  );
}
