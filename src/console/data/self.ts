import { type QueryClient, queryOptions, useQuery } from '@tanstack/react-query';
import { useCallback } from 'react';
import { getSelf } from '../../contract/accounts.ts';
import type { EndpointPart } from '../../contract/endpoint.ts';
import type { VideoOperation } from '../../contract/generation-ways.ts';
import { listUsableModels } from '../../contract/models.ts';
import { getOwnPackage, listPackageCards } from '../../contract/plans.ts';
import { embeddedStatus } from '../page-start.ts';
import { callApi, fetchStatus } from './api-client.ts';

const statusQuery = queryOptions({
  queryKey: ['status'],
  queryFn: fetchStatus,
  initialData: embeddedStatus,
  staleTime: Number.POSITIVE_INFINITY,
});

/** The signed-in account. */
export const selfQuery = queryOptions({
  queryKey: ['self'],
  queryFn: async ({ signal }) => (await callApi(getSelf, {}, { signal })).data,
});

/** The signed-in account, as a query. */
export const useSelf = () => useQuery(selfQuery);

/** The server's public settings, as a query. */
export const useStatus = () => useQuery(statusQuery);

/** Name of the service, as configured by its administrator. */
export const useSiteName = (): string => useStatus().data?.site_name ?? document.title.split(' · ').at(-1) ?? '';

/** The signed-in account. */
export type Self = Awaited<ReturnType<Extract<(typeof selfQuery)['queryFn'], (...args: never[]) => unknown>>>;

/** Whether the role can see the admin pages. */
export const isAdmin = (role: string | undefined): boolean => role === 'admin' || role === 'root';

/** A model the account can call. */
export type UsableModel = EndpointPart<typeof listUsableModels, 'response'>['data'][number];

/** Models the account can call, with capabilities and prices. */
export const usableModelsQuery = queryOptions({
  queryKey: ['models'],
  queryFn: async ({ signal }) => (await callApi(listUsableModels, { query: {} }, { signal })).data,
  staleTime: 60_000,
});

/** The vendor's title of the model, without the date of its release; the id of one without a title. */
export const modelTitle = ({ id, capability }: UsableModel): string =>
  capability?.title.replace(/-\d{6}\b/, '').replace(/-(?=[a-z])/g, ' ') ?? id;

/** Titles of models by id; the id itself where the model is no longer offered. */
export function useModelTitle(): (id: string) => string {
  const { data } = useQuery(usableModelsQuery);
  return useCallback(
    (id) => {
      const model = data?.find((each) => each.id === id);
      return model === undefined ? id : modelTitle(model);
    },
    [data],
  );
}

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
