import { queryOptions } from '@tanstack/react-query';
import { listSessions } from '../../contract/accounts.ts';
import { listDevices } from '../../contract/device-auth.ts';
import type { PartOf } from '../../contract/endpoint.ts';
import { getUsage } from '../../contract/usage.ts';
import { call } from './client.ts';

export const PAGE_SIZE = 20;

export const sessionsQuery = (page: number) =>
  queryOptions({
    queryKey: ['sessions', page],
    queryFn: ({ signal }) => call(listSessions, { query: { page: String(page) } }, { signal }),
  });

export type DeviceRow = PartOf<typeof listDevices, 'answer'>['data'][number];

export const devicesQuery = (page: number) =>
  queryOptions({
    queryKey: ['devices', page],
    queryFn: ({ signal }) => call(listDevices, { query: { page: String(page) } }, { signal }),
  });

export type UsageRow = PartOf<typeof getUsage, 'answer'>['data']['rows'][number];

const DAY_SECONDS = 86_400;

/** Use of the last days, today included, by day and model. */
export const usageQuery = (days: number) =>
  queryOptions({
    queryKey: ['usage', days],
    queryFn: async ({ signal }) => {
      const to = Math.floor(Date.now() / 1000);
      const from = to - (days - 1) * DAY_SECONDS;
      const query = { by: 'day,model', from: String(from), to: String(to) };
      return (await call(getUsage, { query }, { signal })).data;
    },
  });
