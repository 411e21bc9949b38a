import type { EndpointPart } from '../contract/endpoint.ts';
import { listEvents } from '../contract/events.ts';
import { defined } from '../contract/objects.ts';
import * as endpoints from '../contract/webhooks.ts';
import { type CallOptions, fetchAllPages, type Transport } from './transport.ts';

export type WebhookInfo = EndpointPart<typeof endpoints.listWebhooks, 'response'>['data'][number];
export type CreateWebhookRequest = EndpointPart<typeof endpoints.createWebhook, 'body'>;
export type UpdateWebhookRequest = EndpointPart<typeof endpoints.updateWebhook, 'body'>;
export type DeliveryInfo = EndpointPart<typeof endpoints.listDeliveries, 'response'>['data']['deliveries'][number];
export type EventInfo = EndpointPart<typeof listEvents, 'response'>['data']['events'][number];

const toParams = (id: number) => ({ params: { id: String(id) } });

/** Webhook endpoints and events. Events can be read with any credentials; the rest needs a session or a user access token. */
export class Webhooks {
  readonly #transport: Transport;
  constructor(transport: Transport) {
    this.#transport = transport;
  }

  list(options: CallOptions = {}): Promise<WebhookInfo[]> {
    return fetchAllPages((query) => this.#transport.call(endpoints.listWebhooks, { query }, options));
  }

  /** Adds an endpoint. The signing secret is returned only here. */
  async create(
    webhook: CreateWebhookRequest,
    options: CallOptions = {},
  ): Promise<{ readonly id: number; readonly secret: string }> {
    return (await this.#transport.call(endpoints.createWebhook, { body: webhook }, options)).data;
  }

  /** Changes the named keys. */
  async update(id: number, change: UpdateWebhookRequest, options: CallOptions = {}): Promise<void> {
    await this.#transport.call(endpoints.updateWebhook, { ...toParams(id), body: change }, options);
  }

  async remove(id: number, options: CallOptions = {}): Promise<void> {
    await this.#transport.call(endpoints.deleteWebhook, toParams(id), options);
  }

  /** Returns the new secret; the old one signs beside it for 24 hours. */
  async rotateSecret(id: number, options: CallOptions = {}): Promise<string> {
    return (await this.#transport.call(endpoints.rotateWebhookSecret, toParams(id), options)).data.secret;
  }

  /** Delivers a test event; returns the id of the delivery. */
  async test(id: number, options: CallOptions = {}): Promise<number> {
    return (await this.#transport.call(endpoints.testWebhook, toParams(id), options)).data.delivery;
  }

  /** One page of the deliveries, newest first. @param page.after `next` of the page before */
  async deliveries(
    id: number,
    page: { readonly status?: endpoints.DeliveryStatus; readonly after?: string; readonly limit?: number } = {},
    options: CallOptions = {},
  ): Promise<{ readonly deliveries: DeliveryInfo[]; readonly next: string | null }> {
    const query = defined({ ...page, limit: page.limit === undefined ? undefined : String(page.limit) });
    return (await this.#transport.call(endpoints.listDeliveries, { ...toParams(id), query }, options)).data;
  }

  async retry(id: number, delivery: number, options: CallOptions = {}): Promise<void> {
    const params = { id: String(id), delivery: String(delivery) };
    await this.#transport.call(endpoints.retryDelivery, { params }, options);
  }

  /** Delivers the events of a time once more. @param range Unix seconds @returns how many */
  async replay(
    id: number,
    range: { readonly since: number; readonly until?: number },
    options: CallOptions = {},
  ): Promise<number> {
    return (await this.#transport.call(endpoints.replayEvents, { ...toParams(id), body: range }, options)).data.queued;
  }

  /** The secret that signs deliveries to the callback_url of single requests. */
  async callbackSecret(options: CallOptions = {}): Promise<string> {
    return (await this.#transport.call(endpoints.getCallbackSecret, {}, options)).data.secret;
  }

  /** One page of the account's events, oldest first. @param page.since Unix seconds */
  async events(
    page: { readonly since?: number; readonly after?: string; readonly limit?: number } = {},
    options: CallOptions = {},
  ): Promise<{ readonly events: EventInfo[]; readonly next: string | null }> {
    const { since, after, limit } = page;
    const query = defined({
      since: since === undefined ? undefined : String(since),
      after,
      limit: limit === undefined ? undefined : String(limit),
    });
    return (await this.#transport.call(listEvents, { query }, options)).data;
  }
}
