import { hash } from 'node:crypto';
import type { TSchema } from 'typebox';
import type { ChatVendor } from '../../contract/channels.ts';
import type { ModelKind, VendorId } from '../../contract/model-kinds.ts';
import type { OnRetirement } from '../../contract/models.ts';
import type { Price } from '../../contract/pricing.ts';
import { AccountMap, accountKey, type ChannelAccount, type ErrorReason } from '../upstreams/upstream.ts';

/**
 * Kinds of upstreams a channel can have: the video vendors, and any upstream that implements one of the chat dialects.
 */
export type ChannelVendor = VendorId | ChatVendor;

/**
 * One configured upstream account with decrypted credentials: in memory only, never in a response or a log. A channel
 * with several credentials has one such object per credential.
 */
export interface Channel {
  readonly id: number;
  /** Identifies the credentials within the channel. */
  readonly credentialId: number;
  readonly name: string;
  readonly vendor: ChannelVendor;
  /** Includes the path below which the endpoints are, if any; no trailing slash. */
  readonly baseUrl: string;
  readonly credentials: { readonly [key: string]: unknown };
  readonly options: { readonly [key: string]: unknown };
  /** `options.private`: its base_url and artifacts may have private addresses. */
  readonly private: boolean;
  /** Limit on unfinished tasks of these credentials. Absent: no limit. */
  readonly maxConcurrentTasks?: number;
  /** Public ids of the models it serves. */
  readonly models: readonly string[];
  readonly priority: number;
  /** Shared by the credentials of one channel. */
  readonly weight: number;
  /** The upstream's model names, by ours. Absent: the same. */
  readonly modelMapping?: Readonly<Record<string, string>>;
  /** Sent with every request, names in lower case; they override the adapter's own. Absent: none. */
  readonly extraHeaders?: Readonly<Record<string, string>>;
  /** URL of the proxy for its requests, including credentials. Absent: none. */
  readonly proxy?: string;
}

/** A model as named by callers, with its alias resolved (one step only). */
export interface ResolvedModel {
  /** The name the caller used; returned to callers and recorded in the ledger. */
  readonly id: string;
  /** The row that serves it: the alias target, or `id` itself. */
  readonly target: string;
  readonly vendor: ChannelVendor;
  readonly kind: ModelKind;
  readonly price: Price;
  /** Default: refuse. */
  readonly onRetirement?: OnRetirement;
  /** The target replaces the model, which its vendor has retired: channels that name the model do not serve it. */
  readonly isSubstitute?: boolean;
  /** Its announced retirement, while it is still served. */
  readonly retirement?: Retirement;
  /** The media schema, a JSON Schema of the body. */
  readonly inputSchema?: TSchema;
}

/** The time at which a model is retired on every channel that serves it. */
export interface Retirement {
  /** Unix milliseconds; not served from then on. */
  readonly at: number;
  /** When the retirement was first read about, Unix milliseconds. */
  readonly knownSince: number;
  readonly successor: string | undefined;
}

/**
 * The outcome of one call, for the circuit breakers: `ok` is a success; a caller's own mistakes (`user`, `policy`) are
 * not counted.
 */
export interface CallOutcome {
  readonly channelId: number;
  readonly credentialId: number;
  readonly model?: string;
  /** Account that made the request; absent for polls and probes. */
  readonly userId?: number;
  /** `seq` of the polled task: failures of a single task say nothing about its channel. */
  readonly taskSeq?: number;
  readonly outcome: 'ok' | ErrorReason | 'unreachable';
  readonly message?: string;
  readonly code?: string;
  readonly retryAfterMs?: number;
  /**
   * Purpose of the call. `poll` queries a task, which is weaker evidence that new tasks are accepted. Default `submit`.
   */
  readonly operation?: 'submit' | 'poll' | 'chat' | 'image' | 'probe';
  /** From the request to its outcome; for the metrics. */
  readonly durationMs?: number;
}

/**
 * Upstream accounts and models: which channels serve a model, in which order, and which are failing. Rows are cached
 * and read again when their version in the database has changed, so that a change applies on every replica at the next
 * request.
 */
