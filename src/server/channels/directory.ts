import { hash } from 'node:crypto';
import type { TSchema } from 'typebox';
import type { ChatVendor } from '../../contract/channels.ts';
import type { ModelKind, VendorId } from '../../contract/model-kinds.ts';
import type { OnRetirement } from '../../contract/models.ts';
import type { Price } from '../../contract/pricing.ts';
import { AccountMap, accountKey, type ChannelAccount } from '../upstreams/upstream.ts';
import type { ErrorReason } from '../upstreams/vendor-errors.ts';

/** Kinds of upstreams a channel can have: the video vendors, and any upstream that implements one of the chat protocols. */
export type ChannelVendor = VendorId | ChatVendor;

/**
 * One configured upstream account, with decrypted credentials: kept in memory only, never in a response or a log. A channel with several
 * credentials is one of these for each.
 */
export interface Channel {
  readonly id: number;
  /** Which of the channel's credentials these are; unique in the channel. */
  readonly credentialId: number;
  readonly name: string;
  readonly vendor: ChannelVendor;
  /** With the path below which the endpoints are, if any; without a trailing slash. */
  readonly baseUrl: string;
  readonly credentials: { readonly [key: string]: unknown };
  readonly options: { readonly [key: string]: unknown };
  /** `options.private`: its own base_url and artifacts may be private addresses. */
  readonly private: boolean;
  /** Most unfinished tasks of these credentials at once. Absent: any number. */
  readonly maxConcurrentTasks?: number;
  /** Public model ids it serves. */
  readonly models: readonly string[];
  readonly priority: number;
  /** Credentials of one channel share its weight. */
  readonly weight: number;
  /** Names this upstream has for models, by our names. Absent: the same. */
  readonly modelMapping?: Readonly<Record<string, string>>;
  /** Sent with every request, lower-case names; they win over the adapter's own. Absent: none. */
  readonly extraHeaders?: Readonly<Record<string, string>>;
  /** URL of the proxy its requests go through, with credentials. Absent: none. */
  readonly proxy?: string;
}

/** A model as callers name it, its alias followed (one step only). */
export interface ResolvedModel {
  /** The name the caller used, shown to them again and written to the ledger. */
  readonly id: string;
  /** The row that serves it: the alias target, or `id` itself. */
  readonly target: string;
  readonly vendor: ChannelVendor;
  readonly kind: ModelKind;
  readonly price: Price;
  /** Default: refuse. */
  readonly onRetirement?: OnRetirement;
  /** The target stands in for the model, which its vendor has ended: channels that name the model do not serve it. */
  readonly isSubstitute?: boolean;
  /** When it ends, while it is still served. */
  readonly retirement?: Retirement;
  /** The media schema, a JSON Schema of the body. */
  readonly inputSchema?: TSchema;
}

/** When a model ends on every channel that serves it. */
export interface Retirement {
  /** Unix milliseconds; from here on it is not served. */
  readonly at: number;
  /** When its end was read of, Unix milliseconds. */
  readonly knownSince: number;
  readonly successor: string | undefined;
}

/** What came of one call, for the circuit breakers: `ok` is a success, a caller's own mistakes (`user`, `policy`) count as nothing. */
export interface CallOutcome {
  readonly channelId: number;
  readonly credentialId: number;
  readonly model?: string;
  /** Account whose request it was; absent for polls and probes. */
  readonly userId?: number;
  /** `seq` of the task that was polled: failures of a single task say nothing about its channel. */
  readonly taskSeq?: number;
  readonly outcome: 'ok' | ErrorReason | 'unreachable';
  readonly message?: string;
  readonly code?: string;
  readonly retryAfterMs?: number;
  /** What was called for. `poll`: a task was queried, which is weaker evidence of whether new tasks are accepted. Default `submit`. */
  readonly operation?: 'submit' | 'poll' | 'chat' | 'image' | 'probe';
  /** From the request to its outcome; for the metrics. */
  readonly durationMs?: number;
}

/**
 * Upstream accounts and models: which channels serve what, in which order, and which are failing. Rows are cached and
 * re-read when their version in the database has moved, so that a change holds on every replica at the next request.
 */
