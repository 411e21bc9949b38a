import { queryOptions } from '@tanstack/react-query';
import type { EndpointPart } from '../../contract/endpoint.ts';
import { listUsableModels } from '../../contract/models.ts';
import { callApi } from './api-client.ts';

/** A model the account can call. */
export type UsableModel = EndpointPart<typeof listUsableModels, 'response'>['data'][number];

/** Models the account can call, with capabilities and prices. */
export const usableModelsQuery = queryOptions({
  queryKey: ['models'],
  queryFn: async ({ signal }) => (await callApi(listUsableModels, { query: {} }, { signal })).data,
  staleTime: 60_000,
});
