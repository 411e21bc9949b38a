import Type, { type Static } from 'typebox';
import { PLAIN_TEXT_PATTERN, Time, TimeOrNull } from './account-fields.ts';
import { endpoint } from './endpoint.ts';
import { Done, IdParam, Limit, ListOf, Ok, PageQuery } from './responses.ts';

/** Event types and their audience: the account concerned, every administrator, or a single endpoint. */
export const EVENT_TYPES = {
  'video.completed': 'account',
  'video.failed': 'account',
  'video.expiring': 'account',
  'batch.completed': 'account',
  'batch.failed': 'account',
  'batch.expired': 'account',
  'batch.cancelled': 'account',
  'wallet.low': 'account',
  'budget.reached': 'account',
  'plan.expiring': 'account',
  'device.signed_in': 'account',
  'ticket.replied': 'account',
  'channel.failing': 'administrators',
  'channel.recovered': 'administrators',
  'model.retiring': 'administrators',
  'ledger.mismatch': 'administrators',
  'billing.difference': 'administrators',
  'webhook.test': 'endpoint',
} as const satisfies Readonly<Record<string, 'account' | 'administrators' | 'endpoint'>>;

/** Type of an event. */
export type EventType = keyof typeof EVENT_TYPES;

/** Event types an endpoint can subscribe to. */
export const SUBSCRIBABLE_TYPES = (Object.keys(EVENT_TYPES) as EventType[]).filter(
  (type) => EVENT_TYPES[type] !== 'endpoint',
);

export const EventTypeName = Type.Enum(SUBSCRIBABLE_TYPES);

/** Payload of a webhook delivery, as Standard Webhooks 1.0.0 defines it. */
export const EventPayload = Type.Object({
  type: Type.String(),
  timestamp: Type.String({ description: 'ISO 8601, when it happened' }),
  data: Type.Record(Type.String(), Type.Unknown(), { description: 'what it happened to; the keys depend on the type' }),
});

/** An event with its id, which is the `webhook-id` of its deliveries. */
export const Event = Type.Object({ id: Type.String(), ...EventPayload.properties });

/** Builds the payload sent to receivers. @param unixMs time of the event @param data JSON */
export const toEventPayload = (type: string, unixMs: number, data: string): Static<typeof EventPayload> => ({
  type,
  timestamp: new Date(unixMs).toISOString(),
  data: JSON.parse(data) as Record<string, unknown>,
});

export const listEvents = endpoint({
  organization: 'admin',
  method: 'GET',
  path: '/api/events',
  summary: 'Events of the account, oldest first; administrators also see those for administrators',
  tag: 'webhooks',
  policy: 'account',
  envelope: 'api',
  query: Type.Object({
    since: Type.Optional(Type.String({ pattern: '^[0-9]{1,12}$', description: 'Unix seconds' })),
    after: Type.Optional(Type.String({ pattern: '^[0-9]{1,15}$', description: '`next` of the page before' })),
    limit: Limit,
  }),
  response: Ok(
    Type.Object({
      events: Type.Array(Event),
      next: Type.Union([Type.String(), Type.Null()], { description: 'null: there are no more now' }),
    }),
  ),
});

/** Maximum number of endpoints per account. */
export const MAX_ENDPOINTS = 10;

/** Format of a delivery: Standard Webhooks, or a message in the format of a chat or push service. */
export const WEBHOOK_PRESETS = [
  'standard',
  'slack',
  'lark',
  'dingtalk',
  'discord',
  'telegram',
  'bark',
  'gotify',
] as const;
/** Format of a delivery. */
export type WebhookPreset = (typeof WEBHOOK_PRESETS)[number];

export const DELIVERY_STATUS = ['pending', 'delivered', 'failed'] as const;
/** State of a delivery. */
export type DeliveryStatus = (typeof DELIVERY_STATUS)[number];

const WebhookUrl = Type.String({
  minLength: 1,
  maxLength: 2_000,
  pattern: '^[\\u0021-\\u007e]+$',
  description: 'https, a public address',
});
const Fields = {
  events: Type.Array(EventTypeName, { maxItems: 20, description: 'empty: all' }),
  description: Type.String({ maxLength: 200, pattern: PLAIN_TEXT_PATTERN }),
  enabled: Type.Boolean(),
  preset: Type.Enum([...WEBHOOK_PRESETS], { description: 'default `standard`' }),
};

