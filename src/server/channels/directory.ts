import { type Insertable, type Kysely, type Selectable, sql, type Transaction, type Updateable } from 'kysely';
import type { TSchema } from 'typebox';
import type { ModelKind } from '../../contract/model-kinds.ts';
import type { OnRetirement } from '../../contract/models.ts';
import { defined } from '../../contract/objects.ts';
import type { Price } from '../../contract/pricing.ts';
import { invalidRequest } from '../platform/app-error.ts';
import { memoizeByObject } from '../platform/cache.ts';
import type { Database } from '../platform/db/database.ts';
import { prepareQuery } from '../platform/db/sql.ts';
import type { Tables } from '../tables.ts';
import type { ChannelAccount, ErrorReason } from '../upstreams/upstream.ts';
import type { ChannelVendor } from './tables.ts';

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
  /** Its announced retirement, in the future for a model that {@link ChannelDirectory.model} returns. */
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
   * Purpose of the call. `poll` queries a task and `count` counts tokens, which is weaker evidence that new work is
   * accepted: vendors limit them apart from it. Default `submit`.
   */
  readonly operation?: 'submit' | 'poll' | 'chat' | 'count' | 'image' | 'probe';
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
   * Must be called if the first of the channels that `candidates` returned is not called after all: if it was a trial
   * of a half-open circuit, the next call may be it.
   */
  abandonTrial(candidates: readonly Channel[]): void;
  /** As `candidates`, for a price or a forecast: nothing is called, so no trial of a half-open circuit is used up. */
  prospects(model: ResolvedModel, permitted?: ReadonlySet<number>): Promise<readonly Channel[]>;
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
  readonly load: { began(account: ChannelAccount): void; ended(account: ChannelAccount): void };
}

/** The keys of one account at the vendor, in plain text: `{api_key}`, `{access_key, secret_key}`, … */
export type CredentialValues = { readonly [key: string]: unknown };

/** One of the credentials of a channel. */
export interface ChannelCredential {
  /** Unique within its channel, and never reused after a removal: tasks refer to the credential that submitted them. */
  readonly id: number;
  /** Label given by the administrator; may be empty. */
  readonly name: string;
  /** A disabled credential still polls the tasks it submitted. */
  readonly enabled: boolean;
  readonly values: CredentialValues;
}

/** The sealed content of a channel's `credentials` column. */
export interface CredentialList {
  readonly nextId: number;
  readonly items: readonly ChannelCredential[];
}

/** The list of a channel without credentials. */
export const NO_CREDENTIALS: CredentialList = { nextId: 1, items: [] };

/** Shorter secrets get no hint: four characters would reveal too large a part of them. */
const MIN_HINTED_LENGTH = 20;

/**
 * A hint that identifies a credential without revealing it: the account's e-mail address, or the end of its first long
 * key.
 */
export function hintOf(values: CredentialValues): string {
  for (const value of Object.values(values)) {
    if (typeof value === 'string' && value.length >= MIN_HINTED_LENGTH) return `…${value.slice(-4)}`;
    const { client_email: email } = (value ?? {}) as { readonly client_email?: unknown };
    if (typeof email === 'string') return email;
  }
  return '';
}

/** Display name of a credential. */
export const labelOf = ({ id, name, values }: ChannelCredential): string =>
  [name === '' ? `#${id}` : name, hintOf(values)].filter((part) => part !== '').join(' ');

/**
 * How a channel's upstream is reached, in addition to its base URL. Sealed, because headers and the proxy may contain
 * credentials.
 */
export type ChannelConnection = Pick<Channel, 'extraHeaders' | 'proxy'>;

const LARGEST = 1_000_000;

/** Channel option `max_concurrent_tasks`: the limit on unfinished tasks of each credential; undefined: no limit. */
export function maxConcurrentTasks({ max_concurrent_tasks: value }: Channel['options']): number | undefined {
  return isBound(value) ? value : undefined;
}

/** The options with the bound given beside them; undefined leaves theirs. */
export function boundOptions(options: Channel['options'], bound: number | null | undefined): Channel['options'] {
  if (bound === undefined) return options;
  const { max_concurrent_tasks: _, ...others } = options;
  return bound === null ? others : { ...others, max_concurrent_tasks: bound };
}

/** @throws AppError `invalid_request` */
export function assertMaxConcurrentTasks({ max_concurrent_tasks: value }: Channel['options']): void {
  if (value !== undefined && !isBound(value))
    throw invalidRequest(
      'options.max_concurrent_tasks must be a whole number from 1 to 1000000.',
      'options.max_concurrent_tasks',
    );
}

