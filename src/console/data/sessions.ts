import { queryOptions } from '@tanstack/react-query';
import { getEmail, listSessions } from '../../contract/accounts.ts';
import { listDevices } from '../../contract/device-auth.ts';
import type { EndpointPart } from '../../contract/endpoint.ts';
import { callApi } from './api-client.ts';

/** Sessions or devices per page; the default of both endpoints. */
export const PAGE_SIZE = 20;

/** One page of the account's browser sessions. */
export const sessionsQuery = (page: number) =>
  queryOptions({
    queryKey: ['sessions', page],
    queryFn: ({ signal }) => callApi(listSessions, { query: { page: String(page) } }, { signal }),
  });

/** E-mail address of the account and its confirmation. */
export const emailQuery = queryOptions({
  queryKey: ['email'],
  queryFn: async ({ signal }) => (await callApi(getEmail, {}, { signal })).data,
});

/** A device signed in by code. */
export type Device = EndpointPart<typeof listDevices, 'response'>['data'][number];

/** One page of the account's devices. */
export const devicesQuery = (page: number) =>
  queryOptions({
    queryKey: ['devices', page],
    queryFn: ({ signal }) => callApi(listDevices, { query: { page: String(page) } }, { signal }),
  });
