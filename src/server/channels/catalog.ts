import { type Insertable, type Kysely, type Selectable, sql, type Transaction, type Updateable } from 'kysely';
import type { TSchema } from 'typebox';
import { defined } from '../../contract/objects.ts';
import { memoizeByObject } from '../platform/cache.ts';
import type { Database } from '../platform/db/database.ts';
import { prepareQuery } from '../platform/db/sql.ts';
import type { Tables } from '../tables.ts';
import { type ChannelConnection, type CredentialList, labelOf, maxConcurrentTasks } from './credentials.ts';
import type { Channel, ResolvedModel } from './directory.ts';

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
export const EMPTY_CATALOG = buildCatalog(0, [], []);

/** Builds the catalogue: resolves aliases and groups channels by the models they serve. Has no side effects. */
export function buildCatalog(version: number, channels: readonly CatalogChannel[], rows: readonly ModelRow[]): Catalog {
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
    const model = resolveModel(row, byId);
    if (model === undefined) continue;
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
    const { numInsertedOrUpdatedRows } = await trx
      .insertInto('models')
      .values(row)
      .onConflict((conflict) => conflict.column('id').doNothing())
      .executeTakeFirst();
    return numInsertedOrUpdatedRows === 1n;
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

  /** @returns false if another process seeded it first */
  async markSeeded(trx: Trx, id: string): Promise<boolean> {
    const { numInsertedOrUpdatedRows } = await trx
      .insertInto('seeded_models')
      .values({ id })
      .onConflict((conflict) => conflict.column('id').doNothing())
      .executeTakeFirst();
    return numInsertedOrUpdatedRows === 1n;
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
