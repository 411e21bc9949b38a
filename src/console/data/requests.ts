import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import type { Endpoint, EndpointPart } from '../../contract/endpoint.ts';
import * as endpoints from '../../contract/request-log.ts';
import { getReceipt } from '../../contract/request-log.ts';
import { throwForStatus } from '../../sdk/errors.ts';
import { followRequests } from '../../sdk/requests.ts';
import { callAnyApi, callApi, sendRequest } from './api-client.ts';
import { downloadFile } from './files.ts';

/** `own`: calls of the signed-in account; `all`: calls of all accounts, for administrators. */
export type RequestScope = 'own' | 'all';

type AdminEntry = EndpointPart<typeof endpoints.listAllRequests, 'response'>['data'][number];
/** One finished call; the account and channel are visible to administrators only. */
export type RequestEntry = EndpointPart<typeof endpoints.listRequests, 'response'>['data'][number] &
  Partial<Pick<AdminEntry, 'user_id' | 'organization' | 'channel_id' | 'served_model'>>;
/** Cost breakdown of a call or video. */
export type Receipt = EndpointPart<typeof getReceipt, 'response'>['data'];
/** Filters of the request log, by query parameter. */
export type RequestFilter = Readonly<Record<string, string | undefined>>;

interface RequestPage {
  readonly data: readonly RequestEntry[];
  readonly next: string | null;
}

const PAGE_SIZE = 50;
const ENDPOINTS = {
  own: { list: endpoints.listRequests, csv: endpoints.exportRequests, live: endpoints.streamRequests },
  all: { list: endpoints.listAllRequests, csv: endpoints.exportAllRequests, live: endpoints.streamAllRequests },
} as const satisfies Record<RequestScope, Readonly<Record<string, Endpoint>>>;

/**
 * Converts URL filters to query parameters: a day filter names the last second of the day, but the service's `to` is
 * exclusive.
 */
const toQuery = ({ to, ...filter }: RequestFilter): RequestFilter => ({
  ...filter,
  to: to === undefined ? undefined : String(Number(to) + 1),
});

/** Reads a cursor from the URL; malformed values are dropped, like malformed filters. */
const readCursor = (text: string | undefined): string | undefined =>
  text !== undefined && new RegExp(endpoints.CURSOR_PATTERN).test(text) ? text : undefined;

/** One page of finished calls. @param after cursor; undefined: the newest page */
export const requestsQuery = (scope: RequestScope, filter: RequestFilter, after: string | undefined) =>
  queryOptions({
    queryKey: ['requests', scope, filter, after],
    queryFn: ({ signal }) =>
      callAnyApi(
        ENDPOINTS[scope].list,
        { query: { ...toQuery(filter), after: readCursor(after), limit: String(PAGE_SIZE) } },
        { signal },
      ) as Promise<RequestPage>,
    placeholderData: keepPreviousData,
  });

/** Streams calls that match the filter as they finish. */
export const followRequestLog = (scope: RequestScope, filter: RequestFilter, signal: AbortSignal) =>
  followRequests<RequestEntry>({ send: sendRequest }, ENDPOINTS[scope], toQuery(filter), { signal });

/** Downloads the calls that match the filter, at most 50,000. */
export async function downloadRequests(scope: RequestScope, filter: RequestFilter): Promise<void> {
  const sent = sendRequest(ENDPOINTS[scope].csv as Endpoint, { query: toQuery(filter) });
  const response = await throwForStatus(await sent);
  downloadFile('requests.csv', await response.blob());
}

/** Cost breakdown of a call or video, refetched while the call is open. */
export const receiptQuery = (ref: string) =>
  queryOptions({
    queryKey: ['receipt', ref],
    queryFn: async ({ signal }) => (await callApi(getReceipt, { params: { ref } }, { signal })).data,
    refetchInterval: ({ state }) => (state.data?.outcome === 'open' ? 5_000 : false),
  });
