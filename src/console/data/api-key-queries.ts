import { queryOptions } from '@tanstack/react-query';
import type { EndpointPart } from '../../contract/endpoint.ts';
import * as lines from '../../contract/tokens.ts';
import { callApi } from './api-client.ts';

export const PAGE_SIZE = 20;

export const apiKeysQuery = (page: number) =>
  queryOptions({
    queryKey: ['tokens', page],
    queryFn: ({ signal }) => callApi(lines.listTokens, { query: { page: String(page) } }, { signal }),
  });

export type ApiKey = EndpointPart<typeof lines.listTokens, 'response'>['data'][number];
export type ApiKeyBody = EndpointPart<typeof lines.createToken, 'body'>;
