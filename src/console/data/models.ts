import { queryOptions } from '@tanstack/react-query';
import type { PartOf } from '../../contract/endpoint.ts';
import { listUsableModels } from '../../contract/model-catalog.ts';
import { call } from './client.ts';

export type UsableModel = PartOf<typeof listUsableModels, 'answer'>['data'][number];

/** Models this account can call now, with what they can do and cost. */
export const modelsQuery = queryOptions({
  queryKey: ['models'],
  queryFn: async ({ signal }) => (await call(listUsableModels, { query: {} }, { signal })).data,
  staleTime: 60_000,
});
