import { Button, Group, Input, Paper, SimpleGrid, Skeleton, Stack, Text } from '@mantine/core';
import { IconChartBar, IconDownload, IconFilter } from '@tabler/icons-react';
import { lazy, Suspense, useMemo, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { DAY_MS } from '../../../contract/time-units.ts';
import { EmptyState } from '../../components/empty-state.tsx';
import { ErrorAlert } from '../../components/error-alert.tsx';
import { LazyUsageChart } from '../../components/lazy-usage-chart.tsx';
import type { ListFilters } from '../../components/list/use-list-filters.ts';
import { SegmentedControl } from '../../components/segmented-control.tsx';
import { useFormatCredits } from '../../components/use-format-credits.ts';
import { COST_GROUPS, type CostGroup } from '../../data/cost-queries.ts';
import { downloadRowsAsCsv } from '../../data/download-rows-as-csv.ts';
import type { RequestScope } from '../../data/request-log-queries.ts';
import { currentLanguage } from '../../strings/init-and-change-language.ts';
import { CostTable } from './cost-table.tsx';
import { dayCountOf, formatDay, toDayRange } from './day-range.ts';
import { relativeChange } from './group-costs.ts';
import { RangePicker } from './range-picker.tsx';
import { RelativeChange } from './relative-change.tsx';
import { type ShownGroup, useCosts } from './use-costs.ts';

/** Loaded when they are asked for, or the address has one. */
const CostFilters = lazy(() => import('./cost-filters.tsx'));

/** What the address of a view of the costs may have. */
export const COST_FILTERS = ['by', 'days', 'from', 'to', 'model', 'token_id', 'user_id', 'channel_id'] as const;
const CSV_COLUMNS = ['name', 'id', 'calls', 'tokens', 'quota', 'quota_before', 'share'] as const;

/** What was spent on what, over any days, beside the period of the same length before. */
export function CostExplorer({ scope, filters }: { readonly scope: RequestScope; readonly filters: ListFilters }) {
  const { t } = useTranslation('costs');
  // Whole minutes: a range that moves with every drawing would be fetched with every drawing.
  const nowMs = useMemo(() => Math.floor(Date.now() / 60_000) * 60_000, []);
  const choices = COST_GROUPS.filter((group) => scope === 'all' || group === 'model' || group === 'token');
  const by: CostGroup = choices.find((group) => group === filters.value.by) ?? 'model';
  const range = toDayRange(filters.value, nowMs);
  const { model, token_id, user_id, channel_id } = filters.value;
  const filter = scope === 'all' ? { model, token_id, user_id, channel_id } : { model, token_id };
  const costs = useCosts({ scope, by, range, filter });
  const [asked, setAsked] = useState(false);
  const isFiltered = asked || Object.values(filter).some((value) => value !== undefined);
  const filterButton = (
    <Button variant="default" leftSection={<IconFilter size={16} />} onClick={() => setAsked(true)}>
      {t('filter')}
    </Button>
  );
  const save = (): void =>
    void downloadRowsAsCsv(
      `costs-${formatDay(range.fromDay)}-${formatDay(range.toDay)}.csv`,
      CSV_COLUMNS,
      toCsvRows(costs.groups),
    );
  return (
    <Stack gap="md">
      <Group gap="xs" align="flex-end" role="search">
        <Input.Wrapper label={t('by')} labelElement="div">
          <SegmentedControl
            display="flex"
            aria-label={t('by')}
            data={choices.map((value) => ({ value, label: t(`groups.${value}`) }))}
            value={by}
            onChange={(value) => filters.set('by', value === 'model' ? undefined : value)}
          />
        </Input.Wrapper>
        <RangePicker filters={filters} range={range} />
        {isFiltered ? (
          <Suspense fallback={filterButton}>
            <CostFilters scope={scope} filters={filters} />
          </Suspense>
        ) : (
          filterButton
        )}
        <Button
          variant="default"
          leftSection={<IconDownload size={16} />}
          disabled={costs.groups.length === 0}
          onClick={save}
        >
          {t('export')}
        </Button>
      </Group>
      <ErrorAlert error={costs.error} retry={costs.retry} />
      <Totals now={costs.total} before={costs.totalBefore} />
      {costs.total === undefined && costs.error === null ? <Skeleton h={300} radius="lg" /> : null}
      {costs.total !== undefined && costs.groups.length === 0 ? (
        <EmptyState icon={<IconChartBar size={28} />} title={t('emptyTitle')}>
          {t('emptyText')}
        </EmptyState>
      ) : null}
      {costs.groups.length === 0 ? null : (
        <>
          <Paper withBorder p="md">
            <LazyUsageChart rows={costs.chart} measure="quota" days={dayCountOf(range)} nowMs={range.toDay * DAY_MS} />
          </Paper>
          <CostTable
            scope={scope}
            by={by}
            range={range}
            groups={costs.groups}
            filters={filters}
            stale={costs.isStale}
          />
        </>
      )}
    </Stack>
  );
}

interface TotalFigures {
  readonly requests: number;
  readonly quota: number;
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
}

function Totals({
  now,
  before,
}: {
  readonly now: TotalFigures | undefined;
  readonly before: TotalFigures | undefined;
}) {
  const { t } = useTranslation('costs');
  const credits = useFormatCredits();
  const count = new Intl.NumberFormat(currentLanguage()).format;
  const tokensOf = (figures: TotalFigures): number => figures.prompt_tokens + figures.completion_tokens;
  const averageOf = ({ quota, requests }: TotalFigures): number => (requests === 0 ? 0 : Math.round(quota / requests));
  const rows: readonly (readonly [string, (figures: TotalFigures) => number, (value: number) => string])[] = [
    [t('spent'), ({ quota }) => quota, credits],
    [t('calls'), ({ requests }) => requests, count],
    [t('tokens'), tokensOf, count],
    [t('average'), averageOf, credits],
  ];
  return (
    <SimpleGrid cols={{ base: 2, md: 4 }}>
      {rows.map(([label, read, format]) => (
        <Paper key={label} withBorder p="md">
          <Text size="xs" c="dimmed">
            {label}
          </Text>
          <Text fz={20} fw={650} mih={31} style={{ fontVariantNumeric: 'tabular-nums', overflowWrap: 'anywhere' }}>
            {now === undefined ? '' : format(read(now))}
          </Text>
          <Text size="xs" c="dimmed" mih={19}>
            {now === undefined || before === undefined ? null : (
              <>
                <RelativeChange value={relativeChange(read(now), read(before))} />{' '}
                {t('before', { value: format(read(before)) })}
              </>
            )}
          </Text>
        </Paper>
      ))}
    </SimpleGrid>
  );
}

const toCsvRows = (groups: readonly ShownGroup[]) =>
  groups.map(({ name, key, requests, tokens, quota, quotaBefore, share }) => [
    name,
    key,
    requests,
    tokens,
    quota,
    quotaBefore,
    Math.round(share * 10_000) / 10_000,
  ]);