const Webhook = Type.Object({
  id: Type.Integer(),
  url: Type.String(),
  ...Fields,
  events: Type.Array(Type.String(), { description: 'empty: all' }),
  disabled_reason: Type.Enum(['', 'gone', 'failing'], {
    description:
      '`gone`: it answered 410; `failing`: every delivery failed for 5 days; empty: by its owner, or not at all',
  }),
  failing_since: TimeOrNull,
  pending: Type.Integer({ description: 'deliveries that wait, counted to 1000' }),
  created_time: Time,
});

const Delivery = Type.Object({
  id: Type.Integer(),
  event_id: Type.String({ description: 'the header `webhook-id`' }),
  event_type: Type.String(),
  status: Type.Enum([...DELIVERY_STATUS]),
  tries: Type.Integer(),
  next_try_at: TimeOrNull,
  created_time: Time,
  last_try: Type.Union([
    Type.Object({
      at: Time,
      url: Type.String(),
      request_body: Type.String(),
      response_status: Type.Union([Type.Integer(), Type.Null()], { description: 'null: no answer came' }),
      response_body: Type.String({
        description: 'its first 2048 characters; empty for hosts of WEBHOOK_PRIVATE_HOSTS',
      }),
      error: Type.String({ description: 'why it counts as failed; empty: it does not' }),
      duration_ms: Type.Integer(),
    }),
    Type.Null(),
  ]),
});

const DeliveryQuery = Type.Object({
  status: Type.Optional(Type.Enum([...DELIVERY_STATUS])),
  after: Type.Optional(Type.String({ pattern: '^[0-9]{1,15}$', description: '`next` of the page before' })),
  limit: Limit,
});
const DeliveryPage = Ok(
  Type.Object({
    deliveries: Type.Array(Delivery),
    next: Type.Union([Type.String(), Type.Null()], { description: 'null: this is the last page' }),
  }),
);
const Secret = Ok(Type.Object({ secret: Type.String({ description: '`whsec_…`' }) }));
const UnixSeconds = Type.Integer({ minimum: 0, maximum: 253_402_300_799, description: 'Unix seconds' });

const own = { tag: 'webhooks', policy: 'owner', envelope: 'api' } as const;
const DeliveryParams = Type.Object({ ...IdParam.properties, delivery: IdParam.properties.id });

export const listWebhooks = endpoint({
  organization: 'admin',
  ...own,
  method: 'GET',
  path: '/api/webhooks',
  summary: 'Webhook endpoints of the account',
  query: Type.Object(PageQuery),
  response: ListOf(Webhook),
});

export const createWebhook = endpoint({
  organization: 'admin',
  ...own,
  method: 'POST',
  path: '/api/webhooks',
  summary: `Add a webhook endpoint; its signing secret is shown once. An account has ${MAX_ENDPOINTS} at most`,
  secret: true,
  body: Type.Object({
    url: WebhookUrl,
    events: Type.Optional(Fields.events),
    description: Type.Optional(Fields.description),
    enabled: Type.Optional(Fields.enabled),
    preset: Type.Optional(Fields.preset),
  }),
  response: Ok(Type.Object({ id: Type.Integer(), secret: Type.String() })),
});

export const getWebhook = endpoint({
  organization: 'admin',
  ...own,
  method: 'GET',
  path: '/api/webhooks/:id',
  summary: 'One webhook endpoint',
  params: IdParam,
  response: Ok(Webhook),
});

export const updateWebhook = endpoint({
  organization: 'admin',
  ...own,
  method: 'PUT',
  path: '/api/webhooks/:id',
  summary: 'Change a webhook endpoint; only the named keys change',
  params: IdParam,
  body: Type.Partial(Type.Object({ url: WebhookUrl, ...Fields })),
  response: Done,
});

export const deleteWebhook = endpoint({
  organization: 'admin',
  ...own,
  method: 'DELETE',
  path: '/api/webhooks/:id',
  summary: 'Delete a webhook endpoint and its deliveries',
  params: IdParam,
  response: Done,
});

export const rotateWebhookSecret = endpoint({
  organization: 'admin',
  ...own,
  method: 'POST',
  path: '/api/webhooks/:id/rotate-secret',
  summary: 'Create a new signing secret, shown once; the old one signs beside it for 24 hours',
  secret: true,
  params: IdParam,
  response: Secret,
});

