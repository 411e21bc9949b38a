import type { Clock } from '../platform/clock.ts';
import { FreshReads } from '../platform/fresh-reads.ts';
import { toWellFormedText } from '../platform/json.ts';
import { type Log, maskSecrets } from '../platform/log.ts';
import { SealBroken, type Vault } from '../platform/secrets.ts';
import { type Catalog, EMPTY_CATALOG, type KnownChannel, type ListedModel, toCatalog, toChannel } from './catalog.ts';
import type { Channel, ChannelNews, Channels, ResolvedModel } from './channels.ts';
import { Health, type HealthState, type HealthView } from './health.ts';
import { inTurn } from './order.ts';
import { openCredentials } from './seal.ts';
import type { ChannelErrorRow, ChannelRow, ChannelStore } from './store.ts';

export interface ChannelServiceParts {
  readonly store: ChannelStore;
  readonly vault: Vault;
  readonly clock: Clock;
  readonly log: Log;
  /** Told when a channel begins to rest; must not throw. */
  readonly onRest?: (news: ChannelNews, name: string) => Promise<void>;
  /** Whether the simulators run; without them the channels they left in the database serve nobody. */
  readonly sandbox?: boolean;
  /** In [0, 1); default `Math.random`. */
  readonly random?: () => number;
}

/** Errors are written at most this often, so that a failing channel costs nothing on the way of a request. */
const WRITE_ERRORS_MS = 1_000;
/** More than are kept of one channel; a storm drops the rest. */
const MAX_WAITING_ERRORS = 200;
const MAX_MESSAGE = 500;

/** Channels and models in memory, checked against the database's version at every question. */
export class ChannelService implements Channels {
  readonly #parts: ChannelServiceParts;
  readonly #random: () => number;
  readonly #health = new Health();
  readonly #versions: FreshReads<number>;
  #opened: ReadonlyMap<number, Opened> = new Map();
  #catalog: Catalog = EMPTY_CATALOG;
  /** The state of the database in which the catalogue was last found to be new enough. */
  #checkedIn: object | undefined;
  #loading: Promise<Catalog> | undefined;
  #errors: Omit<ChannelErrorRow, 'id'>[] = [];
  #writer: NodeJS.Timeout | undefined;
  #telling: Promise<unknown> = Promise.resolve();

  constructor(parts: ChannelServiceParts) {
    this.#parts = parts;
    this.#random = parts.random ?? Math.random;
    this.#versions = new FreshReads(() => parts.store.version());
  }

