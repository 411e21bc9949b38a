import { hash } from 'node:crypto';
import type { ChannelCondition } from '../../contract/channels.ts';
import { defined } from '../../contract/objects.ts';
import { AppError } from '../platform/app-error.ts';
import type { Clock } from '../platform/clock.ts';
import { FreshReadSingleFlight, KeyedCounter, SingleFlight } from '../platform/concurrency.ts';
import { type Log, maskSecrets } from '../platform/log.ts';
import { toWellFormedText } from '../platform/text.ts';
import { UnsealError, type Vault } from '../platform/vault.ts';
import { accountKey, type ChannelAccount, credentialMaskOf } from '../upstreams/upstream.ts';
import {
  bestHealth,
  type CircuitOwner,
  type CredentialHealth,
  circuitOwner,
  credentialHealth,
} from './channel-health.ts';
import type { CircuitState, HealthView, ReplicatedCircuitBreakers } from './circuit-breaker.ts';
import { decryptConnection, decryptCredentials } from './credentials.ts';
import {
  buildCatalog,
  type CallOutcome,
  type Catalog,
  type CatalogChannel,
  type CatalogStore,
  type Channel,
  type ChannelConnection,
  type ChannelDirectory,
  type ChannelErrorRow,
  type ChannelRow,
  type CredentialList,
  EMPTY_CATALOG,
  type ListedModel,
  NO_CREDENTIALS,
  type ResolvedModel,
  type Retirement,
  toCatalogChannel,
} from './directory.ts';
import {
  ChannelRetirements,
  type EndingModel,
  endingModels,
  isNotDearer,
  type ModelLifecycles,
} from './retirements.ts';

interface ChannelSelectionServiceDependencies {
  readonly store: CatalogStore;
  readonly circuits: ReplicatedCircuitBreakers;
  readonly vault: Vault;
  readonly clock: Clock;
  readonly log: Log;
  /** Called when a circuit opens. Must not throw. */
  readonly onCircuitOpen?: (call: CallOutcome, channel: CircuitOwner) => Promise<void>;
  /** Called with every finished call, for the metrics. */
  readonly onCall?: (call: CallOutcome, vendor: Channel['vendor']) => void;
  /** Called when a circuit that was open closes. Must not throw. */
  readonly onCircuitClose?: (call: CallOutcome, channel: CircuitOwner) => Promise<void>;
  /** Whether the simulators run; without them, sandbox channels left in the database are not used. */
  readonly sandbox?: boolean;
  /** Lifecycles of the vendors' models; default: none known. */
  readonly lifecycles?: ModelLifecycles;
  /** Returns numbers in [0, 1); default `Math.random`. */
  readonly random?: () => number;
}

/** Errors are written at most this often, outside any request. */
const ERROR_FLUSH_DELAY_MS = 1_000;
/** More than is kept for one channel; further errors of a burst are dropped. */
const MAX_PENDING_ERRORS = 200;
const MAX_MESSAGE = 500;

/** Channels and models in memory, validated against the version in the database at every use. */
export class ChannelSelectionService implements ChannelDirectory {
  readonly load: ChannelLoad = new ChannelLoad();
  readonly #dependencies: ChannelSelectionServiceDependencies;
  readonly #random: () => number;
  readonly #circuits: ReplicatedCircuitBreakers;
  readonly #versions: FreshReadSingleFlight<number>;
  readonly #rows: DecryptedChannelCache;
  readonly #retirements: ChannelRetirements;
  #catalog: Catalog = EMPTY_CATALOG;
  readonly #loads = new SingleFlight<Catalog>();
  /** Models of the trials that calls have begun, by the channels the calls got. */
  readonly #trials = new WeakMap<readonly Channel[], string>();
  #pendingErrors: Omit<ChannelErrorRow, 'id'>[] = [];
  #errorTimer: NodeJS.Timeout | undefined;
  #pendingNotices: Promise<unknown> = Promise.resolve();

  constructor(dependencies: ChannelSelectionServiceDependencies) {
    this.#dependencies = dependencies;
    this.#circuits = dependencies.circuits;
    this.#random = dependencies.random ?? Math.random;
    this.#versions = new FreshReadSingleFlight(() => dependencies.store.version(), dependencies.store.snapshot);
    const { vault, log, sandbox = false, circuits, lifecycles } = dependencies;
    this.#retirements = new ChannelRetirements(lifecycles);
    this.#rows = new DecryptedChannelCache({ vault, log, sandbox, onChange: (id) => circuits.breakers.forget(id) });
  }

