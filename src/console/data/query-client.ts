import { MutationCache, QueryCache, QueryClient } from '@tanstack/react-query';
import { ReelgateError } from '../../sdk/errors.ts';
import { readUserId } from './stored-user-id.ts';

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
