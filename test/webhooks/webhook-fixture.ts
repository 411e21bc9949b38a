import { setTimeout as delay } from 'node:timers/promises';
import type { NewEvent } from '../../src/server/event-log/event-log.ts';
import { type ManualClock, manualClock } from '../../src/server/platform/clock.ts';
import type { TestUser } from '../accounts/test-user-client.ts';
import { startTestService, type TestService } from '../test-service.ts';
import { WebhookReceiver } from './receiver.ts';

/** A delivery as the API lists it. */
export interface Delivery {
  readonly id: number;
  readonly event_id: string;
  readonly event_type: string;
  readonly status: 'pending' | 'delivered' | 'failed';
  readonly tries: number;
  readonly next_try_at: number | null;
  readonly last_try: {
    readonly url: string;
    readonly request_body: string;
    readonly response_status: number | null;
    readonly response_body: string;
    readonly error: string;
  } | null;
}

/** A service and the receiver of its webhooks. */
export interface WebhookFixture extends TestService {
  readonly clock: ManualClock;
  readonly receiver: WebhookReceiver;
  /** Reports an event in its own transaction. */
  report(event: NewEvent): Promise<void>;
  /** Adds an endpoint at a path of the receiver. */
  addEndpoint(owner: TestUser, path: string, more?: object): Promise<{ id: number; secret: string }>;
  deliveries(owner: TestUser, id: number, query?: string): Promise<Delivery[]>;
  /** Resolves with the deliveries once there are any and they satisfy a condition. */
  waitForDeliveries(
    owner: TestUser,
    id: number,
    condition: (deliveries: readonly Delivery[]) => boolean,
  ): Promise<Delivery[]>;
}

/**
 * The whole service with a webhook receiver on loopback that it may deliver to.
 * @param hosts other hosts it may deliver to
 */
export async function startWebhookService(
  databaseUrl: string,
  { env = {}, hosts = [] }: { env?: Readonly<Record<string, string>>; hosts?: readonly string[] } = {},
): Promise<WebhookFixture> {
  const receiver = await new WebhookReceiver().listen();
  const clock = manualClock();
  const service = await startTestService(
    databaseUrl,
    { WEBHOOK_PRIVATE_HOSTS: [receiver.host, ...hosts].join(), ...env },
    { clock },
  );
  const { app } = service;
  const deliveries = async (owner: TestUser, id: number, query = ''): Promise<Delivery[]> =>
    (await owner.ok<{ deliveries: Delivery[] }>('GET', `/api/webhooks/${id}/deliveries?limit=100&${query}`)).deliveries;
  return {
    ...service,
    clock: {
      now: () => clock.now(),
      advance(milliseconds) {
        clock.advance(milliseconds);
        app.webhooks.wake();
      },
    },
    receiver,
    report: (event) => app.database.transaction((trx) => app.events.eventLog.write(trx, event)),
    addEndpoint: (owner, path, more = {}) =>
      owner.ok<{ id: number; secret: string }>('POST', '/api/webhooks', { url: receiver.url(path), ...more }),
    deliveries,
    async waitForDeliveries(owner, id, condition) {
      for (;;) {
        const found = await deliveries(owner, id);
        if (found.length > 0 && condition(found)) return found;
        await delay(20);
      }
    },
    async stop() {
      await service.stop();
      await receiver.close();
    },
  };
}

let count = 0;

/** An account's event about a subject of its own. */
export const walletEvent = (userId: number, more: Partial<NewEvent> = {}): NewEvent => ({
  type: 'wallet.low',
  userId,
  subject: `wallet:${count++}`,
  data: { quota: 5 },
  ...more,
});
