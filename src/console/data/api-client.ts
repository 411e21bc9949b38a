import { MutationCache, QueryCache, QueryClient } from '@tanstack/react-query';
import type { Endpoint } from '../../contract/endpoint.ts';
import { getStatus } from '../../contract/service.ts';
import { ReelgateError } from '../../sdk/errors.ts';
import { type CallOptions, Transport } from '../../sdk/transport.ts';
import { currentLanguage } from '../strings/language.ts';
import { LOCALES } from '../strings/preferred-language.ts';
import { readUserId } from './browser-storage.ts';
import { embeddedStatus, type PublicStatus } from './embedded-status.ts';

let userHeader = embeddedStatus?.api_user_header ?? 'Service-Api-User';
/** Takes a response that `first-requests.ts` has asked for. */
const fetchOrTake: typeof fetch = (target, init) => {
  const begun = typeof target === 'string' ? globalThis.firstResponses?.get(target) : undefined;
  if (begun === undefined) return fetch(target, init);
  globalThis.firstResponses?.delete(target as string);
  return begun;
};
const createTransport = (): Transport =>
  new Transport({ baseUrl: '', userHeader, credentials: () => ({ userId: readUserId() }), fetch: fetchOrTake });
let transport = createTransport();

const withLanguage = (headers: Readonly<Record<string, string>> | undefined) => ({
  'accept-language': LOCALES[currentLanguage()],
  ...headers,
});

/** Calls an endpoint as the signed-in user, in the language of the page. Throws ReelgateError. */
export const callApi: Transport['call'] = (endpoint, input, options) =>
  transport.call(endpoint, input, { ...options, headers: withLanguage(options?.headers) });

/** The same for an endpoint that is not known at compile time, where the input cannot be checked. */
export const callAnyApi = (
  endpoint: Endpoint,
  input: { readonly params?: object; readonly query?: object },
  options: CallOptions,
): Promise<unknown> => callApi(endpoint, input, options);

/** The raw response of an endpoint, for streams and files. */
export const sendRequest: Transport['send'] = (endpoint, input, options) =>
  transport.send(endpoint, input, { ...options, headers: withLanguage(options?.headers) });

/** The server's public settings as they are now. */
export async function fetchStatus(): Promise<PublicStatus> {
  const { data } = await callApi(getStatus, {});
  if (data.api_user_header !== userHeader) {
    userHeader = data.api_user_header;
    transport = createTransport();
  }
  return data;
}

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
