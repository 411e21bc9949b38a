import type { EndpointPart } from '../contract/endpoint.ts';
import { listEvents } from '../contract/events.ts';
import { defined } from '../contract/objects.ts';
import * as endpoints from '../contract/webhooks.ts';
import { type CallOptions, fetchAllPages, type Transport } from './transport.ts';

/** An endpoint that receives events. */
export type WebhookInfo = EndpointPart<typeof endpoints.listWebhooks, 'response'>['data'][number];
/** URL and event types of a new endpoint. */
export type CreateWebhookRequest = EndpointPart<typeof endpoints.createWebhook, 'body'>;
/** Fields of an endpoint to change; the others stay. */
export type UpdateWebhookRequest = EndpointPart<typeof endpoints.updateWebhook, 'body'>;
/** An attempt, or several, to deliver one event. */
export type DeliveryInfo = EndpointPart<typeof endpoints.listDeliveries, 'response'>['data']['deliveries'][number];
/** Something that happened to the account. */
export type EventInfo = EndpointPart<typeof listEvents, 'response'>['data']['events'][number];

/** An endpoint that was just added. */
export interface CreatedWebhook {
  /** Its id. */
  readonly id: number;
  /** The signing secret, `whsec_…`; returned only here. */
  readonly secret: string;
}

/** A page of deliveries. */
export interface DeliveryPage {
  /** The rows of the page. */
  readonly deliveries: DeliveryInfo[];
  /** Where the next page begins; null after the last. */
  readonly next: string | null;
}

/** A page of events. */
export interface EventPage {
  /** The rows of the page. */
  readonly events: EventInfo[];
  /** Where the next page begins; null after the last. */
  readonly next: string | null;
}

/** Which deliveries to list. */
export interface DeliveryQuery {
  /** Only those in this state. */
  readonly status?: endpoints.DeliveryStatus;
  /** `next` of the page before. */
  readonly after?: string;
  /** Rows of the page, at most 100. */
  readonly limit?: number;
}

/** A period whose events are delivered again. */
export interface ReplayRange {
  /** Its begin; Unix seconds. */
  readonly since: number;
  /** Its end; Unix seconds, default now. */
  readonly until?: number;
}

/** Which events to list. */
export interface EventQuery {
  /** Of this time or later; Unix seconds. */
  readonly since?: number;
  /** `next` of the page before. */
  readonly after?: string;
  /** Rows of the page, at most 100. */
  readonly limit?: number;
}

/** Headers that sign a delivery (Standard Webhooks). */
export interface WebhookSignature {
  /** Id of the delivery. */
  readonly 'webhook-id': string;
  /** Time of signing; Unix seconds. */
  readonly 'webhook-timestamp': string;
  /** One signature for each secret, separated by spaces. */
  readonly 'webhook-signature': string;
}

/** What is signed. */
export interface SignedDelivery {
  /** Id of the delivery. */
  readonly id: string;
  /** Time of signing; Unix seconds. */
  readonly timestamp: number;
  /** The body, byte by byte as it is sent. */
  readonly body: string;
}

/** Signs a delivery as the service does, for tests of a receiver. @param secrets `whsec_…`, the newest first */
export const signWebhook = (secrets: readonly string[], delivery: SignedDelivery): Promise<WebhookSignature> =>
  endpoints.signWebhook(secrets, delivery);

const toParams = (id: number) => ({ params: { id: String(id) } });

/**
 * Webhook endpoints and events. Events can be read with any credentials; the rest needs a session or a user access
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
   * @throws ReelgateError `webhooks_full`, `invalid_request`
   */
  async create(webhook: CreateWebhookRequest, options: CallOptions = {}): Promise<CreatedWebhook> {
    return (await this.#transport.call(endpoints.createWebhook, { body: webhook }, options)).data;
  }

  /** Changes the named keys. @throws ReelgateError `not_exist`, `invalid_request` */
  async update(id: number, change: UpdateWebhookRequest, options: CallOptions = {}): Promise<void> {
    await this.#transport.call(endpoints.updateWebhook, { ...toParams(id), body: change }, options);
  }

  /** Removes an endpoint; queued deliveries are dropped. @throws ReelgateError `not_exist` */
  async remove(id: number, options: CallOptions = {}): Promise<void> {
    await this.#transport.call(endpoints.deleteWebhook, toParams(id), options);
  }

  /** Returns the new secret; the old one signs beside it for 24 hours. @throws ReelgateError `not_exist` */
  async rotateSecret(id: number, options: CallOptions = {}): Promise<string> {
    return (await this.#transport.call(endpoints.rotateWebhookSecret, toParams(id), options)).data.secret;
  }

  /** Delivers a test event; returns the id of the delivery. @throws ReelgateError `not_exist`, `webhook_disabled` */
  async test(id: number, options: CallOptions = {}): Promise<number> {
    return (await this.#transport.call(endpoints.testWebhook, toParams(id), options)).data.delivery;
  }

  /** One page of the deliveries, newest first. @throws ReelgateError `not_exist` */
  async deliveries(id: number, page: DeliveryQuery = {}, options: CallOptions = {}): Promise<DeliveryPage> {
    const query = defined({ ...page, limit: page.limit === undefined ? undefined : String(page.limit) });
    return (await this.#transport.call(endpoints.listDeliveries, { ...toParams(id), query }, options)).data;
  }

  /** Delivers one event again. @throws ReelgateError `not_exist`, `webhook_disabled` */
  async retry(id: number, delivery: number, options: CallOptions = {}): Promise<void> {
    const params = { id: String(id), delivery: String(delivery) };
    await this.#transport.call(endpoints.retryDelivery, { params }, options);
  }

  /** Delivers the events of a period again. @returns how many @throws ReelgateError `not_exist` */
  async replay(id: number, range: ReplayRange, options: CallOptions = {}): Promise<number> {
    return (await this.#transport.call(endpoints.replayEvents, { ...toParams(id), body: range }, options)).data.queued;
  }

  /** The secret that signs deliveries to the callback_url of single requests. @throws ReelgateError `unauthorized` */
  async callbackSecret(options: CallOptions = {}): Promise<string> {
    return (await this.#transport.call(endpoints.getCallbackSecret, {}, options)).data.secret;
  }

  /** One page of the account's events, oldest first. @throws ReelgateError `unauthorized` */
  async events(page: EventQuery = {}, options: CallOptions = {}): Promise<EventPage> {
    const { since, after, limit } = page;
    const query = defined({
      since: since === undefined ? undefined : String(since),
      after,
      limit: limit === undefined ? undefined : String(limit),
    });
    return (await this.#transport.call(listEvents, { query }, options)).data;
  }
}
