import { queryOptions } from '@tanstack/react-query';
import type { EndpointPart } from '../../contract/endpoint.ts';
import { getOwnPackage, listPackageCards } from '../../contract/plans.ts';
import { callApi } from './api-client.ts';

export type CurrentPlan = EndpointPart<typeof getOwnPackage, 'response'>['data'];
export type PurchasablePlan = EndpointPart<typeof listPackageCards, 'response'>['data'][number];

export const currentPlanQuery = queryOptions({
  queryKey: ['plan', 'own'],
  queryFn: async ({ signal }) => (await callApi(getOwnPackage, {}, { signal })).data,
});

export const purchasablePlansQuery = queryOptions({
  queryKey: ['plan', 'purchasable'],
  queryFn: async ({ signal }) => (await callApi(listPackageCards, {}, { signal })).data,
  staleTime: 60_000,
});
