import { keepPreviousData, queryOptions, useQuery, useQueryClient } from '@tanstack/react-query';
import type { adminGetUser, adminListAudit } from '../../contract/admin-accounts.ts';
import type { getTask } from '../../contract/admin-videos.ts';
import type { getChannel } from '../../contract/channels.ts';
import type { adminListDeviceClients } from '../../contract/device-clients.ts';
import type { Endpoint, EndpointPart } from '../../contract/endpoint.ts';
import type { getModelRow } from '../../contract/models.ts';
import type { adminListAnnouncements } from '../../contract/notifications.ts';
import {
  type adminGetPackageCard,
  adminListPackageCards,
  type adminListRedemptionCodes,
} from '../../contract/plans.ts';
import type { adminGetTicket } from '../../contract/tickets.ts';
import { callAnyApi } from './api-client.ts';
import { refetchPlanAndCredits } from './self.ts';

/** Rows per page of an admin list. */
export const ADMIN_PAGE_SIZE = 25;

type QueryParams = Readonly<Record<string, string | undefined>>;
/** Response of a list endpoint. */
export interface ListResponse<Row> {
  readonly data: readonly Row[];
  readonly total: number;
  /** Set for long lists: more rows than `total` exist, and `next` is the cursor of the next page. */
  readonly total_is_minimum?: boolean;
  readonly next?: string | null;
}
/** Type of one row of a list endpoint. */
export type ListItem<E extends Endpoint> =
  EndpointPart<E, 'response'> extends { readonly data: readonly (infer Row)[] } ? Row : never;
/** The `data` of an endpoint's response. */
export type ResponseData<E extends Endpoint> =
  EndpointPart<E, 'response'> extends { readonly data: infer Data } ? Data : never;

/** One page of a list endpoint; the previous page stays visible while the next one loads. */
export const listQuery = <const E extends Endpoint>(endpoint: E, query: QueryParams, params: QueryParams = {}) =>
  queryOptions({
    queryKey: ['admin', endpoint.path, query, params],
    queryFn: ({ signal }) => callAnyApi(endpoint, { query, params }, { signal }) as Promise<ListResponse<ListItem<E>>>,
    placeholderData: keepPreviousData,
  });

/** The `data` of an endpoint that does not return a list. */
export const dataQuery = <const E extends Endpoint>(
  endpoint: E,
  input: { readonly params?: Readonly<Record<string, string>>; readonly query?: QueryParams },
) =>
  queryOptions({
    queryKey: ['admin', endpoint.path, input],
    queryFn: async ({ signal }) => ((await callAnyApi(endpoint, input, { signal })) as { data: ResponseData<E> }).data,
  });

/** Call the returned function after a change: it refetches all admin data and the account data that depends on it. */
export function useInvalidateQueries(): () => Promise<void> {
  const queries = useQueryClient();
  return async () => {
    await Promise.all([queries.invalidateQueries({ queryKey: ['admin'] }), refetchPlanAndCredits(queries)]);
  };
}

/** A ticket with its replies, notes and author. */
export type AdminTicket = ResponseData<typeof adminGetTicket>;
/** An announcement with its texts in both languages. */
export type Announcement = ListItem<typeof adminListAnnouncements>;
/** One entry of the audit log. */
export type AuditEntry = ListItem<typeof adminListAudit>;
/** A channel with its health and its credentials, without their keys. */
export type ChannelDetail = ResponseData<typeof getChannel>;
/** A masked redemption code. */
export type CodeListItem = ListItem<typeof adminListRedemptionCodes>;
/** An OAuth client for device sign-ins. */
export type DeviceClient = ListItem<typeof adminListDeviceClients>;
/** A row of the model catalogue. */
export type Model = ResponseData<typeof getModelRow>;
/** A plan with all its settings. */
export type Plan = ResponseData<typeof adminGetPackageCard>;
/** A task with its history and ledger entries. */
export type Task = ResponseData<typeof getTask>;
/** An account as administrators see it. */
export type User = ResponseData<typeof adminGetUser>;

/** Plans that can be assigned to an account, as select options; undefined while loading. */
export function usePlanOptions() {
  const plans = useQuery(listQuery(adminListPackageCards, { page_size: '50' }));
  const options = plans.data?.data
    .filter((plan) => !plan.system_builtin)
    .map((plan) => ({ value: plan.package_code, label: plan.name }));
  return { options, error: plans.error };
}

/** URLs write a slash in a model name as `~`. */
export const toModelUrlSegment = (id: string): string => id.replaceAll('/', '~');