const isBound = (value: unknown): value is number =>
  typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= LARGEST;

/** A channel in memory. A disabled channel still serves the tasks pinned to it. */
export interface CatalogChannel {
  /** The channel with its first enabled credential. */
  readonly channel: Channel;
  readonly enabled: boolean;
  /** The channel with each of its credentials, by credential id. */
  readonly credentials: ReadonlyMap<number, CatalogCredential>;
}

/** A channel with one of its credentials. */
interface CatalogCredential {
  readonly channel: Channel;
  readonly enabled: boolean;
  /** Name shown to administrators. */
  readonly label: string;
}

/** A model as listed for callers. */
export interface ListedModel {
  readonly id: string;
  readonly vendor: Channel['vendor'];
  readonly kind: ResolvedModel['kind'];
  readonly createdAt: number;
}

/** Everything about channels and models that a request needs, built once per version of the rows. */
export interface Catalog {
  readonly version: number;
  readonly channels: ReadonlyMap<number, CatalogChannel>;
  /** Enabled models, with aliases resolved. */
  readonly models: ReadonlyMap<string, ResolvedModel>;
  /** Enabled models that an enabled channel serves, by name. */
  readonly listed: readonly ListedModel[];
  /** Whether any plan has its own price factor, channels or limits on videos. */
  readonly hasPlanTerms: boolean;
  /** Enabled channels that serve the model, once per enabled credential. */
  serving(model: Pick<ResolvedModel, 'id' | 'target' | 'vendor'>): readonly Channel[];
}

/** The catalogue before the first load. */
export const EMPTY_CATALOG = buildCatalog(0, [], [], () => undefined);

/**
 * Builds the catalogue: resolves aliases and groups channels by the models they serve. Has no side effects.
 * @param findRetirement the retirement of a model on all channels that serve it
 */
export function buildCatalog(
  version: number,
  channels: readonly CatalogChannel[],
  rows: readonly ModelRow[],
  findRetirement: (model: ResolvedModel, serving: readonly Channel[]) => Retirement | undefined,
): Catalog {
  const byModel = new Map<string, Channel[]>();
  for (const { channel, enabled, credentials } of channels) {
    if (!enabled) continue;
    const usable = [...credentials.values()].filter((each) => each.enabled).map((each) => each.channel);
    for (const model of new Set(channel.models)) {
      const serving = byModel.get(model);
      if (serving === undefined) byModel.set(model, [...usable]);
      else serving.push(...usable);
    }
  }
  // Memoized by object identity, because every call passes the object of this catalogue.
  const serving: Catalog['serving'] = memoizeByObject(({ id, target, vendor }) => {
    const found = new Set([...(byModel.get(id) ?? []), ...(byModel.get(target) ?? [])]);
    return [...found].filter((channel) => channel.vendor === vendor);
  });
  const byId = new Map(rows.map((row) => [row.id, row]));
  const models = new Map<string, ResolvedModel>();
  const listed: ListedModel[] = [];
  for (const row of rows) {
    const resolved = resolveModel(row, byId);
    if (resolved === undefined) continue;
    const model = defined({ ...resolved, retirement: findRetirement(resolved, serving(resolved)) });
    models.set(row.id, model);
    if (serving(model).length > 0)
      listed.push({ id: row.id, vendor: model.vendor, kind: model.kind, createdAt: row.created_at });
  }
  const byChannelId = new Map(channels.map((each) => [each.channel.id, each]));
  return { version, channels: byChannelId, models, listed, hasPlanTerms: false, serving };
}

/** Resolves one step only: an alias of an alias cannot be saved, and is not followed. */
function resolveModel(row: ModelRow, byId: ReadonlyMap<string, ModelRow>): ResolvedModel | undefined {
  const target = row.alias_of === null ? row : byId.get(row.alias_of);
  if (row.enabled === 0 || target === undefined || target.enabled === 0) return undefined;
  const price = row.price ?? target.price;
  const schema = row.input_schema ?? target.input_schema;
  if (price === null) return undefined;
  return defined({
    id: row.id,
    target: target.id,
    vendor: target.vendor,
    kind: target.kind,
    price: JSON.parse(price) as ResolvedModel['price'],
    onRetirement: row.on_retirement === 'refuse' ? undefined : row.on_retirement,
    inputSchema: schema === null ? undefined : (JSON.parse(schema) as TSchema),
  });
}

