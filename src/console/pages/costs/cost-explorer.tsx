import { Button, Group, Input, Paper, Progress, SimpleGrid, Skeleton, Stack, Text } from '@mantine/core';
import { IconChartBar, IconDownload, IconFilter } from '@tabler/icons-react';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { lazy, Suspense, useCallback, useMemo, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { USAGE_COLUMNS } from '../../../contract/ledger.ts';
import { DAY_MS, DAY_SECONDS } from '../../../contract/time-units.ts';
import { useFormatCredits } from '../../components/credit-amount.tsx';
import { type Column, DataTable } from '../../components/data-table.tsx';
import { DayInput } from '../../components/day-input.tsx';
import { ErrorAlert } from '../../components/error-alert.tsx';
import { type ListFilters, useListFilters } from '../../components/list/use-list-filters.ts';
import { EmptyState, Page } from '../../components/page.tsx';
import { RouteLink } from '../../components/route-link.tsx';
import { SegmentedControl } from '../../components/segmented-control.tsx';
import { LazyUsageChart } from '../../components/usage-panel.tsx';
import { useChannelNames, useUserNames } from '../../data/admin.ts';
import {
  COST_GROUPS,
  type CostFilter,
  type CostGroup,
  type CostRow,
  costsQuery,
  type DayRange,
  performanceQuery,
} from '../../data/costs.ts';
import { downloadRowsAsCsv } from '../../data/files.ts';
import { formatCount, formatMilliseconds, formatPercent, formatPercentChange } from '../../data/format-values.ts';
import { apiKeysQuery } from '../../data/keys.ts';
import type { RequestScope } from '../../data/requests.ts';
import { useModelTitle } from '../../data/self.ts';
import {
  dayCountOf,
  formatDay,
  keyOf,
  PRESET_DAYS,
  rangeBefore,
  relativeChange,
  toDayRange,
  toGroupCosts,
} from './group-costs.ts';

/** Loaded once opened, or if the URL has a filter. */
const CostFilters = lazy(() => import('./cost-filters.tsx'));

/** URL parameters of a cost view. */
export const COST_FILTERS = ['by', 'days', 'from', 'to', 'model', 'token_id', 'user_id', 'channel_id'] as const;
const CSV_COLUMNS = ['name', 'id', 'calls', 'tokens', 'quota', 'quota_before', 'share'] as const;

/** Costs by group over a range of days, compared with the preceding period of the same length. */
export function CostExplorer({ scope, filters }: { readonly scope: RequestScope; readonly filters: ListFilters }) {
  const { t } = useTranslation('costs');
  // Rounded to whole minutes: a range that changes with every render would be refetched with every render.
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
        <Input.Wrapper label={t('by')} labelElement="div" maw="100%">
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
            <LazyUsageChart
              rows={costs.chart}
              measure="quota"
              days={dayCountOf(costs.range)}
              nowMs={costs.range.toDay * DAY_MS}
            />
          </Paper>
          <Group justify="flex-end">
            <Button size="compact-sm" variant="default" leftSection={<IconDownload size={16} />} onClick={save}>
              {t('export')}
            </Button>
          </Group>
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
  const tokensOf = (figures: TotalFigures): number => figures.prompt_tokens + figures.completion_tokens;
  const averageOf = ({ quota, requests }: TotalFigures): number => (requests === 0 ? 0 : Math.round(quota / requests));
  const rows: readonly (readonly [string, (figures: TotalFigures) => number, (value: number) => string])[] = [
    [t('spent'), ({ quota }) => quota, credits],
    [t('calls'), ({ requests }) => requests, formatCount],
    [t('tokens'), tokensOf, formatCount],
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
            {now === undefined || before === undefined ? null : before.requests === 0 ? (
              t('noEarlier')
            ) : (
              <>
                <RelativeChange value={relativeChange(read(now), read(before))} hint={t('changeHint')} />{' '}
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

interface CostTableProps {
  readonly scope: RequestScope;
  readonly by: CostGroup;
  readonly range: DayRange;
  readonly groups: readonly ShownGroup[];
  readonly filters: ListFilters;
  readonly stale: boolean;
}

/** One row per group, linked to the calls behind it. */
function CostTable({ scope, by, range, groups, filters, stale }: CostTableProps) {
  const { t } = useTranslation('costs');
  const name: Column<ShownGroup> = {
    label: t(`groups.${by}`),
    sortKey: 'name',
    sortValue: (group) => group.name,
    cell: (group) => <GroupName scope={scope} by={by} range={range} group={group} />,
  };
  return (
    <DataTable
      label={t(`groups.${by}`)}
      rows={groups}
      rowKey={({ key }) => key}
      stale={stale}
      sort={filters.sort}
      onSort={filters.setSort}
      columns={[name, ...useFigureColumns()]}
    />
  );
}

interface GroupNameProps extends Pick<CostTableProps, 'scope' | 'by' | 'range'> {
  readonly group: ShownGroup;
}

function GroupName({ scope, by, range, group: { key, name, share } }: GroupNameProps) {
  return (
    <div style={{ minWidth: 120, maxWidth: 320 }}>
      <RouteLink
        to={scope === 'all' ? '/admin/requests' : '/account/requests'}
        search={{
          [USAGE_COLUMNS[by]]: by === 'model' ? key : Number(key),
          from: range.fromDay * DAY_SECONDS,
          to: (range.toDay + 1) * DAY_SECONDS - 1,
        }}
        size="sm"
        style={{ overflowWrap: 'anywhere' }}
      >
        {name}
      </RouteLink>
      <Progress value={share * 100} size={3} mt={4} aria-hidden color="gray" />
    </div>
  );
}

/** Columns for usage, performance and cost of a group. */
function useFigureColumns(): readonly Column<ShownGroup>[] {
  const { t } = useTranslation('costs');
  const credits = useFormatCredits();
  const column = (
    label: string,
    sortKey: string,
    sortValue: (group: ShownGroup) => number | null,
    cell: Column<ShownGroup>['cell'],
    hideOnPhone = false,
  ): Column<ShownGroup> => ({ label, align: 'right', sortKey, sortValue, cell, hideOnPhone });
  return [
    column(
      t('calls'),
      'calls',
      ({ requests }) => requests,
      ({ requests }) => formatCount(requests),
    ),
    column(
      t('tokens'),
      'tokens',
      ({ tokens }) => tokens,
      ({ tokens }) => (tokens === 0 ? '–' : formatCount(tokens)),
      true,
    ),
    column(
      t('success'),
      'success',
      ({ figures }) => figures?.success_rate ?? null,
      ({ figures }) => (figures === undefined ? '–' : formatPercent(figures.success_rate)),
    ),
    column(
      t('latency'),
      'latency',
      ({ figures }) => figures?.p95_ms ?? null,
      ({ figures }) => <Latency {...figures} />,
      true,
    ),
    column(
      t('share'),
      'share',
      ({ share }) => share,
      ({ share }) => formatPercent(share),
      true,
    ),
    column(
      t('cost'),
      'cost',
      ({ quota }) => quota,
      ({ quota }) => credits(quota),
    ),
    column(
      t('change'),
      'change',
      ({ change }) => change,
      ({ change, quotaBefore }) =>
        change === null ? (
          <Text span size="sm" c="dimmed">
            {quotaBefore === 0 ? t('new') : '–'}
          </Text>
        ) : (
          <RelativeChange value={change} hint={t('changeHint')} />
        ),
    ),
  ];
}

function Latency({ p50_ms: p50, p95_ms: p95 }: { readonly p50_ms?: number | null; readonly p95_ms?: number | null }) {
  if (p50 == null || p95 == null) return '–';
  return (
    <span style={{ whiteSpace: 'nowrap', fontVariantNumeric: 'tabular-nums' }}>
      {formatMilliseconds(p50)} / {formatMilliseconds(p95)}
    </span>
  );
}

/** Selects the last N days or any two days. */
function RangePicker({ filters, range }: { readonly filters: ListFilters; readonly range: DayRange }) {
  const { t } = useTranslation('costs');
  const isFree = filters.value.from !== undefined || filters.value.to !== undefined;
  const preset = PRESET_DAYS.find((each) => each === filters.value.days) ?? '30';
  return (
    <>
      <SegmentedControl
        aria-label={t('period')}
        value={isFree ? '' : preset}
        onChange={(value) =>
          filters.setAll({ days: value === '30' ? undefined : value, from: undefined, to: undefined })
        }
        data={PRESET_DAYS.map((value) => ({ value, label: t('days', { count: Number(value) }) }))}
      />
      <Group gap="xs" wrap="nowrap" w={{ base: '100%', xs: 'auto' }}>
        {(['from', 'to'] as const).map((name) => (
          <DayInput
            key={name}
            required
            label={t(name)}
            w={{ base: '50%', xs: 150 }}
            value={formatDay(name === 'from' ? range.fromDay : range.toDay)}
            onChange={(day) =>
              filters.setAll({
                from: formatDay(range.fromDay),
                to: formatDay(range.toDay),
                [name]: day,
                days: undefined,
              })
            }
          />
        ))}
      </Group>
    </>
  );
}

/** A relative change with its sign; neither direction is good or bad by itself, so it has no colour. */
function RelativeChange({ value, hint }: { readonly value: number | null; readonly hint: string }) {
  if (value === null) return null;
  return (
    <span title={hint} style={{ fontWeight: 600, whiteSpace: 'nowrap' }}>
      {formatPercentChange(value)}
    </span>
  );
}

interface CostView {
  readonly scope: RequestScope;
  readonly by: CostGroup;
  readonly range: ReturnType<typeof toDayRange>;
  readonly filter: CostFilter;
}

const NO_ROWS: readonly CostRow[] = [];

/** Data of a cost view: rows by day for the chart, groups for the table, totals of this range and the preceding one. */
function useCosts({ scope, by, range, filter }: CostView) {
  const shared = { placeholderData: keepPreviousData };
  const now = useQuery({ ...costsQuery(scope, range, by, filter), ...shared });
  const byDay = useQuery({ ...costsQuery(scope, range, `day,${by}`, filter), ...shared });
  const before = useQuery({ ...costsQuery(scope, rangeBefore(range), by, filter), ...shared });
  const performance = useQuery({ ...performanceQuery(scope, range, by, filter), ...shared });
  // Together, so that the chart is not drawn empty first.
  const loadedCosts = byDay.data && now.data;
  const rows = loadedCosts?.rows ?? NO_ROWS;
  const daily = byDay.data?.rows ?? NO_ROWS;
  const rowsBefore = before.data?.rows ?? NO_ROWS;
  const groups = useMemo(() => toGroupCosts(rows, rowsBefore, by), [rows, rowsBefore, by]);
  const nameOf = useGroupNames(scope, by, groups, by === 'token' ? performance.data : undefined);
  const shownGroups = useMemo(() => {
    const figures = new Map(performance.data?.map((each) => [each.key, each]));
    return groups.map((group) => ({ ...group, name: nameOf(group.key), figures: figures.get(group.key) }));
  }, [groups, nameOf, performance.data]);
  // Stable, so that sorting the table does not draw the chart again.
  const chart = useMemo(() => daily.map((row) => ({ ...row, model: nameOf(keyOf(row, by)) })), [daily, nameOf, by]);
  // While another range loads, the chart keeps showing the previous one, so that it is drawn only once.
  const loaded = useRef(range);
  if (!byDay.isPlaceholderData) loaded.current = range;
  return {
    groups: shownGroups,
    chart,
    range: loaded.current,
    total: loadedCosts?.total,
    totalBefore: before.data?.total,
    error: now.error ?? byDay.error ?? before.error,
    retry: () => void Promise.all([now, byDay, before].map((query) => query.refetch())),
    isStale: now.isPlaceholderData,
  };
}
type ShownGroup = ReturnType<typeof useCosts>['groups'][number];

/**
 * Display names of the groups.
 *
 * @param logged groups of the request log, which has the names of revoked keys
 */
function useGroupNames(
  scope: RequestScope,
  by: CostGroup,
  groups: readonly { readonly key: string }[],
  logged: readonly { readonly key: string; readonly name: string }[] | undefined,
) {
  const { t } = useTranslation('costs');
  const titleOf = useModelTitle();
  const users = useUserNames(by === 'user' || by === 'organization' ? groups.map(({ key }) => Number(key)) : []);
  const channels = useChannelNames(by === 'channel');
  const keys = useQuery({ ...apiKeysQuery(1), enabled: by === 'token' && scope === 'own' });
  return useCallback(
    (key: string): string => {
      if (by === 'model') return titleOf(key);
      if (by === 'user' || by === 'organization') return users(Number(key)) ?? `#${key}`;
      if (by === 'channel') return key === '0' ? t('noChannel') : (channels(Number(key)) ?? `#${key}`);
      if (key === '0') return t('console');
      if (key === '-1') return t('imported');
      const listed = keys.data?.data.find(({ id }) => String(id) === key);
      const known = scope === 'own' ? (listed ?? logged?.find((group) => group.key === key)) : undefined;
      return known?.name || `#${key}`;
    },
    [scope, by, users, channels, keys.data, logged, t, titleOf],
  );
}

/** Costs of all accounts. */
export function AdminCostsPage() {
  const { t } = useTranslation(['costs', 'app']);
  return (
    <Page title={t('app:pages.costs')} subtitle={t('adminLead')}>
      <CostExplorer scope="all" filters={useListFilters(COST_FILTERS)} />
    </Page>
  );
}
