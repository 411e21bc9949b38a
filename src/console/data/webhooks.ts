import { queryOptions } from '@tanstack/react-query';
import type { EndpointPart } from '../../contract/endpoint.ts';
import * as endpoints from '../../contract/webhooks.ts';
import { callApi } from './api-client.ts';

/** A webhook of the account. */
export type Webhook = EndpointPart<typeof endpoints.getWebhook, 'response'>['data'];
/** One delivery of an event to a webhook. */
export type WebhookDelivery = EndpointPart<typeof endpoints.listDeliveries, 'response'>['data']['deliveries'][number];

/** An account has at most ten webhooks, so one page lists all of them. */
export const webhooksQuery = queryOptions({
  queryKey: ['webhooks'],
  queryFn: ({ signal }) => callApi(endpoints.listWebhooks, { query: {} }, { signal }),
});

/** One webhook of the account. */
export const webhookQuery = (id: string) =>
  queryOptions({
    queryKey: ['webhooks', id],
    queryFn: async ({ signal }) => (await callApi(endpoints.getWebhook, { params: { id } }, { signal })).data,
  });

/** Deliveries of a webhook, newest first. @param after `next` of the previous page */
export const deliveriesQuery = (id: string, status: endpoints.DeliveryStatus | undefined, after: string | undefined) =>
  queryOptions({
    queryKey: ['webhooks', id, 'deliveries', status ?? '', after ?? ''],
    queryFn: async ({ signal }) =>
      (await callApi(endpoints.listDeliveries, { params: { id }, query: { status, after } }, { signal })).data,
    refetchInterval: 5_000,
  });
