import { Progress, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { DAY_SECONDS } from '../../../contract/time-units.ts';
import { CreditAmount } from '../../components/credit-amount.tsx';
import { type Column, DataTable } from '../../components/data-table.tsx';
import type { ListFilters } from '../../components/list/use-list-filters.ts';
import { RouteLink } from '../../components/route-link.tsx';
import type { CostGroup, DayRange } from '../../data/cost-queries.ts';
import { formatMilliseconds } from '../../data/format-times-and-durations.ts';
import type { RequestScope } from '../../data/request-log-queries.ts';
import { currentLanguage } from '../../strings/init-and-change-language.ts';
import { RelativeChange } from './relative-change.tsx';
import type { ShownGroup } from './use-costs.ts';

interface CostTableProps {
  readonly scope: RequestScope;
  readonly by: CostGroup;
  readonly range: DayRange;
  readonly groups: readonly ShownGroup[];
  readonly filters: ListFilters;
  readonly stale: boolean;
}

const FILTER_NAME = { model: 'model', token: 'token_id', user: 'user_id', channel: 'channel_id' } as const;

/** A row for each group; its name opens the calls behind it. */
export function CostTable({ scope, by, range, groups, filters, stale }: CostTableProps) {
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
          [FILTER_NAME[by]]: by === 'model' ? key : Number(key),
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

/** What a group used, how well its calls went, and what they cost. */
function useFigureColumns(): readonly Column<ShownGroup>[] {
  const { t } = useTranslation('costs');
  const count = new Intl.NumberFormat(currentLanguage()).format;
  const percent = new Intl.NumberFormat(currentLanguage(), { style: 'percent', maximumFractionDigits: 1 }).format;
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
      ({ requests }) => count(requests),
    ),
    column(
      t('tokens'),
      'tokens',
      ({ tokens }) => tokens,
      ({ tokens }) => (tokens === 0 ? '–' : count(tokens)),
      true,
    ),
    column(
      t('success'),
      'success',
      ({ figures }) => figures?.success_rate ?? null,
      ({ figures }) => (figures === undefined ? '–' : percent(figures.success_rate)),
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
      ({ share }) => percent(share),
      true,
    ),
    column(
      t('cost'),
      'cost',
      ({ quota }) => quota,
      ({ quota }) => <CreditAmount value={quota} />,
    ),
    column(
      t('change'),
      'change',
      ({ change }) => change,
      (group) => <ChangeCell group={group} />,
    ),
  ];
}

function ChangeCell({ group: { change, quotaBefore } }: { readonly group: ShownGroup }) {
  const { t } = useTranslation('costs');
  if (change !== null) return <RelativeChange value={change} />;
  return (
    <Text span size="sm" c="dimmed">
      {quotaBefore === 0 ? t('new') : '–'}
    </Text>
  );
}

function Latency({ p50_ms: p50, p95_ms: p95 }: { readonly p50_ms?: number | null; readonly p95_ms?: number | null }) {
  if (p50 == null || p95 == null) return '–';
  return (
    <span style={{ whiteSpace: 'nowrap', fontVariantNumeric: 'tabular-nums' }}>
      {formatMilliseconds(p50)} / {formatMilliseconds(p95)}
    </span>
  );
}
