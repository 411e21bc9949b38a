import { queryOptions } from '@tanstack/react-query';
import type { PartOf } from '../../contract/endpoint.ts';
import * as lines from '../../contract/tokens.ts';
import { call } from './client.ts';

export const PAGE_SIZE = 20;

export const tokensQuery = (page: number) =>
  queryOptions({
    queryKey: ['tokens', page],
    queryFn: ({ signal }) => call(lines.listTokens, { query: { page: String(page) } }, { signal }),
  });

export type TokenRow = PartOf<typeof lines.listTokens, 'answer'>['data'][number];
export type TokenBody = PartOf<typeof lines.makeToken, 'body'>;
