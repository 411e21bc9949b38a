import { useQuery } from '@tanstack/react-query';
import { useCallback, useMemo } from 'react';
import { adminListUsers } from '../../contract/admin-accounts.ts';
import { listChannels } from '../../contract/channels.ts';
import { adminListOrganizations } from '../../contract/organizations.ts';
import { adminListPackageCards } from '../../contract/plans.ts';
import { type ListItem, listQuery } from './admin.ts';

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
