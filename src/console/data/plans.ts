import { type QueryClient, queryOptions } from '@tanstack/react-query';
import type { EndpointPart } from '../../contract/endpoint.ts';
import { getOwnPackage, listPackageCards } from '../../contract/plans.ts';
import { callApi } from './api-client.ts';
import { usableModelsQuery } from './models.ts';
import { selfQuery } from './self.ts';

export type CurrentPlan = EndpointPart<typeof getOwnPackage, 'response'>['data'];
export type PurchasablePlan = EndpointPart<typeof listPackageCards, 'response'>['data'][number];

/** Key of all that is asked about plans. */
export const PLAN_KEY = ['plan'] as const;

export const currentPlanQuery = queryOptions({
  queryKey: [...PLAN_KEY, 'own'],
  queryFn: async ({ signal }) => (await callApi(getOwnPackage, {}, { signal })).data,
});

export const purchasablePlansQuery = queryOptions({
  queryKey: [...PLAN_KEY, 'purchasable'],
  queryFn: async ({ signal }) => (await callApi(listPackageCards, {}, { signal })).data,
  staleTime: 60_000,
});

/** To be called after plan or credits of the account have changed: refetches what shows or follows from them. */
export async function refetchPlanAndCredits(queries: QueryClient): Promise<void> {
  const keys = [PLAN_KEY, selfQuery.queryKey, usableModelsQuery.queryKey];
  await Promise.all(keys.map((queryKey) => queries.invalidateQueries({ queryKey })));
}
