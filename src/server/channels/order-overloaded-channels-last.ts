import { AccountMap, accountKey, type ChannelAccount } from '../upstreams/upstream.ts';
import { stableRandomFor, type Weighted, weightedOrder } from './weighted-and-stable-channel-order.ts';

/** How much of its fair share of the calls in flight a channel takes before others take the next ones. */
const BOUND = 1.25;
/** Calls in flight up to which no channel is passed over: among a few calls a share says nothing, and a cold cache costs more. */
export const MIN_BOUND = 4;

type Loaded = ChannelAccount & Weighted;

/**
 * Calls in flight on each channel, or on each credential of one, of this process. They bound how many calls with one prefix pile up on one
 * (Mirrokni, Thorup and Zadimoghaddam, "Consistent Hashing with Bounded Loads", 2016). As each process keeps to its bound, all do.
 */
export class ChannelLoad {
  readonly #calls = new AccountMap<number>();

  began(account: ChannelAccount): void {
    this.#calls.set(account, this.#callsOn(account) + 1);
  }

  ended(account: ChannelAccount): void {
    const calls = this.#callsOn(account) - 1;
    if (calls > 0) this.#calls.set(account, calls);
    else this.#calls.delete(account);
  }

  /** The order for calls that should meet the same channel; those with more than their share of the calls come last in their priority. */
  orderFor<T extends Loaded>(key: string, channels: readonly T[]): readonly T[] {
    const placeOf = ({ id, credentialId }: T): number => stableRandomFor(key, accountKey(id, credentialId));
    const ordered = weightedOrder(channels, placeOf);
    if (ordered.every((account) => this.#callsOn(account) < MIN_BOUND)) return ordered;
    const isLoaded = new Map(ordered.map((channel) => [channel, this.#isLoaded(channel, ordered)]));
    return ordered.toSorted((a, b) => b.priority - a.priority || Number(isLoaded.get(a)) - Number(isLoaded.get(b)));
  }

  /** Whether one more call would exceed the bound of a channel among those of its priority. */
  #isLoaded(account: Loaded, all: readonly Loaded[]): boolean {
    const { priority, weight } = account;
    let calls = 1;
    let weights = 0;
    for (const other of all) {
      if (other.priority !== priority) continue;
      calls += this.#callsOn(other);
      weights += other.weight;
    }
    const share = weights === 0 ? 0 : (calls * weight) / weights;
    return this.#callsOn(account) >= Math.max(MIN_BOUND, Math.ceil(BOUND * share));
  }

  #callsOn(account: ChannelAccount): number {
    return this.#calls.get(account) ?? 0;
  }
}
