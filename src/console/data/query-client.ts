import { MutationCache, QueryCache, QueryClient, queryOptions, useQuery } from '@tanstack/react-query';
import { getSelf } from '../../contract/accounts.ts';
import { ReelgateError } from '../../sdk/errors.ts';
import { callApi, fetchStatus } from './api-client.ts';
import { readUserId } from './stored-user.ts';

/** Called when the service no longer accepts the session. */
let onSignedOut: () => void = () => {};
export const setSignedOutListener = (listener: () => void): void => {
  onSignedOut = listener;
};

const onError = (error: unknown): void => {
  if (error instanceof ReelgateError && error.status === 401 && readUserId() !== undefined) onSignedOut();
};

export const queryClient = new QueryClient({
  queryCache: new QueryCache({ onError }),
  mutationCache: new MutationCache({ onError }),
  // The transport repeats what may be repeated; doing it here too would only delay bad news.
  defaultOptions: { queries: { retry: false, staleTime: 10_000, refetchOnWindowFocus: true } },
});

export const statusQuery = queryOptions({
  queryKey: ['status'],
  queryFn: fetchStatus,
  staleTime: Number.POSITIVE_INFINITY,
});

export const selfQuery = queryOptions({
  queryKey: ['self'],
  queryFn: async ({ signal }) => (await callApi(getSelf, {}, { signal })).data,
});

export const useSelf = () => useQuery(selfQuery);
export const useStatus = () => useQuery(statusQuery);

/** The name of the service, as its administrator set it. */
export const useSiteName = (): string => useStatus().data?.site_name ?? document.title.split(' · ').at(-1) ?? '';

export type Self = Awaited<ReturnType<Extract<(typeof selfQuery)['queryFn'], (...args: never[]) => unknown>>>;

/** Roles that see the administration pages. */
export const isAdmin = (role: string | undefined): boolean => role === 'admin' || role === 'root';
