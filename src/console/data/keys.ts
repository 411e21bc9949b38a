import { queryOptions } from '@tanstack/react-query';
import * as apiTokenEndpoints from '../../contract/api-tokens.ts';
import type { EndpointPart } from '../../contract/endpoint.ts';
import { callApi } from './api-client.ts';

type TokenSort = EndpointPart<typeof apiTokenEndpoints.listTokens, 'query'>['sort'];

/** API keys per page. */
export const PAGE_SIZE = 20;

/** API keys of the account. @param sort a sort of the endpoint, as in the URL */
export const apiKeysQuery = (page: number, sort?: string) =>
  queryOptions({
    queryKey: ['tokens', page, sort],
    queryFn: ({ signal }) =>
      callApi(apiTokenEndpoints.listTokens, { query: { page: String(page), sort: sort as TokenSort } }, { signal }),
  });

/** One API key of the account. */
export const apiKeyQuery = (id: number) =>
  queryOptions({
    queryKey: ['tokens', 'one', id],
    queryFn: async ({ signal }) =>
      (await callApi(apiTokenEndpoints.getToken, { params: { id: String(id) } }, { signal })).data,
  });

/** An API key as listed; its secret is not included. */
export type ApiKey = EndpointPart<typeof apiTokenEndpoints.listTokens, 'response'>['data'][number];
/** Request body that creates or changes an API key. */
export type ApiKeyBody = EndpointPart<typeof apiTokenEndpoints.createToken, 'body'>;
