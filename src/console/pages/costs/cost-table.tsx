import { Progress, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { CreditAmount } from '../../components/credit-amount.tsx';
import { DataTable } from '../../components/data-table.tsx';
import type { ListFilters } from '../../components/list/use-list-filters.ts';
import { RouteLink } from '../../components/route-link.tsx';
import type { CostGroup, DayRange } from '../../data/cost-queries.ts';
import { formatMilliseconds } from '../../data/format-time.ts';
import type { RequestScope } from '../../data/request-queries.ts';
import { currentLanguage } from '../../strings/language.ts';
import { Change } from './change.tsx';
import type { ShownGroup } from './use-costs.ts';

interface CostTableProps {
  readonly scope: RequestScope;
  readonly by: CostGroup;
  readonly range: DayRange;
  readonly groups: readonly ShownGroup[];
  readonly filters: ListFilters;
  readonly stale: boolean;
}

const DAY_SECONDS = 86_400;
const FILTER_NAME = { model: 'model', token: 'token_id', user: 'user_id', channel: 'channel_id' } as const;

/** A row for each group; its name opens the calls behind it. */
export function CostTable({ scope, by, range, groups, filters, stale }: CostTableProps) {
  const { t } = useTranslation('costs');
  const count = new Intl.NumberFormat(currentLanguage()).format;
  const percent = new Intl.NumberFormat(currentLanguage(), { style: 'percent', maximumFractionDigits: 1 }).format;
  const linkTo = scope === 'all' ? '/admin/requests' : '/account/requests';
  return (
    <DataTable
      label={t(`groups.${by}`)}
      rows={groups}
      rowKey={({ key }) => key}
      stale={stale}
      sort={filters.sort}
      onSort={filters.toggleSort}
      columns={[
        {
          label: t(`groups.${by}`),
          sortKey: 'name',
          sortValue: ({ name }) => name,
          cell: ({ key, name, share }) => (
            <div style={{ minWidth: 120, maxWidth: 320 }}>
              <RouteLink
                to={linkTo}
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
          ),
        },
        {
          label: t('calls'),
          align: 'right',
          sortKey: 'calls',
          sortValue: ({ requests }) => requests,
          cell: ({ requests }) => count(requests),
        },
        {
          label: t('tokens'),
          align: 'right',
          sortKey: 'tokens',
          sortValue: ({ tokens }) => tokens,
          cell: ({ tokens }) => (tokens === 0 ? '–' : count(tokens)),
          hideOnPhone: true,
        },
        {
          label: t('success'),
          align: 'right',
          sortKey: 'success',
          sortValue: ({ figures }) => figures?.success_rate ?? null,
          cell: ({ figures }) => (figures === undefined ? '–' : percent(figures.success_rate)),
        },
        {
          label: t('latency'),
          align: 'right',
          sortKey: 'latency',
          sortValue: ({ figures }) => figures?.p95_ms ?? null,
          cell: ({ figures }) => <Latency {...figures} />,
          hideOnPhone: true,
        },
        {
          label: t('share'),
          align: 'right',
          cell: ({ share }) => percent(share),
          hideOnPhone: true,
        },
        {
          label: t('cost'),
          align: 'right',
          sortKey: 'cost',
          sortValue: ({ quota }) => quota,
          cell: ({ quota }) => <CreditAmount value={quota} />,
        },
        {
          label: t('change'),
          align: 'right',
          sortKey: 'change',
          sortValue: ({ change }) => change,
          cell: ({ change, quotaBefore }) =>
            change === null ? (
              <Text span size="sm" c="dimmed">
                {quotaBefore === 0 ? t('new') : '–'}
              </Text>
            ) : (
              <Change value={change} />
            ),
        },
      ]}
    />
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
