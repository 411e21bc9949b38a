import { keepPreviousData, queryOptions, useQuery, useQueryClient } from '@tanstack/react-query';
import { useCallback, useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { type adminGetUser, type adminListAudit, adminListUsers } from '../../contract/admin-accounts.ts';
import type { getTask } from '../../contract/admin-videos.ts';
import { type getChannel, listChannelPresets, listChannels } from '../../contract/channels.ts';
import { adminListDeviceClients } from '../../contract/device-clients.ts';
import type { Endpoint, EndpointPart } from '../../contract/endpoint.ts';
import { type getModelRow, listVendors } from '../../contract/models.ts';
import type { adminListAnnouncements } from '../../contract/notifications.ts';
import { adminListOrganizations } from '../../contract/organizations.ts';
import {
  type adminGetPackageCard,
  adminListPackageCards,
  adminListRedemptionBatches,
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

/** A batch of redemption codes. */
export type CodeBatch = ListItem<typeof adminListRedemptionBatches>;

/** The newest batches of redemption codes; empty while loading. */
export function useCodeBatches(): readonly CodeBatch[] {
  const { data } = useQuery(listQuery(adminListRedemptionBatches, { page_size: String(MAX_IDS) }));
  return data?.data ?? NO_BATCHES;
}
const NO_BATCHES: readonly CodeBatch[] = [];

/** URLs write a slash in a model name as `~`. */
export const toModelUrlSegment = (id: string): string => id.replaceAll('/', '~');

/** A vendor with its credential schemes. */
export type Vendor = ResponseData<typeof listVendors>[number];
/** One set of credential fields a vendor accepts. */
export type CredentialScheme = Vendor['credentials'][number];
/** One field of a credential scheme. */
export type CredentialField = CredentialScheme['fields'][number];

/** The list of vendors, in a language, only changes with a release of the server. */
const vendorsQuery = (language: string) => ({
  ...dataQuery(listVendors, {}),
  queryKey: ['admin', listVendors.path, language],
  staleTime: Number.POSITIVE_INFINITY,
});

/** Vendors for which a channel can be created, titled in the language of the page; empty while loading. */
export function useVendors(): readonly Vendor[] {
  const { t, i18n } = useTranslation('admin-channels');
  const { data } = useQuery(vendorsQuery(i18n.language));
  return useMemo(
    () =>
      (data ?? []).map((vendor) => ({
        ...vendor,
        title: t(`vendors.${vendor.name as 'openai'}`, { defaultValue: vendor.title }),
      })),
    [data, t],
  );
}

/** The vendors as options of a select. */
export const toVendorOptions = (vendors: readonly Vendor[]) =>
  vendors.map(({ name, title }) => ({ value: name, label: title }));

/** Title of a vendor; its name while the vendors are loading. */
export const vendorTitle = (vendors: readonly Vendor[], name: string): string =>
  vendors.find((vendor) => vendor.name === name)?.title ?? name;

/** Preset of a known chat provider. */
export type ChannelPreset = ResponseData<typeof listChannelPresets>[number];

/** Presets of known chat providers; empty while loading. */
export const useChannelPresets = (): readonly ChannelPreset[] =>
  useQuery({ ...dataQuery(listChannelPresets, {}), staleTime: Number.POSITIVE_INFINITY }).data ?? [];

const STALE_MS = 60_000;

/** The maximum number of ids in one request. */
const MAX_IDS = 50;

/** Name by id; undefined while loading and for deleted entities. */
export type NameLookup = (id: number) => string | undefined;

/** Fetches the first users on the screen in one request. */
export function useUsersById(ids: readonly number[] | undefined) {
  const uniqueIds = toUniqueIds(ids);
  const { data } = useQuery({
    ...listQuery(adminListUsers, { ids: uniqueIds.join(), page_size: String(MAX_IDS) }),
    enabled: uniqueIds.length > 0,
    staleTime: STALE_MS,
  });
  return useMemo(() => new Map(data?.data.map((user) => [user.id, user])), [data]);
}

/** Names of users and organizations by id. */
export function useUserNames(ids: readonly number[] | undefined): NameLookup {
  const users = useUsersById(ids);
  const organizations = useOrganizationNames(ids);
  return useCallback((id) => users.get(id)?.username ?? organizations(id), [users, organizations]);
}

/** Names of the organizations among accounts. */
function useOrganizationNames(ids: readonly number[] | undefined): NameLookup {
  const uniqueIds = toUniqueIds(ids);
  const { data } = useQuery({
    ...listQuery(adminListOrganizations, { ids: uniqueIds.join(), page_size: String(MAX_IDS) }),
    enabled: uniqueIds.length > 0,
    staleTime: STALE_MS,
  });
  return useMemo(() => {
    const names = new Map(data?.data.map(({ id, name }) => [id, name]));
    return (id) => names.get(id);
  }, [data]);
}

const toUniqueIds = (ids: readonly number[] | undefined): readonly number[] =>
  [...new Set(ids)].slice(0, MAX_IDS).sort((one, two) => one - two);

const NO_CHANNELS: readonly ListItem<typeof listChannels>[] = [];

/** The newest channels, in practice nearly always all of them. */
export function useChannels(enabled = true): readonly ListItem<typeof listChannels>[] {
  const { data } = useQuery({
    ...listQuery(listChannels, { page_size: String(MAX_IDS) }),
    staleTime: STALE_MS,
    enabled,
  });
  return data?.data ?? NO_CHANNELS;
}

/** Names of channels by id. @param enabled false: fetches nothing, as for users who are not administrators */
export function useChannelNames(enabled = true): NameLookup {
  const channels = useChannels(enabled);
  return useMemo(() => {
    const names = new Map(channels.map(({ id, name }) => [id, name]));
    return (id) => names.get(id);
  }, [channels]);
}

/** Names of device clients by id; the id itself while loading and for deleted clients. */
export function useClientNames(): (id: string) => string {
  const { data } = useQuery({
    ...listQuery(adminListDeviceClients, { page_size: String(MAX_IDS) }),
    staleTime: STALE_MS,
  });
  return useMemo(() => {
    const names = new Map(data?.data.map(({ id, name }) => [id, name]));
    return (id) => names.get(id) ?? id;
  }, [data]);
}

/** Names of plans by code, for administrators; the code itself while loading and for deleted plans. */
export function usePlanNames(): (code: string) => string {
  const { data } = useQuery({
    ...listQuery(adminListPackageCards, { page_size: String(MAX_IDS) }),
    staleTime: STALE_MS,
  });
  return useMemo(() => {
    const names = new Map(data?.data.map((plan) => [plan.package_code, plan.name]));
    return (code) => names.get(code) ?? code;
  }, [data]);
}