export interface ChannelDirectory {
  /**
   * Undefined when the model does not exist or is disabled. A model whose vendor has ended it is its successor where an administrator
   * permits that and it costs no more.
   *
   * @throws AppError `model_not_found` naming the successor, where it has ended
   */
  model(id: string): Promise<ResolvedModel | undefined>;
  /** When a model ends on all its channels, if its vendors have said so. */
  retirement(id: string): Promise<Retirement | undefined>;
  /**
   * Enabled public model ids that an enabled channel serves, for GET /v1/models.
   *
   * @param permitted ids of the channels that count; default: all
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
   * Channels that serve a model just returned by `model()`: highest priority first, by weight at random within one; those with an open circuit
   * are left out, unless all are open. Each credential of a channel has its own circuit and its own place; of the first three, one belongs
   * to another channel where there is one, so that an upstream that is down does not use up all attempts.
   *
   * @param permitted ids of those to choose from; default: all
   * @param affinity calls with the same text meet the same channel first, as long as it lives and has not more than 1.25 times its share
   * of the calls in flight
   */
  candidates(
    model: ResolvedModel,
    permitted?: ReadonlySet<number>,
    affinity?: () => string | undefined,
  ): Promise<readonly Channel[]>;
  /**
   * Whether any plan has a price factor or channels of its own. Otherwise no call needs the plan of its account.
   *
   * @param model the model that the same request has resolved, which saves a read
   */
  hasPlanTerms(model?: { readonly id: string }): Promise<boolean>;
  /**
   * The channel a task is pinned to, enabled or not; undefined once deleted.
   *
   * @param credentialId the one that submitted the task; null, or one that was removed since: the first that is enabled
   */
  byId(id: number, credentialId?: number | null): Promise<Channel | undefined>;
  /** Feeds the circuit breakers. Never throws. */
  report(call: CallOutcome): void;
  /** To be told which calls are in flight. */
  readonly load: Pick<ChannelLoad, 'began' | 'ended'>;
}

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

/** A channel's place in the queue. */
interface Weighted {
  readonly priority: number;
  readonly weight: number;
}

/**
 * Orders by priority, the largest first, and within one priority at random so that each comes first in proportion to its
 * weight (Efraimidis and Spirakis, "Weighted random sampling with a reservoir", 2006). Weight 0 comes last.
 *
 * @param random in [0, 1); what says the same of a channel each time gives the same order each time
 */
export function weightedOrder<T extends Weighted>(channels: readonly T[], random: (channel: T) => number): T[] {
  if (channels.length < 2) return [...channels];
  return channels
    .map((channel) => ({ channel, order: -Math.log(1 - random(channel)) / channel.weight }))
    .sort((a, b) => b.channel.priority - a.channel.priority || compare(a.order, b.order))
    .map(({ channel }) => channel);
}

/**
 * A random number that depends only on key and channel, for calls that should use the same channel each time: weighted rendezvous hashing
 * (Thaler and Ravishankar, 1998), so that all processes agree without messages, and an added or removed channel moves only its own calls.
 */
function stableRandomFor(key: string, id: number | string): number {
  return hash('sha256', `${id}:${key}`, 'buffer').readUInt32BE() / 2 ** 32;
}

/** Weight 0 makes infinity, or 0/0 where the random number was 0. */
const compare = (a: number, b: number): number => (a === b ? 0 : Number.isNaN(a) || a > b ? 1 : -1);

/**
 * Moves the first of another channel to the third place where the first three are credentials of one: a refused credential leads to the next
 * one, an upstream that is down to another upstream, within the three attempts of a call.
 */
export function putAnotherChannelThird<T extends { readonly id: number }>(ordered: readonly T[]): readonly T[] {
  const [first, second, third, ...rest] = ordered;
  if (third === undefined || first?.id !== second?.id || second?.id !== third.id) return ordered;
  const index = rest.findIndex(({ id }) => id !== third.id);
  const other = rest[index];
  return other === undefined ? ordered : [...ordered.slice(0, 2), other, third, ...rest.toSpliced(index, 1)];
}
