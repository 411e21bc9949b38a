import { Card, Group, Paper, SegmentedControl, SimpleGrid, Skeleton, Text, Title } from '@mantine/core';
import { IconChartBar } from '@tabler/icons-react';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { usageQuery } from '../../data/account.ts';
import { toUnits } from '../../data/money.ts';
import { useSelf, useStatus } from '../../data/queries.ts';
import { toDay } from '../../data/time.ts';
import { Empty } from '../../parts/empty.tsx';
import { Failure } from '../../parts/failure.tsx';
import { Page } from '../../parts/page.tsx';
import { Quota } from '../../parts/quota.tsx';
import { RecordTable } from '../../parts/record-table.tsx';
import { UsageBars } from '../../parts/usage-bars.tsx';
import { toModels } from './model-use.ts';

const RANGES = ['7', '30', '90'] as const;

/** What is there, what was spent, and on what. */
export function UsagePage() {
  const { t } = useTranslation('account');
  const [days, setDays] = useState<string>('30');
  const { data: self } = useSelf();
  const usage = useQuery({ ...usageQuery(Number(days)), placeholderData: keepPreviousData });
  const rows = usage.data?.rows ?? [];
  return (
    <Page title={t('usage.title')} lead={t('usage.lead')}>
      <SimpleGrid cols={{ base: 2, md: 4 }} mb="lg">
        <Figure name={t('usage.balance')}>{self === undefined ? null : <Quota value={self.quota} />}</Figure>
        <Figure name={t('usage.spent')}>{self === undefined ? null : <Quota value={self.used_quota} />}</Figure>
        <Figure name={t('usage.requests')}>{self?.request_count.toLocaleString()}</Figure>
        <Figure
          name={t('usage.plan')}
          note={
            self === undefined || self.package_expires_at === 0
              ? undefined
              : t('usage.planUntil', { day: toDay(self.package_expires_at) })
          }
        >
          {self === undefined
            ? null
            : self.current_package_code === 'none'
              ? t('usage.noPlan')
              : self.current_package_code}
        </Figure>
      </SimpleGrid>
      <Group justify="space-between" mb="md">
        <Title order={2}>{t('usage.byDay')}</Title>
        <SegmentedControl
          size="xs"
          aria-label={t('usage.range')}
          value={days}
          onChange={setDays}
          data={RANGES.map((value) => ({ value, label: t(`usage.days${value}`) }))}
        />
      </Group>
      <Failure error={usage.error} retry={() => void usage.refetch()} />
      {usage.data === undefined && usage.error === null ? <Skeleton h={300} radius="lg" /> : null}
      {usage.data !== undefined && rows.length === 0 ? (
        <Empty icon={<IconChartBar size={28} />} title={t('usage.emptyTitle')}>
          {t('usage.emptyText')}
        </Empty>
      ) : null}
      {rows.length > 0 ? (
        <>
          <Paper withBorder p="md" mb="lg">
            <UsageBars rows={rows} figure="quota" days={Number(days)} nowMs={Date.now()} />
          </Paper>
          <Title order={2} mb="sm">
            {t('usage.byModel')}
          </Title>
          <Models rows={rows} />
        </>
      ) : null}
    </Page>
  );
}

function Figure({
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

function Models({ rows }: { readonly rows: Parameters<typeof toModels>[0] }) {
  const { t } = useTranslation('account');
  const perUnit = useStatus().data?.quota_per_unit;
  return (
    <RecordTable
      label={t('usage.byModel')}
      rows={toModels(rows)}
      keyOf={({ model }) => model}
      columns={[
        { label: t('usage.model'), cell: ({ model }) => model },
        { label: t('usage.requests'), align: 'right', cell: ({ requests }) => requests.toLocaleString() },
        {
          label: t('usage.tokens'),
          align: 'right',
          cell: ({ tokens }) => (tokens === 0 ? '–' : tokens.toLocaleString()),
        },
        { label: t('usage.cost'), align: 'right', cell: ({ quota }) => toUnits(quota, perUnit) },
      ]}
    />
  );
}