/** The channel of a row with each of its credentials; sealed columns are already opened. */
export function toCatalogChannel(
  row: ChannelRow,
  { items }: CredentialList,
  connection: ChannelConnection,
  enabled: boolean,
): CatalogChannel {
  const settings = toSettings(row, connection);
  const weight = row.weight / Math.max(1, items.filter((item) => item.enabled).length);
  const credentials = new Map(
    items.map((item) => {
      const channel = { ...settings, credentialId: item.id, credentials: item.values, weight };
      return [item.id, { channel, enabled: item.enabled, label: labelOf(item) }];
    }),
  );
  const all = [...credentials.values()];
  const first = all.find((each) => each.enabled) ?? all[0];
  return { channel: first?.channel ?? { ...settings, credentialId: 0, credentials: {} }, enabled, credentials };
}

/** A row without its credentials. */
export function toSettings(
  row: ChannelRow,
  { extraHeaders, proxy }: ChannelConnection,
): Omit<Channel, 'credentials' | 'credentialId'> {
  const options = JSON.parse(row.options) as Channel['options'];
  const modelMapping = JSON.parse(row.model_mapping) as NonNullable<Channel['modelMapping']>;
  return defined({
    id: row.id,
    name: row.name,
    vendor: row.vendor,
    baseUrl: row.base_url,
    options,
    private: options.private === true,
    maxConcurrentTasks: maxConcurrentTasks(options),
    models: JSON.parse(row.models) as string[],
    priority: row.priority,
    weight: row.weight,
    modelMapping: Object.keys(modelMapping).length === 0 ? undefined : modelMapping,
    extraHeaders,
    proxy,
  });
}

type Trx = Transaction<Tables>;
/** A row of `channels`. */
export type ChannelRow = Selectable<Tables['channels']>;
/** A row of `models`. */
export type ModelRow = Selectable<Tables['models']>;
/** A row of `channel_errors`. */
export type ChannelErrorRow = Selectable<Tables['channel_errors']>;

/** Newest errors kept per channel. */
const MAX_STORED_ERRORS = 20;

const version = prepareQuery<Tables, Record<never, never>>()((db) =>
  db.selectFrom('catalog_version').select('version'),
);

/** SQL of channels and models. */
export class CatalogStore {
  readonly #database: Database<Tables>;

  constructor(database: Database<Tables>) {
    this.#database = database;
  }

  /** See {@link Database.snapshot}. */
  get snapshot(): Database<Tables>['snapshot'] {
    return this.#database.snapshot;
  }

  /** Increases with every change. Read by every request. */
  async version(): Promise<number> {
    return (await version.first(this.#database.kysely, {}))?.version ?? 0;
  }

  /** Runs a change of the catalogue. Changes are serialized by a lock held until commit, so that checks stay valid. */
  change<R>(work: (trx: Trx) => Promise<R>): Promise<R> {
    return this.#database.transaction(async (trx) => {
      await trx.updateTable('catalog_version').set({ version: sql`version + 1` }).execute();
      return work(trx);
    });
  }

  /**
   * Reads all rows. The version is read first, so that rows changed during the read belong to a newer version and are
   * read again.
   */
  async all(): Promise<{ version: number; channels: ChannelRow[]; models: ModelRow[]; hasPlanTerms: boolean }> {
    const before = await this.version();
    const [channels, models, terms] = await Promise.all([
      this.#database.kysely.selectFrom('channels').selectAll().orderBy('id').execute(),
      this.#database.kysely.selectFrom('models').selectAll().orderBy('id').execute(),
      this.#database.kysely
        .selectFrom('plans')
        .select('id')
        .where((row) =>
          row.or([
            row('price_factor', '<>', 1),
            row('channels', '<>', '[]'),
            row('concurrent_tasks', 'is not', null),
            row('queued_tasks', 'is not', null),
          ]),
        )
        .limit(1)
        .execute(),
    ]);
    return { version: before, channels, models, hasPlanTerms: terms.length > 0 };
  }

  channels(trx: Kysely<Tables> = this.#database.kysely): Promise<ChannelRow[]> {
    return trx.selectFrom('channels').selectAll().orderBy('id').execute();
  }

  models(trx: Kysely<Tables> = this.#database.kysely): Promise<ModelRow[]> {
    return trx.selectFrom('models').selectAll().orderBy('id').execute();
  }

  channel(id: number, trx: Kysely<Tables> = this.#database.kysely): Promise<ChannelRow | undefined> {
    return trx.selectFrom('channels').selectAll().where('id', '=', id).executeTakeFirst();
  }

