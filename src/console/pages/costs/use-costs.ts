import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { apiKeysQuery } from '../../data/api-key-queries.ts';
import {
  type CostFilter,
  type CostGroup,
  type CostRow,
  costsQuery,
  performanceQuery,
} from '../../data/cost-queries.ts';
import type { RequestScope } from '../../data/request-log-queries.ts';
import { useChannelNames, useUserNames } from '../../data/user-and-channel-names.ts';
import { rangeBefore, type toDayRange } from './day-range.ts';
import { keyOf, toGroupCosts } from './group-costs.ts';

interface CostView {
  readonly scope: RequestScope;
  readonly by: CostGroup;
  readonly range: ReturnType<typeof toDayRange>;
  readonly filter: CostFilter;
}

const NO_ROWS: readonly CostRow[] = [];

/** What a view of the costs shows: rows by day for the chart, groups for the table, totals of this range and the one before. */
export function useCosts({ scope, by, range, filter }: CostView) {
  const shared = { placeholderData: keepPreviousData };
  const now = useQuery({ ...costsQuery(scope, range, `day,${by}`, filter), ...shared });
  const before = useQuery({ ...costsQuery(scope, rangeBefore(range), by, filter), ...shared });
  const performance = useQuery({ ...performanceQuery(scope, range, by, filter), ...shared });
  const rows = now.data?.rows ?? NO_ROWS;
  const rowsBefore = before.data?.rows ?? NO_ROWS;
  const groups = useMemo(() => toGroupCosts(rows, rowsBefore, by), [rows, rowsBefore, by]);
  const nameOf = useGroupNames(scope, by, groups);
  const figures = new Map(performance.data?.map((each) => [each.key, each]));
  return {
    groups: groups.map((group) => ({ ...group, name: nameOf(group.key), figures: figures.get(group.key) })),
    chart: rows.map((row) => ({ ...row, model: nameOf(keyOf(row, by)) })),
    total: now.data?.total,
    totalBefore: before.data?.total,
    error: now.error ?? before.error,
    retry: () => void Promise.all([now.refetch(), before.refetch()]),
    isStale: now.isPlaceholderData,
  };
}
export type ShownGroup = ReturnType<typeof useCosts>['groups'][number];

/** Names of what is grouped by. */
function useGroupNames(scope: RequestScope, by: CostGroup, groups: readonly { readonly key: string }[]) {
  const { t } = useTranslation('costs');
  const users = useUserNames(by === 'user' ? groups.map(({ key }) => Number(key)) : []);
  const channels = useChannelNames(by === 'channel');
  const keys = useQuery({ ...apiKeysQuery(1), enabled: by === 'token' && scope === 'own' });
  return (key: string): string => {
    if (by === 'model') return key;
    if (by === 'user') return users(Number(key)) ?? `#${key}`;
    if (by === 'channel') return key === '0' ? t('noChannel') : (channels(Number(key)) ?? `#${key}`);
    if (key === '0') return t('console');
    if (key === '-1') return t('imported');
    return keys.data?.data.find(({ id }) => String(id) === key)?.name ?? `#${key}`;
  };
}
