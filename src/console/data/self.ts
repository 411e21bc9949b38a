import { queryOptions, useQuery } from '@tanstack/react-query';
import { getSelf } from '../../contract/accounts.ts';
import { callApi, fetchStatus } from './api-client.ts';
import { embeddedStatus } from './embedded-status.ts';

const statusQuery = queryOptions({
  queryKey: ['status'],
  queryFn: fetchStatus,
  initialData: embeddedStatus,
  staleTime: Number.POSITIVE_INFINITY,
});

/** The signed-in account. */
export const selfQuery = queryOptions({
  queryKey: ['self'],
  queryFn: async ({ signal }) => (await callApi(getSelf, {}, { signal })).data,
});

/** The signed-in account, as a query. */
export const useSelf = () => useQuery(selfQuery);

/** The server's public settings, as a query. */
export const useStatus = () => useQuery(statusQuery);

/** Name of the service, as configured by its administrator. */
export const useSiteName = (): string => useStatus().data?.site_name ?? document.title.split(' · ').at(-1) ?? '';

/** The signed-in account. */
export type Self = Awaited<ReturnType<Extract<(typeof selfQuery)['queryFn'], (...args: never[]) => unknown>>>;

/** Whether the role can see the admin pages. */
export const isAdmin = (role: string | undefined): boolean => role === 'admin' || role === 'root';
