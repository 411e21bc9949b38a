import { MutationCache, QueryCache, QueryClient, queryOptions, useQuery } from '@tanstack/react-query';
import { getSelf } from '../../contract/accounts.ts';
import { ReelgateError } from '../../sdk/errors.ts';
import { call, readStatus } from './client.ts';
import { readUserId } from './session.ts';

/** Told when the service no longer knows the session. */
let onSignedOut: () => void = () => {};
export const whenSignedOut = (listener: () => void): void => {
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
  queryFn: readStatus,
  staleTime: Number.POSITIVE_INFINITY,
});

export const selfQuery = queryOptions({
  queryKey: ['self'],
  queryFn: async ({ signal }) => (await call(getSelf, {}, { signal })).data,
});

export const useSelf = () => useQuery(selfQuery);
export const useStatus = () => useQuery(statusQuery);

export type Self = Awaited<ReturnType<Extract<(typeof selfQuery)['queryFn'], (...args: never[]) => unknown>>>;

/** Roles that see the administration pages. */
export const isAdmin = (role: string | undefined): boolean => role === 'admin' || role === 'root';
