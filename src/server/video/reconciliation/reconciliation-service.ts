import { HOUR_MS } from '../../../contract/time.ts';
import type { Channel } from '../../channels/channel-directory.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Log } from '../../platform/log.ts';
import { OutboundError } from '../../platform/outbound/outbound.ts';
import type { ScheduledJob } from '../../platform/scheduled-jobs.ts';
import type { AdapterContext } from '../../upstreams/call.ts';
import { PollFailed } from '../../upstreams/error.ts';
import type { Json } from '../../vendors/adapter.ts';
import type { VendorRegistry } from '../../vendors/registry.ts';
import type { ReconciliationRow, ReconciliationStore, SettledVideo } from './reconciliation-store.ts';

export interface ReconciliationDependencies {
  readonly store: ReconciliationStore;
  readonly vendors: Pick<VendorRegistry, 'find'>;
  readonly contexts: { contextFor(channel: Channel, signal: AbortSignal): AdapterContext };
  readonly channels: { catalog(): Promise<Catalog> };
  readonly clock: Clock;
  readonly log: Log;
}

interface Catalog {
  readonly channels: ReadonlyMap<
    number,
    { readonly channel: Channel; readonly enabled: boolean; readonly credentials: { readonly size: number } }
  >;
}

const READ_TIMEOUT_MS = 20_000;
const MICRO = 1_000_000;

/**
 * Compares what was settled over each channel with what its vendor took from the account, every hour, where the vendor tells: units
 * of all videos that ended between two readings against the change of the account. A video that ends while the account is read falls
 * into the one hour here and into the next there, so that small differences even out over the day.
 */
export class Reconciliation {
  readonly #dependencies: ReconciliationDependencies;
  readonly job: ScheduledJob;

  constructor(dependencies: ReconciliationDependencies) {
    this.#dependencies = dependencies;
    this.job = { name: 'reconciliation', intervalMs: HOUR_MS, run: (signal) => this.reconcileAll(signal) };
  }

  /** Reads the accounts of all enabled channels, one after another; one that cannot be read is logged. */
  async reconcileAll(signal: AbortSignal): Promise<void> {
    const { channels, log } = this.#dependencies;
    for (const { channel, enabled } of (await channels.catalog()).channels.values()) {
      if (!enabled || signal.aborted) continue;
      await this.reconcile(channel).catch((error: unknown) => {
        if (!(error instanceof OutboundError) && !(error instanceof PollFailed)) throw error;
        log.warn({ err: error, channelId: channel.id }, "a vendor's account could not be read");
      });
    }
  }

  /**
   * @returns undefined where the vendor has no endpoint for it, and for a channel with several credentials: only the vendor knows whether they
   * belong to one account
   * @throws OutboundError, PollFailed where the account could not be read
   */
  async reconcile(channel: Channel): Promise<ReconciliationRow | undefined> {
    const { channels, store, vendors, contexts, clock } = this.#dependencies;
    const adapter = vendors.find(channel.vendor);
    if (adapter?.readAccount === undefined) return undefined;
    if (((await channels.catalog()).channels.get(channel.id)?.credentials.size ?? 0) > 1) return undefined;
    const account = await adapter.readAccount(contexts.contextFor(channel, AbortSignal.timeout(READ_TIMEOUT_MS)));
    const before = await store.newest(channel.id);
    // Two readings in one millisecond are one.
    const to = Math.max(clock.now(), (before?.to_time ?? 0) + 1);
    const videos = before === undefined ? [] : await store.settledVideos(channel.id, before.to_time, to);
    const counter = Math.round(account.counter * MICRO);
    const billed = before === undefined ? null : counter - before.counter;
    return store.add({
      channel_id: channel.id,
      vendor: adapter.name,
      unit: account.unit,
      from_time: before?.to_time ?? null,
      to_time: to,
      counter,
      videos: videos.length,
      settled_units: videos.reduce((sum, video) => sum + this.#unitsOf(video), 0),
      settled_quota: videos.reduce((sum, { quota }) => sum + quota, 0),
      billed_units: billed === null || billed < 0 ? null : billed,
    });
  }

  /** In millionths; 0 where the answer has no figures or was emptied. */
  #unitsOf({ vendor, data }: SettledVideo): number {
    if (data === '') return 0;
    const units = this.#dependencies.vendors.find(vendor)?.billedFacts?.(JSON.parse(data) as Json)?.units;
    return Math.round((units ?? 0) * MICRO);
  }
}