export interface ChannelDirectory {
  /**
   * Undefined if the model does not exist or is disabled. A retired model resolves to its successor if an administrator
   * permits that and the successor costs no more.
   *
   * @throws AppError `model_not_found` naming the successor of a retired model
   */
  model(id: string): Promise<ResolvedModel | undefined>;
  /** When a model is retired on all its channels, if its vendors have announced that. */
  retirement(id: string): Promise<Retirement | undefined>;
  /**
   * Enabled public model ids that an enabled channel serves, for GET /v1/models.
   *
   * @param permitted ids of the channels to consider; default: all
   */
  listModels(permitted?: ReadonlySet<number>): Promise<
    readonly {
      readonly id: string;
      readonly vendor: ChannelVendor;
      readonly kind: ResolvedModel['kind'];
      readonly createdAt: number;
    }[]
  >;
  /**
   * Channels that serve a model just returned by `model()`: highest priority first, weighted random order within a
   * priority. Those with an open circuit are omitted, unless all are open. Each credential of a channel has its own
   * circuit and position; one of the first three belongs to another channel if there is one, so that an unavailable
   * upstream does not use up all attempts.
   *
   * @param permitted ids of the channels to choose from; default: all
   * @param affinity calls with the same text get the same channel first, as long as it is healthy and has at most 1.25
   *   times its share of the calls in flight
   */
  candidates(
    model: ResolvedModel,
    permitted?: ReadonlySet<number>,
    affinity?: () => string | undefined,
  ): Promise<readonly Channel[]>;
  /**
   * Whether any plan has its own price factor or channels. Otherwise no call needs the plan of its account.
   *
   * @param model the model resolved by the same request, which saves a read
   */
  hasPlanTerms(model?: { readonly id: string }): Promise<boolean>;
  /**
   * The channel a task is pinned to, enabled or not; undefined once deleted.
   *
   * @param credentialId the credential that submitted the task; null or removed: the first enabled one
   */
  byId(id: number, credentialId?: number | null): Promise<Channel | undefined>;
  /** Feeds the circuit breakers. Never throws. */
  report(call: CallOutcome): void;
  /** Receives the start and end of each call. */
  readonly load: Pick<ChannelLoad, 'began' | 'ended'>;
}

/** Factor by which a channel may exceed its fair share of the calls in flight before others receive the next ones. */
const BOUND = 1.25;
/**
 * Calls in flight up to which no channel is skipped: a share of a few calls means nothing, and a cold cache costs more.
 */
export const MIN_BOUND = 4;

type Loaded = ChannelAccount & Weighted;

/**
 * Calls in flight of this process on each channel, or on each credential of one. Limits how many calls with one prefix
 * accumulate on a channel (Mirrokni, Thorup and Zadimoghaddam, "Consistent Hashing with Bounded Loads", 2016). Since
 * each process observes the limit, all of them together do.
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

  /**
   * Order for calls that should use the same channel; channels with more than their share come last in their priority.
   */
  orderFor<T extends Loaded>(key: string, channels: readonly T[]): readonly T[] {
    const placeOf = ({ id, credentialId }: T): number => stableRandomFor(key, accountKey(id, credentialId));
    const ordered = weightedOrder(channels, placeOf);
    if (ordered.every((account) => this.#callsOn(account) < MIN_BOUND)) return ordered;
    const isLoaded = new Map(ordered.map((channel) => [channel, this.#isLoaded(channel, ordered)]));
    return ordered.toSorted((a, b) => b.priority - a.priority || Number(isLoaded.get(a)) - Number(isLoaded.get(b)));
  }

  /** Whether one more call would exceed a channel's limit among those of its priority. */
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

/** A channel with the values that determine its position. */
interface Weighted {
  readonly priority: number;
  readonly weight: number;
}

/**
 * Orders by descending priority, and within a priority at random, so that each channel comes first in proportion to its
 * weight (Efraimidis and Spirakis, "Weighted random sampling with a reservoir", 2006). Weight 0 comes last.
 *
 * @param random in [0, 1); a function that returns the same value for a channel each time gives the same order each
 *   time
 */
export function weightedOrder<T extends Weighted>(channels: readonly T[], random: (channel: T) => number): T[] {
  if (channels.length < 2) return [...channels];
  return channels
    .map((channel) => ({ channel, order: -Math.log(1 - random(channel)) / channel.weight }))
    .sort((a, b) => b.channel.priority - a.channel.priority || compare(a.order, b.order))
    .map(({ channel }) => channel);
}

/**
 * A random number determined by key and channel, for calls that should use the same channel each time: weighted
 * rendezvous hashing (Thaler and Ravishankar, 1998). All processes agree without messages, and adding or removing a
 * channel moves only its own calls.
 */
function stableRandomFor(key: string, id: number | string): number {
  return hash('sha256', `${id}:${key}`, 'buffer').readUInt32BE() / 2 ** 32;
}

/** Weight 0 yields infinity, or 0/0 if the random number was 0. */
const compare = (a: number, b: number): number => (a === b ? 0 : Number.isNaN(a) || a > b ? 1 : -1);

/**
 * If the first three are credentials of one channel, moves the first of another channel to third position: a refused
 * credential leads to the next credential, an unavailable upstream to another upstream, within the three attempts of a
 * call.
 */
export function putAnotherChannelThird<T extends { readonly id: number }>(ordered: readonly T[]): readonly T[] {
  const [first, second, third, ...rest] = ordered;
  if (third === undefined || first?.id !== second?.id || second?.id !== third.id) return ordered;
  const index = rest.findIndex(({ id }) => id !== third.id);
  const other = rest[index];
  return other === undefined ? ordered : [...ordered.slice(0, 2), other, third, ...rest.toSpliced(index, 1)];
}
