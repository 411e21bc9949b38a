import type { Events } from '../event-log/event-log.ts';
import type { AdminNotifier, Notifier } from '../notifications/notifier.ts';
import type { Clock } from '../platform/clock.ts';
import type { Database } from '../platform/db/database.ts';
import type { PubSub } from '../platform/db/pub-sub.ts';
import type { Log } from '../platform/log.ts';
import type { Metrics } from '../platform/metrics.ts';
import type { Vault } from '../platform/vault.ts';
import type { Tables } from '../tables.ts';
import { ChannelFailureNotices } from './channel-health.ts';
import { CircuitStore, ReplicatedCircuitBreakers } from './circuit-breaker.ts';
import { CatalogStore } from './directory.ts';
import { type ModelLifecycles, type RetirementNoticesDependencies, UserRetirementNotices } from './retirements.ts';
import { ChannelSelectionService } from './selection.ts';

interface ChannelsDependencies {
  readonly database: Database<Tables>;
  readonly pubSub: PubSub;
  readonly vault: Vault;
  readonly notifier: Notifier & AdminNotifier;
  readonly events: Pick<Events, 'eventLog' | 'store'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Pick<Metrics, 'recordUpstreamCall'>;
  /** Whether simulated vendors run: their channels may use loopback addresses. */
  readonly sandbox: boolean;
  readonly lifecycles: ModelLifecycles;
}

/** The channels capability, as used by other capabilities. */
interface Channels {
  readonly channels: ChannelSelectionService;
  readonly channelStore: CatalogStore;
}

/** Creates the notices for models that are retired. */
export const makeRetirementNotices = (dependencies: RetirementNoticesDependencies): UserRetirementNotices =>
  new UserRetirementNotices(dependencies);

/** Assembles the channels capability and registers its routes. */
export function makeChannels({
  database,
  pubSub,
  vault,
  notifier,
  events,
  clock,
  log,
  metrics,
  sandbox,
  lifecycles,
}: ChannelsDependencies): Channels {
  const channelStore = new CatalogStore(database);
  const failureNotices = new ChannelFailureNotices({
    database,
    notifier,
    events: events.eventLog,
    eventHistory: events.store,
    clock,
    log,
  });
  const channels = new ChannelSelectionService({
    store: channelStore,
    circuits: new ReplicatedCircuitBreakers({ store: new CircuitStore(database), pubSub, clock, log }),
    vault,
    clock,
    log,
    lifecycles,
    onCircuitOpen: (call, owner) => failureNotices.circuitOpened(call, owner),
    onCall: ({ channelId, operation = 'submit', outcome, durationMs }, vendor) =>
      metrics.recordUpstreamCall({
        vendor,
        channelId,
        kind: operation,
        outcome,
        seconds: durationMs === undefined ? undefined : durationMs / 1_000,
      }),
    onCircuitClose: (call, owner) => failureNotices.circuitClosed(call, owner),
    sandbox,
  });
  return { channels, channelStore };
}