  model(id: string, trx: Kysely<Tables> = this.#database.kysely): Promise<ModelRow | undefined> {
    return trx.selectFrom('models').selectAll().where('id', '=', id).executeTakeFirst();
  }

  async addChannel(trx: Trx, row: Insertable<Tables['channels']>): Promise<number> {
    return (await trx.insertInto('channels').values(row).returning('id').executeTakeFirstOrThrow()).id;
  }

  /** A changed channel may be a different account, so the health of the previous one is discarded. */
  async setChannel(trx: Trx, id: number, change: Updateable<Tables['channels']>): Promise<void> {
    await trx.updateTable('channels').set(change).where('id', '=', id).execute();
    await trx.deleteFrom('channel_circuits').where('channel_id', '=', id).execute();
  }

  /**
   * Only the list of models changes, not the account, so `updated_at`, on which processes reset the channel's health,
   * is kept.
   */
  async setServedModels(trx: Trx, id: number, models: readonly string[]): Promise<void> {
    await trx
      .updateTable('channels')
      .set({ models: JSON.stringify(models) })
      .where('id', '=', id)
      .execute();
  }

  async removeChannel(trx: Trx, id: number): Promise<void> {
    await trx.deleteFrom('channels').where('id', '=', id).execute();
    await trx.deleteFrom('channel_errors').where('channel_id', '=', id).execute();
    await trx.deleteFrom('channel_circuits').where('channel_id', '=', id).execute();
  }

  /** @returns false if a model of that name exists */
  async addModel(trx: Trx, row: Insertable<Tables['models']>): Promise<boolean> {
    return (await this.addModels(trx, [row])) === 1;
  }

  /** @returns how many were added; those of an existing name are not */
  async addModels(trx: Trx, rows: readonly Insertable<Tables['models']>[]): Promise<number> {
    if (rows.length === 0) return 0;
    const { numInsertedOrUpdatedRows } = await trx
      .insertInto('models')
      .values(rows)
      .onConflict((conflict) => conflict.column('id').doNothing())
      .executeTakeFirst();
    return Number(numInsertedOrUpdatedRows);
  }

  async setModel(trx: Trx, id: string, change: Updateable<Tables['models']>): Promise<void> {
    await trx.updateTable('models').set(change).where('id', '=', id).execute();
  }

  async removeModel(trx: Trx, id: string): Promise<void> {
    await trx.deleteFrom('models').where('id', '=', id).execute();
  }

  /** The given names that were never seeded. */
  async findUnseeded(ids: readonly string[]): Promise<string[]> {
    const rows = await this.#database.kysely.selectFrom('seeded_models').select('id').execute();
    const seeded = new Set(rows.map(({ id }) => id));
    return ids.filter((id) => !seeded.has(id));
  }

  /** @returns the ids that no other process seeded first */
  async markSeeded(trx: Trx, ids: readonly string[]): Promise<Set<string>> {
    const rows = await trx
      .insertInto('seeded_models')
      .values(ids.map((id) => ({ id })))
      .onConflict((conflict) => conflict.column('id').doNothing())
      .returning('id')
      .execute();
    return new Set(rows.map(({ id }) => id));
  }

  sandboxChannel(trx: Trx, name: string): Promise<ChannelRow | undefined> {
    return trx.selectFrom('channels').selectAll().where('sandbox', '=', name).executeTakeFirst();
  }

  /** Adds errors and deletes all but the newest of each affected channel. */
  async addErrors(errors: readonly Insertable<Tables['channel_errors']>[]): Promise<void> {
    if (errors.length === 0) return;
    await this.#database.transaction(async (trx) => {
      await trx.insertInto('channel_errors').values(errors).execute();
      for (const id of new Set(errors.map((error) => error.channel_id))) {
        const oldestKept = trx
          .selectFrom('channel_errors')
          .select('id')
          .where('channel_id', '=', id)
          .orderBy('id', 'desc')
          .offset(MAX_STORED_ERRORS - 1)
          .limit(1);
        await trx.deleteFrom('channel_errors').where('channel_id', '=', id).where('id', '<', oldestKept).execute();
      }
    });
  }

  /** Newest first. */
  errors(channelId: number): Promise<ChannelErrorRow[]> {
    return this.#database.kysely
      .selectFrom('channel_errors')
      .selectAll()
      .where('channel_id', '=', channelId)
      .orderBy('id', 'desc')
      .limit(MAX_STORED_ERRORS)
      .execute();
  }
}
