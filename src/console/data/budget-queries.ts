import { queryOptions } from '@tanstack/react-query';
import { listBudgets } from '../../contract/budgets.ts';
import type { EndpointPart } from '../../contract/endpoint.ts';
import { callApi } from './api-client.ts';

export type BudgetEntry = EndpointPart<typeof listBudgets, 'response'>['data'][number];

export const budgetsQuery = queryOptions({
  queryKey: ['budgets'],
  queryFn: async ({ signal }) => (await callApi(listBudgets, {}, { signal })).data,
  staleTime: 60_000,
});
