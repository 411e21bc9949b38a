import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import type { Endpoint, EndpointPart } from '../../contract/endpoint.ts';
import { getReceipt } from '../../contract/receipts.ts';
import * as endpoints from '../../contract/request-log.ts';
import { parseErrorResponse, ReelgateError } from '../../sdk/errors.ts';
import { followRequests } from '../../sdk/requests.ts';
import { callAnyApi, callApi, sendRequest } from './api-client.ts';
import { downloadFile } from './download-file.ts';

/** Of the signed-in account, or of all accounts for administrators. */
export type RequestScope = 'own' | 'all';

type AdminEntry = EndpointPart<typeof endpoints.listAllRequests, 'response'>['data'][number];
/** One ended call; who made it and which channel served it are known to administrators only. */
export type RequestEntry = EndpointPart<typeof endpoints.listRequests, 'response'>['data'][number] &
  Partial<Pick<AdminEntry, 'user_id' | 'channel_id' | 'served_model'>>;
export type Receipt = EndpointPart<typeof getReceipt, 'response'>['data'];
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

/** Filters of the address as the service takes them: a day's filter names its last second, the service excludes its end. */
const toQuery = ({ to, ...filter }: RequestFilter): RequestFilter => ({
  ...filter,
  to: to === undefined ? undefined : String(Number(to) + 1),
});

/** A cursor of the URL; another text there is dropped, as unreadable filters are. */
const readCursor = (text: string | undefined): string | undefined =>
  text !== undefined && new RegExp(endpoints.CURSOR_PATTERN).test(text) ? text : undefined;

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

/** Calls that fit the filter as they end. */
export const followRequestLog = (scope: RequestScope, filter: RequestFilter, signal: AbortSignal) =>
  followRequests<RequestEntry>({ send: sendRequest }, ENDPOINTS[scope].live, toQuery(filter), signal);

/** Saves the calls that fit the filter, at most 50,000. */
export async function downloadRequests(scope: RequestScope, filter: RequestFilter): Promise<void> {
  const response = await sendRequest(ENDPOINTS[scope].csv as Endpoint, { query: toQuery(filter) });
  if (!response.ok) {
    const body: unknown = await response.json().catch(() => undefined);
    throw (
      parseErrorResponse(response.status, response.headers, body) ??
      new ReelgateError('The service sent no table.', { status: response.status, code: 'not_a_table' })
    );
  }
  downloadFile('requests.csv', await response.blob());
}

/** What a call or video cost and why. An open one changes. */
export const receiptQuery = (ref: string) =>
  queryOptions({
    queryKey: ['receipt', ref],
    queryFn: async ({ signal }) => (await callApi(getReceipt, { params: { ref } }, { signal })).data,
    refetchInterval: ({ state }) => (state.data?.outcome === 'open' ? 5_000 : false),
  });
