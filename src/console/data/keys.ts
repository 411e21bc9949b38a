import { queryOptions } from '@tanstack/react-query';
import i18next from 'i18next';
import * as apiTokenEndpoints from '../../contract/api-tokens.ts';
import type { EndpointPart } from '../../contract/endpoint.ts';
import { ReelgateError } from '../../sdk/errors.ts';
import { callApi } from './api-client.ts';

type TokenSort = EndpointPart<typeof apiTokenEndpoints.listTokens, 'query'>['sort'];

export const PAGE_SIZE = 20;
const MAX_PAGE_SIZE = 50;

/** @param sort a sort of the endpoint, as the URL has it */
export const apiKeysQuery = (page: number, sort?: string) =>
  queryOptions({
    queryKey: ['tokens', page, sort],
    queryFn: ({ signal }) =>
      callApi(apiTokenEndpoints.listTokens, { query: { page: String(page), sort: sort as TokenSort } }, { signal }),
  });

/** One key of the account, which may be on any page of the list. */
export const findApiKeyQuery = (id: number) =>
  queryOptions({
    queryKey: ['tokens', 'one', id],
    queryFn: async ({ signal }) => {
      for (let page = 1; ; page += 1) {
        const query = { page: String(page), page_size: String(MAX_PAGE_SIZE) };
        const { data } = await callApi(apiTokenEndpoints.listTokens, { query }, { signal });
        const found = data.find((key) => key.id === id);
        if (found !== undefined) return found;
        if (data.length < MAX_PAGE_SIZE)
          throw new ReelgateError(i18next.t('account:apiKeys.unknown'), { code: 'not_exist' });
      }
    },
  });

export type ApiKey = EndpointPart<typeof apiTokenEndpoints.listTokens, 'response'>['data'][number];
export type ApiKeyBody = EndpointPart<typeof apiTokenEndpoints.createToken, 'body'>;
