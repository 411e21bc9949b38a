import { queryOptions } from '@tanstack/react-query';
import type { Endpoint, EndpointPart } from '../../contract/endpoint.ts';
import { getAllUsage, getUsage } from '../../contract/ledger.ts';
import { listBudgets } from '../../contract/plans.ts';
import { getAllRequestStatistics, getRequestStatistics } from '../../contract/request-log.ts';
import { DAY_SECONDS } from '../../contract/time-units.ts';
import { callAnyApi, callApi } from './api-client.ts';
import type { RequestScope } from './requests.ts';

/** Dimensions by which costs can be grouped. */
export const COST_GROUPS = ['model', 'token', 'user', 'organization', 'channel'] as const;
/** One dimension by which costs can be grouped. */
export type CostGroup = (typeof COST_GROUPS)[number];

/** UTC days, both inclusive, as days since 1970. */
export interface DayRange {
  readonly fromDay: number;
  readonly toDay: number;
}

/** Filters of costs, by query parameter. */
export type CostFilter = Readonly<Partial<Record<'model' | 'token_id' | 'user_id' | 'channel_id', string | undefined>>>;

type Usage = EndpointPart<typeof getAllUsage, 'response'>['data'];
/** Usage of one combination of the requested groups. */
export type CostRow = Usage['rows'][number];
type Statistics = EndpointPart<typeof getAllRequestStatistics, 'response'>['data'];

const USAGE = { own: getUsage, all: getAllUsage } as const satisfies Record<RequestScope, Endpoint>;
const STATISTICS = { own: getRequestStatistics, all: getAllRequestStatistics } as const satisfies Record<
  RequestScope,
  Endpoint
>;

/**
 * Usage from the ledger's daily figures. @param by groups, with `day` among them for a chart: its many rows may be
 * incomplete, so tables group without it
 */
export const costsQuery = (scope: RequestScope, range: DayRange, by: string, filter: CostFilter) =>
  queryOptions({
    queryKey: ['costs', scope, range, by, filter],
    queryFn: async ({ signal }) => {
      const query = {
        ...filter,
        by,
        from: String(range.fromDay * DAY_SECONDS),
        to: String((range.toDay + 1) * DAY_SECONDS - 1),
      };
      return ((await callAnyApi(USAGE[scope], { query }, { signal })) as { data: Usage }).data;
    },
  });

/** Success and duration of calls from the request log, which has a limited retention. */
export const performanceQuery = (scope: RequestScope, range: DayRange, by: CostGroup, filter: CostFilter) =>
  queryOptions({
    queryKey: ['performance', scope, range, by, filter],
    queryFn: async ({ signal }) => {
      const query = {
        ...filter,
        by,
        from: String(range.fromDay * DAY_SECONDS),
        to: String((range.toDay + 1) * DAY_SECONDS),
      };
      return ((await callAnyApi(STATISTICS[scope], { query }, { signal })) as { data: Statistics }).data;
    },
  });

/** A monthly budget with the amount spent. */
export type BudgetEntry = EndpointPart<typeof listBudgets, 'response'>['data'][number];

/** Budgets of the account. */
export const budgetsQuery = queryOptions({
  queryKey: ['budgets'],
  queryFn: async ({ signal }) => (await callApi(listBudgets, {}, { signal })).data,
  staleTime: 60_000,
});