  async model(id: string): Promise<ResolvedModel | undefined> {
    const catalog = await this.#currentCatalog();
    const model = catalog.models.get(id);
    if (model === undefined || !this.#isRetired(model)) return model;
    const substitute = this.#substituteFor(catalog, model);
    if (substitute !== undefined) return substitute;
    const successor = model.retirement?.successor;
    throw new AppError('model_not_found', {
      messageKey: successor === undefined ? 'model_retired' : 'model_retired_for',
      params: { model: id, successor: successor ?? '' },
      param: 'model',
    });
  }

  async retirement(id: string): Promise<Retirement | undefined> {
    return (await this.#currentCatalog()).models.get(id)?.retirement;
  }

  /** Models of a channel that are retired, or will be, on its host, including unconfirmed retirements. */
  endingModels(channel: Channel): readonly EndingModel[] {
    const { lifecycles } = this.#dependencies;
    return lifecycles === undefined ? [] : endingModels(channel, lifecycles);
  }

  async listModels(permitted?: ReadonlySet<number>): Promise<readonly ListedModel[]> {
    const catalog = await this.#currentCatalog();
    return catalog.listed.filter(({ id }) => {
      const model = catalog.models.get(id);
      if (model === undefined) return true;
      const served = this.#isRetired(model) ? this.#substituteFor(catalog, model) : model;
      if (served === undefined || permitted === undefined) return served !== undefined;
      return servingOf(catalog, served).some((channel) => permitted.has(channel.id));
    });
  }

  #isRetired({ retirement }: ResolvedModel): boolean {
    return retirement !== undefined && retirement.at <= this.#dependencies.clock.now();
  }

  /** The successor under the model's name, if an administrator permits it and it costs no more. */
  #substituteFor(catalog: Catalog, model: ResolvedModel): ResolvedModel | undefined {
    if (model.onRetirement !== 'substitute') return undefined;
    const successor = catalog.models.get(model.retirement?.successor ?? '');
    if (successor === undefined || successor.kind !== model.kind || this.#isRetired(successor)) return undefined;
    if (!isNotDearer(successor.price, model.price)) return undefined;
    const { retirement: _, ...served } = successor;
    return { ...served, id: model.id, isSubstitute: true };
  }

  async hasPlanTerms(model?: { readonly id: string }): Promise<boolean> {
    return (await this.#catalogFor(model)).hasPlanTerms;
  }

  async candidates(
    model: ResolvedModel,
    permitted?: ReadonlySet<number>,
    affinity?: () => string | undefined,
  ): Promise<readonly Channel[]> {
    const ordered = await this.#order(model, permitted, affinity);
    // The first channel is certain to be called: if its circuit is half open, this call is its only trial.
    const first = ordered[0];
    const trial = first === undefined || this.#circuits.beginTrial(first, model.target, this.#dependencies.clock.now());
    if (trial === true) return ordered;
    // If another process is trying it right now, its circuit counts as open.
    if (!(await trial)) return this.candidates(model, permitted, affinity);
    this.#trials.set(ordered, model.target);
    return ordered;
  }

  abandonTrial(candidates: readonly Channel[]): void {
    const [first] = candidates;
    const model = this.#trials.get(candidates);
    if (first === undefined || model === undefined) return;
    this.#trials.delete(candidates);
    this.#circuits.endTrial(first, model);
  }

  prospects(model: ResolvedModel, permitted?: ReadonlySet<number>): Promise<readonly Channel[]> {
    return this.#order(model, permitted, undefined);
  }

  async #order(
    model: ResolvedModel,
    permitted: ReadonlySet<number> | undefined,
    affinity: (() => string | undefined) | undefined,
  ): Promise<readonly Channel[]> {
    const loading = this.#circuits.load();
    if (loading !== undefined) await loading;
    const now = this.#dependencies.clock.now();
    const all = servingOf(await this.#catalogFor(model), model);
    const serving = all.filter(
      (channel) => permitted?.has(channel.id) !== false && !this.#hasEndedOn(model, channel, now),
    );
    const available = serving.filter(
      (each) => this.#circuits.breakers.availability(each, model.target, now) !== 'open',
    );
    const askable = available.length === 0 ? serving : available;
    const key = askable.length < 2 ? undefined : affinity?.();
    const order = key === undefined ? weightedOrder(askable, this.#random) : this.load.orderFor(key, askable);
    return putAnotherChannelThird(order);
  }

  #hasEndedOn(model: ResolvedModel, channel: Channel, now: number): boolean {
    const end = this.#retirements.on(channel, model);
    return end !== undefined && end.at <= now;
  }

  async byId(id: number, credentialId?: number | null): Promise<Channel | undefined> {
    const found = (await this.#currentCatalog()).channels.get(id);
    return found?.credentials.get(credentialId ?? 0)?.channel ?? found?.channel;
  }

  report(reported: CallOutcome): void {
    const { clock, onCall } = this.#dependencies;
    const now = clock.now();
    const call = this.#withoutSecrets(reported);
    const vendor = this.#catalog.channels.get(call.channelId)?.channel.vendor;
    if (vendor !== undefined) onCall?.(call, vendor);
    const model = call.model === undefined ? undefined : (this.#catalog.models.get(call.model)?.target ?? call.model);
    const resolved = model === undefined || model === call.model ? call : { ...call, model };
    if (this.#circuits.record(resolved, now)) this.#announce(call);
    if (call.outcome === 'ok' || call.outcome === 'user' || call.outcome === 'policy') return;
    if (this.#pendingErrors.length >= MAX_PENDING_ERRORS) return;
    this.#pendingErrors.push({
      channel_id: call.channelId,
      credential_id: call.credentialId,
      model: call.model ?? '',
      reason: call.outcome,
      code: toWellFormedText(call.code ?? '').slice(0, 100),
      message: toWellFormedText(call.message ?? '').slice(0, MAX_MESSAGE),
      created_at: now,
    });
    this.#errorTimer ??= setTimeout(() => void this.flush(), ERROR_FLUSH_DELAY_MS).unref();
  }

  /** The upstream's message appears in the log, in administrators' notices and in the list of failures. */
  #withoutSecrets(call: CallOutcome): CallOutcome {
    const { message, code } = call;
    if (!message && !code) return call;
    const found = this.#catalog.channels.get(call.channelId);
    const channel = found?.credentials.get(call.credentialId)?.channel ?? found?.channel;
    const mask = (text: string) => maskSecrets(channel === undefined ? text : credentialMaskOf(channel).text(text));
    return { ...call, ...defined({ message: message && mask(message), code: code && mask(code) }) };
  }

  /** The worst condition of a channel's best credential, as a whole or of any model on it. */
  stateOf(id: number): CircuitState {
    return this.#bestOf(id)?.state ?? 'closed';
  }

  conditionOf(id: number): ChannelCondition {
    return this.#bestOf(id)?.condition ?? 'untested';
  }

  /** The health of each credential of a channel. */
  credentialHealth(id: number): readonly CredentialHealth[] {
    const found = this.#catalog.channels.get(id);
    const { breakers } = this.#circuits;
    return found === undefined ? [] : credentialHealth(found, breakers, this.#dependencies.clock.now());
  }

  #bestOf(id: number): CredentialHealth | undefined {
    const found = this.#catalog.channels.get(id);
    return found && bestHealth(found, this.credentialHealth(id));
  }

  /** The current catalogue. */
  catalog(): Promise<Catalog> {
    return this.#currentCatalog();
  }

  /**
   * The health of a channel's best credential (circuit states across all processes, failure rate of this process) and
   * the newest errors across all processes, newest first.
   */
  async condition(id: number): Promise<{ readonly health: readonly HealthView[]; readonly errors: ChannelErrorRow[] }> {
    await this.flush();
    return { health: this.#bestOf(id)?.views ?? [], errors: await this.#dependencies.store.errors(id) };
  }

  /** Writes pending errors and finishes pending notices. Never throws. Call once more before the database is closed. */
  async flush(): Promise<void> {
    clearTimeout(this.#errorTimer);
    this.#errorTimer = undefined;
    const errors = this.#pendingErrors;
    this.#pendingErrors = [];
    await this.#pendingNotices;
    await this.#circuits.flush();
    try {
      await this.#dependencies.store.addErrors(errors);
    } catch (error) {
      this.#dependencies.log.warn({ err: error }, 'the errors of channels could not be written');
    }
  }

  #announce(call: CallOutcome): void {
    const { log, onCircuitOpen, onCircuitClose } = this.#dependencies;
    const { channelId, credentialId, outcome, model, message } = call;
    const about = { channelId, credentialId, model };
    if (outcome === 'ok') log.info(about, 'circuit of a channel closed');
    else log.warn({ ...about, reason: outcome, upstream: message }, 'circuit of a channel opened');
    const found = this.#catalog.channels.get(channelId);
    const owner =
      found === undefined
        ? { name: String(channelId) }
        : circuitOwner(found, credentialId, this.credentialHealth(channelId));
    const report = outcome === 'ok' ? onCircuitClose : onCircuitOpen;
    // Sequential: a channel that recovers at once must not be reported before its failure.
    if (report !== undefined) this.#pendingNotices = this.#pendingNotices.then(() => report(call, owner));
  }

  /** The same request resolved this model from the catalogue in memory and has just checked the version. */
  #catalogFor(model: { readonly id: string } | undefined): Catalog | Promise<Catalog> {
    return model !== undefined && this.#catalog.models.get(model.id) === model ? this.#catalog : this.#currentCatalog();
  }

  async #currentCatalog(): Promise<Catalog> {
    const version = await this.#versions.read();
    // A caller that has read a version needs rows at least as new.
    while (this.#catalog.version < version) await this.#loads.run('', () => this.#load());
    return this.#catalog;
  }

  async #load(): Promise<Catalog> {
    const { version, channels, models, hasPlanTerms } = await this.#dependencies.store.all();
    const catalog = buildCatalog(version, this.#rows.toChannels(channels), models, (model, serving) =>
      this.#retirements.onAll(model, serving),
    );
    this.#catalog = { ...catalog, hasPlanTerms };
    return this.#catalog;
  }
}

/** A substituted model is served by the channels of its substitute. */
const servingOf = (catalog: Catalog, model: ResolvedModel): readonly Channel[] =>
  catalog.serving(model.isSubstitute === true ? { ...model, id: model.target } : model);

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
  readonly #calls = new KeyedCounter<string>();

  began({ id, credentialId }: ChannelAccount): void {
    this.#calls.add(accountKey(id, credentialId), 1);
  }

  ended({ id, credentialId }: ChannelAccount): void {
    this.#calls.add(accountKey(id, credentialId), -1);
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

  #callsOn({ id, credentialId }: ChannelAccount): number {
    return this.#calls.of(accountKey(id, credentialId));
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
function putAnotherChannelThird<T extends { readonly id: number }>(ordered: readonly T[]): readonly T[] {
  const [first, second, third, ...rest] = ordered;
  if (third === undefined || first?.id !== second?.id || second?.id !== third.id) return ordered;
  const index = rest.findIndex(({ id }) => id !== third.id);
  const other = rest[index];
  return other === undefined ? ordered : [...ordered.slice(0, 2), other, third, ...rest.toSpliced(index, 1)];
}

interface DecryptedRow {
  readonly sealed: string;
  readonly sealedConnection: string | null;
  readonly updatedAt: number;
  /** Undefined if the master key does not decrypt them. */
  readonly credentials: CredentialList | undefined;
  readonly connection: ChannelConnection;
}

interface DecryptedChannelCacheDependencies {
  readonly vault: Vault;
  readonly log: Log;
  /** Whether channels of the simulators are used. */
  readonly sandbox: boolean;
  /** Called with each channel that has changed. */
  onChange(id: number): void;
}

/** Converts rows to channels. Sealed values are decrypted once per change of the row. */
class DecryptedChannelCache {
  readonly #dependencies: DecryptedChannelCacheDependencies;
  #known: ReadonlyMap<number, DecryptedRow> = new Map();
  constructor(dependencies: DecryptedChannelCacheDependencies) {
    this.#dependencies = dependencies;
  }

  toChannels(rows: readonly ChannelRow[]): CatalogChannel[] {
    const opened = rows.map((row) => [row, this.#decrypt(row)] as const);
    this.#known = new Map(opened.map(([{ id }, decrypted]) => [id, decrypted]));
    return opened.map(([row, { credentials, connection }]) => {
      const isUsed = row.sandbox === null || this.#dependencies.sandbox;
      const enabled = row.enabled === 1 && credentials !== undefined && isUsed;
      return toCatalogChannel(row, credentials ?? NO_CREDENTIALS, connection, enabled);
    });
  }

  /** A value that cannot be decrypted disables this channel only; tasks pinned to it wait for the right key. */
  #decrypt(row: ChannelRow): DecryptedRow {
    const { vault, log, onChange } = this.#dependencies;
    const kept = this.#known.get(row.id);
    // A changed channel may be a different account, so the health of the previous one is discarded.
    if (kept !== undefined && kept.updatedAt !== row.updated_at) onChange(row.id);
    const { credentials: sealed, connection: sealedConnection, updated_at: updatedAt } = row;
    if (kept?.sealed === sealed && kept.sealedConnection === sealedConnection) return { ...kept, updatedAt };
    try {
      const credentials = decryptCredentials(vault, row);
      return { sealed, sealedConnection, updatedAt, credentials, connection: decryptConnection(vault, row) };
    } catch (error) {
      if (!(error instanceof UnsealError)) throw error;
      log.error({ err: error, channelId: row.id }, "a channel's credentials do not open");
      return { sealed, sealedConnection, updatedAt, credentials: undefined, connection: {} };
    }
  }
}
