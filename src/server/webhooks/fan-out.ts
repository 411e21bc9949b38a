import { EVENT_TYPES, type EventType } from '../../contract/events.ts';
import type { EventRow } from '../event-log/event-store.ts';
import type { Clock } from '../platform/clock.ts';
import type { Trx } from '../tables.ts';
import { type DeliveryStore, type DeliveryTarget, endpointLane } from './delivery-store.ts';
import type { EndpointRow, EndpointStore } from './endpoint-store.ts';
import { CALLBACK } from './tables.ts';

export interface FanOutDependencies {
  readonly endpoints: EndpointStore;
  readonly deliveries: DeliveryStore;
  readonly clock: Clock;
}

/** Queues events for every endpoint that wants them and for the callback_url of the request that caused them. */
export async function fanOut(
  { endpoints, deliveries, clock }: FanOutDependencies,
  trx: Trx,
  events: readonly EventRow[],
): Promise<void> {
  const userIds = [...new Set(events.map((event) => event.user_id))];
  const receiving = await endpoints.listReceiving(trx, userIds, userIds.includes(0));
  const wanted = events.flatMap((event) => [
    ...receiving
      .filter((endpoint) => isFor(event, endpoint) && includesType(endpoint, event.type))
      .map((endpoint) => ({ event, target: toTarget(endpoint) })),
    ...(event.callback_url === null ? [] : [{ event, target: toCallback(event.user_id, event.callback_url) }]),
  ]);
  await deliveries.insert(trx, wanted, clock.now());
}

const isFor = (event: EventRow, endpoint: EndpointRow & { readonly role: string }): boolean =>
  EVENT_TYPES[event.type as EventType] === 'administrators'
    ? endpoint.role !== 'user'
    : endpoint.user_id === event.user_id;

/** The event types an endpoint wants; empty: all. */
export const parseTypes = ({ events }: Pick<EndpointRow, 'events'>): EventType[] => JSON.parse(events) as EventType[];

function includesType(endpoint: EndpointRow, type: string): boolean {
  const types: readonly string[] = parseTypes(endpoint);
  return types.length === 0 || types.includes(type);
}

export const toTarget = ({ id, user_id }: Pick<EndpointRow, 'id' | 'user_id'>): DeliveryTarget => ({
  endpointId: id,
  userId: user_id,
  lane: endpointLane(id),
  url: '',
});

/** The host of a lane of callbacks, with its port. */
export const parseCallbackLane = (lane: string): URL | null => URL.parse(lane.replace(/^callback:\d+:/, 'https://'));

/** Callbacks of one account to one host share a lane: a host that is dead delays no other. */
const toCallback = (userId: number, url: string): DeliveryTarget => ({
  endpointId: CALLBACK,
  userId,
  lane: `callback:${userId}:${URL.parse(url)?.host ?? ''}`,
  url,
});
