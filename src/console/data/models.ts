import { queryOptions } from '@tanstack/react-query';
import type { EndpointPart } from '../../contract/endpoint.ts';
import type { VideoOperation } from '../../contract/input-roles.ts';
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

/** Operations on an existing video. */
export const CHANGE_OPERATIONS = ['edit', 'extend'] as const;
/** One of them. */
export type ChangeOperation = (typeof CHANGE_OPERATIONS)[number];

/** Whether a model can do an operation; one whose capabilities are unknown can only make new videos. */
export const canDo = ({ kind, capability }: UsableModel, operation: VideoOperation): boolean =>
  kind === 'video' &&
  (capability === null || capability.operations.length === 0
    ? operation === 'generate'
    : capability.operations.includes(operation));
