import { keepPreviousData, queryOptions, useQueryClient } from '@tanstack/react-query';
import type { Endpoint, EndpointPart } from '../../contract/endpoint.ts';
import { callAnyApi } from './api-client.ts';
import { refetchPlanAndCredits } from './plan-queries.ts';

/** Rows on one page of an administration list. */
export const ADMIN_PAGE_SIZE = 25;

type QueryParams = Readonly<Record<string, string | undefined>>;
export interface ListResponse<Row> {
  readonly data: readonly Row[];
  readonly total: number;
  /** Of long lists: there are more rows than `total`, and where the next page begins. */
  readonly total_is_minimum?: boolean;
  readonly next?: string | null;
}
/** One row of what a list endpoint returns. */
export type ListItem<E extends Endpoint> =
  EndpointPart<E, 'response'> extends { readonly data: readonly (infer Row)[] } ? Row : never;
/** The `data` of an endpoint's response. */
export type ResponseData<E extends Endpoint> =
  EndpointPart<E, 'response'> extends { readonly data: infer Data } ? Data : never;

/** One page of a list endpoint; the previous page stays on the screen while the next one is being fetched. */
export const listQuery = <const E extends Endpoint>(endpoint: E, query: QueryParams, params: QueryParams = {}) =>
  queryOptions({
    queryKey: ['admin', endpoint.path, query, params],
    queryFn: ({ signal }) => callAnyApi(endpoint, { query, params }, { signal }) as Promise<ListResponse<ListItem<E>>>,
    placeholderData: keepPreviousData,
  });

/** The `data` of an endpoint that is no list. */
export const dataQuery = <const E extends Endpoint>(
  endpoint: E,
  input: { readonly params?: Readonly<Record<string, string>>; readonly query?: QueryParams },
) =>
  queryOptions({
    queryKey: ['admin', endpoint.path, input],
    queryFn: async ({ signal }) => ((await callAnyApi(endpoint, input, { signal })) as { data: ResponseData<E> }).data,
  });

/** To be called after a change: refetches everything the administration shows, and what a change there affects elsewhere. */
export function useInvalidateQueries(): () => Promise<void> {
  const queries = useQueryClient();
  return async () => {
    await Promise.all([queries.invalidateQueries({ queryKey: ['admin'] }), refetchPlanAndCredits(queries)]);
  };
}
