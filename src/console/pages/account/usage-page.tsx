import { Card, Group, Paper, SegmentedControl, SimpleGrid, Skeleton, Text, Title } from '@mantine/core';
import { IconChartBar } from '@tabler/icons-react';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { CreditAmount } from '../../components/credit-amount.tsx';
import { DataTable } from '../../components/data-table.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { ErrorAlert } from '../../components/error-alert.tsx';
import { LazyUsageChart } from '../../components/lazy-usage-chart.tsx';
import { Page } from '../../components/page.tsx';
import { usageQuery } from '../../data/account-queries.ts';
import { formatQuota } from '../../data/format-quota.ts';
import { formatDate } from '../../data/format-time.ts';
import { useSelf, useStatus } from '../../data/query-client.ts';
import { sumUsageByModel } from './usage-by-model.ts';

const PERIODS = ['7', '30', '90'] as const;

/** What is there, what was spent, and on what. */
export function UsagePage() {
  const { t } = useTranslation('account');
  const [days, setDays] = useState<string>('30');
  const { data: self } = useSelf();
  const usage = useQuery({ ...usageQuery(Number(days)), placeholderData: keepPreviousData });
  const rows = usage.data?.rows ?? [];
  return (
    <Page title={t('usage.title')} subtitle={t('usage.lead')}>
      <SimpleGrid cols={{ base: 2, md: 4 }} mb="lg">
        <StatCard name={t('usage.balance')}>
          {self === undefined ? null : <CreditAmount value={self.quota} wraps />}
        </StatCard>
        <StatCard name={t('usage.spent')}>
          {self === undefined ? null : <CreditAmount value={self.used_quota} wraps />}
        </StatCard>
        <StatCard name={t('usage.requests')}>{self?.request_count.toLocaleString()}</StatCard>
        <StatCard
          name={t('usage.plan')}
          note={
            self === undefined || self.package_expires_at === 0
              ? undefined
              : t('usage.planUntil', { day: formatDate(self.package_expires_at) })
          }
        >
          {self === undefined
            ? null
            : self.current_package_code === 'none'
              ? t('usage.noPlan')
              : self.current_package_code}
        </StatCard>
      </SimpleGrid>
      <Group justify="space-between" mb="md">
        <Title order={2}>{t('usage.byDay')}</Title>
        <SegmentedControl
          size="xs"
          aria-label={t('usage.range')}
          value={days}
          onChange={setDays}
          data={PERIODS.map((value) => ({ value, label: t(`usage.days${value}`) }))}
        />
      </Group>
      <ErrorAlert error={usage.error} retry={() => void usage.refetch()} />
      {usage.data === undefined && usage.error === null ? <Skeleton h={300} radius="lg" /> : null}
      {usage.data !== undefined && rows.length === 0 ? (
        <EmptyState icon={<IconChartBar size={28} />} title={t('usage.emptyTitle')}>
          {t('usage.emptyText')}
        </EmptyState>
      ) : null}
      {rows.length > 0 ? (
        <>
          <Paper withBorder p="md" mb="lg">
            <LazyUsageChart rows={rows} measure="quota" days={Number(days)} nowMs={Date.now()} />
          </Paper>
          <Title order={2} mb="sm">
            {t('usage.byModel')}
          </Title>
          <UsageTable rows={rows} />
        </>
      ) : null}
    </Page>
  );
}

function StatCard({
  name,
  note,
  children,
}: {
  readonly name: string;
  readonly note?: string | undefined;
  readonly children: ReactNode;
}) {
  return (
    <Card p="md">
      <Text size="xs" c="dimmed">
        {name}
      </Text>
      <Text fz={20} fw={650} mih={31} style={{ overflowWrap: 'anywhere' }}>
        {children}
      </Text>
      {note === undefined ? null : (
        <Text size="xs" c="dimmed">
          {note}
        </Text>
      )}
    </Card>
  );
}

function UsageTable({ rows }: { readonly rows: Parameters<typeof sumUsageByModel>[0] }) {
  const { t } = useTranslation('account');
  const perUnit = useStatus().data?.quota_per_unit;
  return (
    <DataTable
      label={t('usage.byModel')}
      rows={sumUsageByModel(rows)}
      rowKey={({ model }) => model}
      columns={[
        { label: t('usage.model'), cell: ({ model }) => model },
        { label: t('usage.requests'), align: 'right', cell: ({ requests }) => requests.toLocaleString() },
        {
          label: t('usage.tokens'),
          align: 'right',
          cell: ({ tokens }) => (tokens === 0 ? '–' : tokens.toLocaleString()),
        },
        { label: t('usage.cost'), align: 'right', cell: ({ quota }) => formatQuota(quota, perUnit) },
      ]}
    />
  );
}
