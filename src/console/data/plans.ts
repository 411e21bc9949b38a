import { type QueryClient, queryOptions } from '@tanstack/react-query';
import type { EndpointPart } from '../../contract/endpoint.ts';
import { getOwnPackage, listPackageCards } from '../../contract/plans.ts';
import { callApi } from './api-client.ts';
import { usableModelsQuery } from './models.ts';
import { selfQuery } from './self.ts';

/** The account's active and queued plan. */
export type CurrentPlan = EndpointPart<typeof getOwnPackage, 'response'>['data'];
/** A plan on offer. */
export type PurchasablePlan = EndpointPart<typeof listPackageCards, 'response'>['data'][number];

/** Prefix of all query keys about plans. */
export const PLAN_KEY = ['plan'] as const;

/** Active and queued plan of the account. */
export const currentPlanQuery = queryOptions({
  queryKey: [...PLAN_KEY, 'own'],
  queryFn: async ({ signal }) => (await callApi(getOwnPackage, {}, { signal })).data,
});

/** Plans on offer. */
export const purchasablePlansQuery = queryOptions({
  queryKey: [...PLAN_KEY, 'purchasable'],
  queryFn: async ({ signal }) => (await callApi(listPackageCards, {}, { signal })).data,
  staleTime: 60_000,
});

/** Call after the account's plan or credits have changed: refetches the queries that depend on them. */
export async function refetchPlanAndCredits(queries: QueryClient): Promise<void> {
  const keys = [PLAN_KEY, selfQuery.queryKey, usableModelsQuery.queryKey];
  await Promise.all(keys.map((queryKey) => queries.invalidateQueries({ queryKey })));
}