export const testWebhook = endpoint({
  organization: 'admin',
  ...own,
  method: 'POST',
  path: '/api/webhooks/:id/test',
  summary: 'Deliver an event of the type `webhook.test`',
  params: IdParam,
  response: Ok(Type.Object({ delivery: Type.Integer() })),
});

export const listDeliveries = endpoint({
  organization: 'admin',
  ...own,
  method: 'GET',
  path: '/api/webhooks/:id/deliveries',
  summary: 'Deliveries of an endpoint with request and response, newest first',
  params: IdParam,
  query: DeliveryQuery,
  response: DeliveryPage,
});

export const retryDelivery = endpoint({
  organization: 'admin',
  ...own,
  method: 'POST',
  path: '/api/webhooks/:id/deliveries/:delivery/retry',
  summary: 'Redeliver an event now, with its webhook-id',
  params: DeliveryParams,
  response: Done,
});

export const replayEvents = endpoint({
  organization: 'admin',
  ...own,
  method: 'POST',
  path: '/api/webhooks/:id/replay',
  summary: 'Redeliver the events of a period, delivered ones included, each with its webhook-id',
  params: IdParam,
  body: Type.Object({ since: UnixSeconds, until: Type.Optional(UnixSeconds) }),
  response: Ok(Type.Object({ queued: Type.Integer({ description: 'at most 10000; the oldest' }) })),
});

export const listCallbacks = endpoint({
  organization: 'admin',
  ...own,
  method: 'GET',
  path: '/api/webhooks/callbacks',
  summary: 'Deliveries to the callback_url of single requests, newest first',
  query: DeliveryQuery,
  response: DeliveryPage,
});

export const getCallbackSecret = endpoint({
  organization: 'admin',
  ...own,
  method: 'GET',
  path: '/api/webhooks/secret',
  summary: 'The secret that signs deliveries to the callback_url of single requests',
  secret: true,
  response: Secret,
});

export const rotateCallbackSecret = endpoint({
  organization: 'admin',
  ...own,
  method: 'POST',
  path: '/api/webhooks/secret/rotate',
  summary: 'Replace the secret for callbacks; the old one signs beside the new one for 24 hours',
  secret: true,
  response: Secret,
});

/**
 * Signatures of Standard Webhooks 1.0.0 (https://www.standardwebhooks.com), the symmetric kind: HMAC-SHA256 over
 * `<webhook-id>.<webhook-timestamp>.<body>`, keyed with the bytes encoded after `whsec_`.
 */
const SECRET_PREFIX = 'whsec_';

/** The three headers of a delivery. `timestamp`: Unix seconds of this attempt. */
export interface WebhookHeaders {
  readonly 'webhook-id': string;
  readonly 'webhook-timestamp': string;
  readonly 'webhook-signature': string;
}

/** Formats a webhook secret. @param key 24 to 64 random bytes */
export const formatWebhookSecret = (key: Uint8Array): string => SECRET_PREFIX + btoa(String.fromCharCode(...key));

/** Decodes a webhook secret. @throws TypeError for anything but `whsec_` and Base64 */
export function parseWebhookSecret(secret: string): Uint8Array<ArrayBuffer> {
  const text = secret.startsWith(SECRET_PREFIX) ? secret.slice(SECRET_PREFIX.length) : '';
  if (!/^[A-Za-z0-9+/]{16,}={0,2}$/.test(text)) throw new TypeError('A webhook secret is whsec_ and Base64.');
  return Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
}

/**
 * Signs a delivery. @param secrets the current one first; each adds a signature, so that receivers still using the
 * previous secret accept it
 */
export async function signWebhook(
  secrets: readonly string[],
  delivery: { readonly id: string; readonly timestamp: number; readonly body: string },
): Promise<WebhookHeaders> {
  const { id, timestamp, body } = delivery;
  const signed = new TextEncoder().encode(`${id}.${timestamp}.${body}`);
  const signatures = await Promise.all(secrets.map((secret) => hmac(parseWebhookSecret(secret), signed)));
  return {
    'webhook-id': id,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': signatures.map((signature) => `v1,${signature}`).join(' '),
  };
}

async function hmac(key: Uint8Array<ArrayBuffer>, bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  const { subtle } = globalThis.crypto;
  const imported = await subtle.importKey('raw', key, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign']);
  return btoa(String.fromCharCode(...new Uint8Array(await subtle.sign('HMAC', imported, bytes))));
}
