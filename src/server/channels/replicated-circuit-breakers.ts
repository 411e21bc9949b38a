import type { Clock } from '../platform/clock.ts';
import type { PubSub } from '../platform/db/pub-sub.ts';
import type { Log } from '../platform/log.ts';
import type { ChannelAccount } from '../upstreams/upstream.ts';
import type { CallOutcome } from './channel-directory-types.ts';
import { CircuitBreakers, TRIAL_TIMEOUT_MS } from './circuit-breaker.ts';
import type { CircuitStore } from './circuit-store.ts';

export interface ReplicatedCircuitBreakersDependencies {
  readonly store: CircuitStore;
  readonly pubSub: Pick<PubSub, 'publish' | 'subscribe'>;
  readonly clock: Clock;
  readonly log: Log;
}

const SIGNAL_CHANNEL = 'channel_circuits';

/**
 * The circuits of all processes on one database. Calls are counted by each process for itself, in memory; a circuit that one opens
 * or closes is written down, and the others are told to read it. So a circuit that is open is open everywhere, also after a
 * restart, and one process at a time tries whether it works again.
 */
export class ReplicatedCircuitBreakers {
  readonly breakers = new CircuitBreakers();
  readonly #dependencies: ReplicatedCircuitBreakersDependencies;
  #isLoaded = false;
  #writes: Promise<void> = Promise.resolve();
  #unwritten = 0;
  /** Channels whose circuits another process may have changed and that are read next; undefined stands for all. */
  readonly #stale = new Set<number | undefined>();
  #reading: Promise<void> | undefined;

  constructor(dependencies: ReplicatedCircuitBreakersDependencies) {
    this.#dependencies = dependencies;
    dependencies.pubSub.subscribe(
      SIGNAL_CHANNEL,
      (payload) => void this.#readAgain(Number(payload)),
      () => void this.#readAgain(),
    );
  }

  /** Reads what earlier and other processes have found, before the first use; undefined once that is done. */
  load(): Promise<void> | undefined {
    return this.#isLoaded ? undefined : this.#readAgain();
  }

  /** @returns whether this call opened a circuit, or closed one that was open */
  record(call: CallOutcome, now: number): boolean {
    const changed = this.breakers.record(call, now);
    if (changed.length === 0) return false;
    this.#unwritten += 1;
    this.#writes = this.#writes
      .then(() => this.#write({ id: call.channelId, credentialId: call.credentialId }, changed))
      .catch((error: unknown) => this.#warn(error))
      .finally(() => {
        this.#unwritten -= 1;
        this.#dependencies.pubSub.publish(SIGNAL_CHANNEL, String(call.channelId));
      });
    return true;
  }

  /**
   * To be asked before a channel is called: if one of its circuits is half open, this is its one trial call.
   *
   * @returns false when another process tries it at this moment; what is known of it has been brought up to date then
   */
  beginTrial(account: ChannelAccount, model: string, now: number): true | Promise<boolean> {
    const models = this.breakers.beginTrial(account, model, now);
    return models.length === 0 || this.#claimTrial(account, models, now);
  }

  /** Resolves when what was found so far is written. Never rejects. */
  flush(): Promise<void> {
    return this.#writes;
  }

  async #claimTrial(account: ChannelAccount, models: readonly string[], now: number): Promise<boolean> {
    try {
      await this.#writes;
      if (await this.#dependencies.store.beginTrial(account, models, now, now + TRIAL_TIMEOUT_MS)) return true;
      await this.#readAgain(account.id);
      return false;
    } catch (error) {
      this.#warn(error);
      return true;
    }
  }

  async #write(account: ChannelAccount, models: readonly string[]): Promise<void> {
    const { store } = this.#dependencies;
    for (const model of models) {
      const circuit = this.breakers.stored(account, model);
      if (circuit === undefined) await store.close(account, model);
      else await store.open(account, circuit);
    }
  }

  /** Reads one channel after another, or all: many signals at once must not take all connections. */
  #readAgain(channelId?: number): Promise<void> {
    this.#stale.add(channelId);
    this.#reading ??= this.#readStale();
    return this.#reading;
  }

  async #readStale(): Promise<void> {
    for (const channelId of this.#stale) {
      this.#stale.delete(channelId);
      await this.#read(channelId);
    }
    this.#reading = undefined;
  }

  async #read(channelId: number | undefined): Promise<void> {
    const { store, clock } = this.#dependencies;
    try {
      const circuits = await store.find(channelId);
      // What this process has found itself is newer; it hears of it once that is written.
      if (this.#unwritten > 0) return;
      this.breakers.restore(circuits, clock.now(), channelId);
      if (channelId === undefined) this.#isLoaded = true;
    } catch (error) {
      this.#warn(error);
    }
  }

  #warn(error: unknown): void {
    this.#dependencies.log.warn({ err: error }, 'the circuits of channels are not shared with other processes now');
  }
}
