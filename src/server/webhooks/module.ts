import { DAY_MS } from '../../contract/time-units.ts';
import type { AccountAccess } from '../accounts/account-store.ts';
import type { AuditLog } from '../accounts/audit-log.ts';
import type { EventConsumer, Events } from '../event-log/event-log.ts';
import type { Notifier } from '../notifications/notifier.ts';
import type { Clock } from '../platform/clock.ts';
import type { Live } from '../platform/config.ts';
import { afterCommit, type Database } from '../platform/db/database.ts';
import type { RateLimits } from '../platform/limits/rate-limits.ts';
import type { Log } from '../platform/log.ts';
import type { OutboundClient } from '../platform/outbound/outbound.ts';
import type { Vault } from '../platform/vault.ts';
import type { Tables } from '../tables.ts';
import { type DeliveryFilter, DeliveryStore } from './delivery-store.ts';
import { DeliveryDispatcher, FailingEndpointDisabler } from './dispatcher.ts';
import { AccountCallbackSecrets, EndpointStore } from './endpoint-store.ts';
import { createUrlCheck, EndpointService, fanOut, listPage, type UrlCheck } from './endpoints.ts';
import { WebhookSender } from './sender.ts';

interface WebhooksDependencies {
  readonly config: {
    readonly allowHttp: boolean;
    readonly webhookPrivateHosts: readonly string[];
  };
  readonly settings: Live<{ readonly retentionEventsDays: number }>;
  readonly version: string;
  readonly database: Database<Tables>;
  readonly events: Pick<Events, 'createReader' | 'store'>;
  readonly notifier: Notifier;
  readonly access: Pick<AccountAccess, 'lockEnabled'>;
  readonly auditLog: AuditLog;
  readonly vault: Vault;
  readonly rateLimits: RateLimits;
  readonly outbound: OutboundClient;
  readonly clock: Clock;
  readonly log: Log;
}

/** The webhooks capability, as used by its routes, other capabilities and app.ts. */
export interface Webhooks {
  readonly endpointService: EndpointService;
  readonly callbackSecrets: AccountCallbackSecrets;
  /**
   * Rejects a callback_url to which nothing would be delivered.
   * @throws AppError `invalid_request`
   */
  readonly checkUrl: UrlCheck;
  /** Pending deliveries, counted up to 100 000. */
  countPending(): Promise<number>;
  /** Overdue deliveries: pending ones queued more than a minute ago. */
  countOverdue(): Promise<number>;
  listCallbacks(filter: DeliveryFilter): ReturnType<typeof listPage>;
  /** Sends the due deliveries now, without waiting for the next check. */
  wake(): void;
  start(): Promise<void>;
  /** Starts no new deliveries and waits a few seconds for attempts in flight. */
  stop(): Promise<void>;
  /** Deletes ended deliveries older than the retention period. */
  removeExpired(): Promise<void>;
}

const MAX_COUNTED = 100_000;
/** The second attempt is made after five seconds: deliveries older than this are waiting for their receiver. */
const OVERDUE_MS = 60_000;
const DELETE_BATCH = 1_000;

/** Assembles the webhooks capability and registers its routes. */
export function makeWebhooks(dependencies: WebhooksDependencies): Webhooks {
  const { config, database, events, clock } = dependencies;
  const rules = { allowHttp: config.allowHttp, privateHosts: config.webhookPrivateHosts };
  const stores = { endpoints: new EndpointStore(database), deliveries: new DeliveryStore(database) };
  const { deliveries } = stores;
  const shared = { ...dependencies, ...stores, checkUrl: createUrlCheck(rules) };
  const sender = new WebhookSender({ ...shared, ...rules, userAgent: `reelgate/${dependencies.version}` });
  const callbackSecrets = new AccountCallbackSecrets(shared);
  const dispatcher = new DeliveryDispatcher({
    ...shared,
    ...rules,
    callbackSecrets,
    failures: new FailingEndpointDisabler(shared),
    sender,
  });
  const onDue = (): void => dispatcher.wake();
  const reader: EventConsumer = events.createReader('webhooks', async (trx, batch) => {
    await fanOut(shared, trx, batch);
    afterCommit(trx, onDue);
  });
  return {
    endpointService: new EndpointService({
      ...shared,
      events: events.store,
      onDue: (id) => dispatcher.resume(id),
    }),
    callbackSecrets,
    checkUrl: shared.checkUrl,
    countPending: () => deliveries.countPending(MAX_COUNTED),
    countOverdue: () => deliveries.countPending(MAX_COUNTED, { before: clock.now() - OVERDUE_MS }),
    listCallbacks: (filter) => listPage(deliveries, filter),
    wake: onDue,
    async start() {
      await reader.start();
      dispatcher.start();
    },
    async stop() {
      await reader.stop();
      await dispatcher.stop();
    },
    async removeExpired() {
      const { retentionEventsDays: days } = dependencies.settings.current();
      if (days === 0) return;
      while ((await deliveries.deleteBefore(clock.now() - days * DAY_MS, DELETE_BATCH)) === DELETE_BATCH);
    },
  };
}
