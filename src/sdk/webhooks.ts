import type { EndpointPart } from '../contract/endpoint.ts';
import * as endpoints from '../contract/webhooks.ts';
import { listEvents } from '../contract/webhooks.ts';
import { type CallOptions, fetchAllPages, type Transport } from './transport.ts';

/** An endpoint that receives events. */
export type WebhookInfo = EndpointPart<typeof endpoints.listWebhooks, 'response'>['data'][number];
/** URL and event types of a new endpoint. */
export type CreateWebhookRequest = EndpointPart<typeof endpoints.createWebhook, 'body'>;
/** Fields of an endpoint to change; omitted ones are kept. */
export type UpdateWebhookRequest = EndpointPart<typeof endpoints.updateWebhook, 'body'>;
/** Delivery of one event, with its attempts. */
export type DeliveryInfo = EndpointPart<typeof endpoints.listDeliveries, 'response'>['data']['deliveries'][number];
/** An event concerning the account. */
export type EventInfo = EndpointPart<typeof listEvents, 'response'>['data']['events'][number];

/** A newly created endpoint. */
export interface CreatedWebhook {
  /** Id of the endpoint. */
  readonly id: number;
  /** The signing secret, `whsec_…`; returned only here. */
  readonly secret: string;
}

/** A page of deliveries. */
export interface DeliveryPage {
  /** Deliveries of the page. */
  readonly deliveries: DeliveryInfo[];
  /** Cursor of the next page; null after the last one. */
  readonly next: string | null;
}

/** A page of events. */
export interface EventPage {
  /** Events of the page. */
  readonly events: EventInfo[];
  /** Cursor of the next page; null after the last one. */
  readonly next: string | null;
}

/** Filters and cursor of the delivery list. */
export interface DeliveryQuery {
  /** Lists deliveries in this state only. */
  readonly status?: endpoints.DeliveryStatus;
  /** `next` of the previous page. */
  readonly after?: string;
  /** Rows per page, at most 100. */
  readonly limit?: number;
}

/** Period whose events are delivered again. */
export interface ReplayRange {
  /** Start of the period; Unix seconds. */
  readonly since: number;
  /** End of the period; Unix seconds, default now. */
  readonly until?: number;
}

/** Start and cursor of the event list. */
export interface EventQuery {
  /** Events at this time or later; Unix seconds. */
  readonly since?: number;
  /** `next` of the previous page. */
  readonly after?: string;
  /** Rows per page, at most 100. */
  readonly limit?: number;
}

/** Signature headers of a delivery (Standard Webhooks). */
export interface WebhookSignature {
  /** Id of the delivery. */
  readonly 'webhook-id': string;
  /** Time of signing; Unix seconds. */
  readonly 'webhook-timestamp': string;
  /** One signature for each secret, separated by spaces. */
  readonly 'webhook-signature': string;
}

/** Input of a signature. */
export interface SignedDelivery {
  /** Id of the delivery. */
  readonly id: string;
  /** Time of signing; Unix seconds. */
  readonly timestamp: number;
  /** The body, byte for byte as sent. */
  readonly body: string;
}

/** Signs a delivery as the service does, for tests of a receiver. @param secrets `whsec_…`, newest first */
export const signWebhook = (secrets: readonly string[], delivery: SignedDelivery): Promise<WebhookSignature> =>
  endpoints.signWebhook(secrets, delivery);

const toParams = (id: number) => ({ params: { id: String(id) } });

/**
 * Webhook endpoints and events. Any credentials can read events; every other method needs a session or a user access
 * token.
 */
export class Webhooks {
  readonly #transport: Transport;
  /** @internal */
  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** All endpoints, newest first. @throws ReelgateError `unauthorized` */
  list(options: CallOptions = {}): Promise<WebhookInfo[]> {
    return fetchAllPages((query) => this.#transport.call(endpoints.listWebhooks, { query }, options));
  }

  /**
   * Adds an endpoint. The signing secret is returned only here.
   *
   * @throws ReelgateError `refused` (webhooks_full), `invalid_request`
   */
  async create(webhook: CreateWebhookRequest, options: CallOptions = {}): Promise<CreatedWebhook> {
    return (await this.#transport.call(endpoints.createWebhook, { body: webhook }, options)).data;
  }

  /** Changes the given keys. @throws ReelgateError `refused` (not_exist), `invalid_request` */
  async update(id: number, change: UpdateWebhookRequest, options: CallOptions = {}): Promise<void> {
    await this.#transport.call(endpoints.updateWebhook, { ...toParams(id), body: change }, options);
  }

  /** Deletes an endpoint and drops its queued deliveries. @throws ReelgateError `refused` (not_exist) */
  async delete(id: number, options: CallOptions = {}): Promise<void> {
    await this.#transport.call(endpoints.deleteWebhook, toParams(id), options);
  }

  /**
   * Creates and returns a new secret; deliveries carry the old one's signature too for 24 hours.
   *
   * @throws ReelgateError `refused` (not_exist)
   */
  async rotateSecret(id: number, options: CallOptions = {}): Promise<string> {
    return (await this.#transport.call(endpoints.rotateWebhookSecret, toParams(id), options)).data.secret;
  }

  /**
   * Delivers a test event and returns the delivery's id.
   *
   * @throws ReelgateError `refused` (not_exist, webhook_disabled)
   */
  async test(id: number, options: CallOptions = {}): Promise<number> {
    return (await this.#transport.call(endpoints.testWebhook, toParams(id), options)).data.delivery;
  }

  /** One page of deliveries, newest first. @throws ReelgateError `refused` (not_exist) */
  async deliveries(id: number, page: DeliveryQuery = {}, options: CallOptions = {}): Promise<DeliveryPage> {
    const query = { ...page, limit: page.limit?.toString() };
    return (await this.#transport.call(endpoints.listDeliveries, { ...toParams(id), query }, options)).data;
  }

  /** Delivers one event again. @throws ReelgateError `refused` (not_exist, webhook_disabled) */
  async retry(id: number, delivery: number, options: CallOptions = {}): Promise<void> {
    const params = { id: String(id), delivery: String(delivery) };
    await this.#transport.call(endpoints.retryDelivery, { params }, options);
  }

  /** Delivers the events of a period again. @returns number of events @throws ReelgateError `refused` (not_exist) */
  async replay(id: number, range: ReplayRange, options: CallOptions = {}): Promise<number> {
    return (await this.#transport.call(endpoints.replayEvents, { ...toParams(id), body: range }, options)).data.queued;
  }

  /** Secret that signs deliveries to the callback_url of single requests. @throws ReelgateError `unauthorized` */
  async callbackSecret(options: CallOptions = {}): Promise<string> {
    return (await this.#transport.call(endpoints.getCallbackSecret, {}, options)).data.secret;
  }

  /** One page of the account's events, oldest first. @throws ReelgateError `unauthorized` */
  async events(page: EventQuery = {}, options: CallOptions = {}): Promise<EventPage> {
    const { since, after, limit } = page;
    const query = { since: since?.toString(), after, limit: limit?.toString() };
    return (await this.#transport.call(listEvents, { query }, options)).data;
  }
}
