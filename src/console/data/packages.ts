import { queryOptions } from '@tanstack/react-query';
import type { PartOf } from '../../contract/endpoint.ts';
import { getOwnPackage, listPackageCards } from '../../contract/packages.ts';
import { call } from './client.ts';

export type OwnPackage = PartOf<typeof getOwnPackage, 'answer'>['data'];
export type PackageCard = PartOf<typeof listPackageCards, 'answer'>['data'][number];

export const ownPackageQuery = queryOptions({
  queryKey: ['package', 'own'],
  queryFn: async ({ signal }) => (await call(getOwnPackage, {}, { signal })).data,
});

export const packageCardsQuery = queryOptions({
  queryKey: ['package', 'cards'],
  queryFn: async ({ signal }) => (await call(listPackageCards, {}, { signal })).data,
  staleTime: 60_000,
});
