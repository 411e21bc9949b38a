import { MutationCache, QueryCache, QueryClient } from '@tanstack/react-query';
import type { Endpoint } from '../../contract/endpoint.ts';
import { defined } from '../../contract/objects.ts';
import { ORGANIZATION_HEADER } from '../../contract/organization-roles.ts';
import { getStatus } from '../../contract/service.ts';
import { ReelgateError } from '../../sdk/errors.ts';
import { type CallOptions, Transport } from '../../sdk/transport.ts';
import { embeddedStatus, type PublicStatus } from '../page-start.ts';
import { currentLanguage } from '../strings/language.ts';
import { LOCALES } from '../strings/preferred-language.ts';
import { enterOrganization, readOrganization, readUserId } from './browser-storage.ts';

let userHeader = embeddedStatus?.api_user_header ?? 'Service-Api-User';
/** Uses the response that `first-requests.ts` requested early, if there is one. */
const fetchOrTake: typeof fetch = (target, init) => {
  const begun = typeof target === 'string' ? globalThis.firstResponses?.get(target) : undefined;
  if (begun === undefined) return fetch(target, init);
  globalThis.firstResponses?.delete(target as string);
  return begun;
};
const transport = new Transport({
  // Read for every request, since it ends with the session.
  get organization() {
    return readOrganization() ?? '';
  },
  baseUrl: '',
  credentials: () => ({ userId: readUserId(), userHeader }),
  fetch: fetchOrTake,
  refresh: () => onSignedOut(),
});

const withLanguage = (headers: Readonly<Record<string, string>> | undefined) => ({
  'accept-language': LOCALES[currentLanguage()],
  ...headers,
});

/** Headers of a request that is not sent by the transport. */
export const requestHeaders = (): Readonly<Record<string, string>> =>
  withLanguage({
    ...defined({ [ORGANIZATION_HEADER]: readOrganization() }),
    accept: 'application/json',
    [userHeader]: String(readUserId() ?? ''),
  });

/** Calls an endpoint as the signed-in user, in the language of the page. @throws ReelgateError */
export const callApi: Transport['call'] = (endpoint, input, options) =>
  transport.call(endpoint, input, { ...options, headers: withLanguage(options?.headers) });

/** Calls an endpoint that is not known at compile time, so its input is not type-checked. */
export const callAnyApi = (
  endpoint: Endpoint,
  input: { readonly params?: object; readonly query?: object },
  options: CallOptions,
): Promise<unknown> => callApi(endpoint, input, options);

/** Raw response of an endpoint, for streams and files. */
export const sendRequest: Transport['send'] = (endpoint, input, options) =>
  transport.send(endpoint, input, { ...options, headers: withLanguage(options?.headers) });

/** Fetches the server's current public settings. */
export async function fetchStatus(): Promise<PublicStatus> {
  const { data } = await callApi(getStatus, {});
  userHeader = data.api_user_header;
  return data;
}

/** Called when the service rejects the session. @returns whether there is a new one, to send the request again with */
export let onSignedOut: () => Promise<boolean> = async () => false;

/** Registers the callback for a rejected session. */
export const setSignedOutListener = (listener: typeof onSignedOut): void => {
  onSignedOut = listener;
};

/** Called when the service refuses everything until a second factor is set up. */
let onSecondFactorMissing: () => void = () => {};

/** Registers the callback for a missing second factor. */
export const setSecondFactorListener = (listener: () => void): void => {
  onSecondFactorMissing = listener;
};

/** The organization that the console acts for was closed or deleted, or this person removed from it. */
const LEFT_BEHIND: ReadonlySet<string> = new Set(['organization_not_found', 'organization_closed']);

const onError = (error: unknown): void => {
  if (error instanceof ReelgateError && error.code === 'second_factor_required') onSecondFactorMissing();
  if (error instanceof ReelgateError && LEFT_BEHIND.has(error.code) && readOrganization() !== undefined)
    enterOrganization(undefined);
  if (error instanceof ReelgateError && error.status === 401) void onSignedOut();
};

/** Query cache of the console. */
export const queryClient = new QueryClient({
  queryCache: new QueryCache({ onError }),
  mutationCache: new MutationCache({ onError }),
  // The transport already retries; retrying here too would only delay the error.
  defaultOptions: { queries: { retry: false, staleTime: 10_000, refetchOnWindowFocus: true } },
});