  async model(id: string): Promise<ResolvedModel | undefined> {
    return (await this.#fresh()).models.get(id);
  }

  async listModels(): Promise<readonly ListedModel[]> {
    return (await this.#fresh()).listed;
  }

  async candidates(model: ResolvedModel): Promise<readonly Channel[]> {
    // A model of the present catalogue was asked for a moment ago, by the same request: it is fresh already.
    const isPresent = this.#catalog.models.get(model.id) === model;
    const serving = (isPresent ? this.#catalog : await this.#fresh()).serving(model);
    const now = this.#parts.clock.now();
    const awake = serving.filter(({ id }) => this.#health.fitness(id, model.target, now) !== 'resting');
    const turn = inTurn(awake.length === 0 ? serving : awake, this.#random);
    // Whoever comes first is asked for sure: where that is a trial, nobody else tries the same channel meanwhile.
    const first = turn[0];
    if (first !== undefined) this.#health.beginTrial(first.id, model.target, now);
    return turn;
  }

  async byId(id: number): Promise<Channel | undefined> {
    return (await this.#fresh()).channels.get(id)?.channel;
  }

  report(news: ChannelNews): void {
    const now = this.#parts.clock.now();
    const model = news.model === undefined ? undefined : (this.#catalog.models.get(news.model)?.target ?? news.model);
    if (this.#health.learn({ ...news, ...(model === undefined ? {} : { model }) }, now)) this.#tell(news);
    if (news.outcome === 'ok' || news.outcome === 'user' || news.outcome === 'policy') return;
    if (this.#errors.length >= MAX_WAITING_ERRORS) return;
    this.#errors.push({
      channel_id: news.channelId,
      model: news.model ?? '',
      reason: news.outcome,
      code: toWellFormedText(news.code ?? '').slice(0, 100),
      message: maskSecrets(toWellFormedText(news.message ?? '')).slice(0, MAX_MESSAGE),
      created_at: now,
    });
    this.#writer ??= setTimeout(() => void this.flush(), WRITE_ERRORS_MS).unref();
  }

  /** The worst that is known of a channel as a whole or of any of its models. */
  stateOf(id: number): HealthState {
    const states = this.#health.view(id, this.#parts.clock.now()).map(({ state }) => state);
    return states.includes('resting') ? 'resting' : states.includes('trying') ? 'trying' : 'healthy';
  }

  /** Everything at once, as it stands now. */
  catalog(): Promise<Catalog> {
    return this.#fresh();
  }

  /** What this process knows of a channel's health, and the newest errors of all processes, newest first. */
  async condition(id: number): Promise<{ readonly health: HealthView[]; readonly errors: ChannelErrorRow[] }> {
    await this.flush();
    return { health: this.#health.view(id, this.#parts.clock.now()), errors: await this.#parts.store.errors(id) };
  }

  /** Writes the errors and finishes the notices that wait; never throws. Call it once more before the database is closed. */
  async flush(): Promise<void> {
    clearTimeout(this.#writer);
    this.#writer = undefined;
    const errors = this.#errors;
    this.#errors = [];
    await this.#telling;
    try {
      await this.#parts.store.addErrors(errors);
    } catch (error) {
      this.#parts.log.warn({ err: error }, 'the errors of channels could not be written');
    }
  }

  #tell(news: ChannelNews): void {
    const { log, onRest } = this.#parts;
    const { channelId, outcome, model, message } = news;
    if (outcome === 'ok') {
      log.info({ channelId, model }, 'a channel works again');
      return;
    }
    log.warn({ channelId, model, reason: outcome, upstream: message }, 'a channel rests');
    const name = this.#catalog.channels.get(channelId)?.channel.name ?? String(channelId);
    if (onRest !== undefined) this.#telling = Promise.all([this.#telling, onRest(news, name)]);
  }

  async #fresh(): Promise<Catalog> {
    const { snapshot } = this.#parts.store;
    if (snapshot !== undefined && snapshot === this.#checkedIn) return this.#catalog;
    const version = await this.#versions.ask();
    // Whoever read a version waits for rows at least as new.
    while (this.#catalog.version < version) {
      this.#loading ??= this.#load();
      await this.#loading;
    }
    this.#checkedIn = snapshot;
    return this.#catalog;
  }

  async #load(): Promise<Catalog> {
    try {
      const { version, channels, models } = await this.#parts.store.all();
      const opened = new Map(channels.map((row) => [row.id, this.#open(row)]));
      this.#opened = opened;
      const { sandbox = false } = this.#parts;
      const known = channels.map((row) => toKnown(row, opened.get(row.id)?.credentials, sandbox));
      this.#catalog = toCatalog(version, known, models);
      return this.#catalog;
    } finally {
      this.#loading = undefined;
    }
  }

  /** A seal that does not open stops this channel, not the others; tasks pinned to it wait for the right key. */
  #open(row: ChannelRow): Opened {
    const kept = this.#opened.get(row.id);
    // A changed channel may be another account altogether: what was learned of the old one does not count.
    if (kept !== undefined && kept.updatedAt !== row.updated_at) this.#health.forget(row.id);
    const { credentials: sealed, updated_at: updatedAt } = row;
    if (kept?.sealed === sealed) return { ...kept, updatedAt };
    try {
      return { sealed, updatedAt, credentials: openCredentials(this.#parts.vault, row) };
    } catch (error) {
      if (!(error instanceof SealBroken)) throw error;
      this.#parts.log.error({ err: error, channelId: row.id }, "a channel's credentials do not open");
      return { sealed, updatedAt, credentials: undefined };
    }
  }
}

interface Opened {
  readonly sealed: string;
  readonly updatedAt: number;
  readonly credentials: Channel['credentials'] | undefined;
}

const toKnown = (row: ChannelRow, credentials: Channel['credentials'] | undefined, sandbox: boolean): KnownChannel => ({
  channel: toChannel(row, credentials ?? {}),
  enabled: row.enabled === 1 && credentials !== undefined && (row.sandbox === null || sandbox),
});
