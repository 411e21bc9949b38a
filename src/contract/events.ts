import Type, { type Static } from 'typebox';
import { endpoint } from './endpoint.ts';
import { Limit, Ok } from './responses.ts';

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
