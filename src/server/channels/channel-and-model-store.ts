import { type Insertable, type Kysely, type Selectable, sql, type Transaction, type Updateable } from 'kysely';
import type { Database } from '../platform/db/database.ts';
import { prepareQuery } from '../platform/db/prepared-query.ts';
import type { Tables } from '../tables.ts';

type Trx = Transaction<Tables>;
export type ChannelRow = Selectable<Tables['channels']>;
export type ModelRow = Selectable<Tables['models']>;
export type ChannelErrorRow = Selectable<Tables['channel_errors']>;

/** Newest errors kept of each channel. */
const MAX_STORED_ERRORS = 20;

const version = prepareQuery<Tables, Record<never, never>>()((db) =>
  db.selectFrom('catalog_version').select('version'),
);

/** SQL of channels and models. */
export class ChannelAndModelStore {
  readonly #database: Database<Tables>;
  /** As long as it returns the same, the version is the same; undefined where only a query can tell. */
  readonly countChanges: (() => number) | undefined;

  constructor(database: Database<Tables>) {
    this.#database = database;
    this.countChanges = database.watch?.(['catalog_version']);
  }

  /** Increases with every change; a cheap query, as every request runs it on PostgreSQL. */
  async version(): Promise<number> {
    return (await version.first(this.#database.kysely, {}))?.version ?? 0;
  }

  /** A change of the catalogue: first in line, then alone with it until it ends, so that checks hold what they found. */
  change<R>(work: (trx: Trx) => Promise<R>): Promise<R> {
    return this.#database.transaction(async (trx) => {
      await trx.updateTable('catalog_version').set({ version: sql`version + 1` }).execute();
      return work(trx);
    });
  }

  /** Everything. The version is read first: rows that change meanwhile are newer than it says, and are read again. */
  async all(): Promise<{ version: number; channels: ChannelRow[]; models: ModelRow[]; hasPlanTerms: boolean }> {
    const before = await this.version();
    const [channels, models, terms] = await Promise.all([
      this.#database.kysely.selectFrom('channels').selectAll().orderBy('id').execute(),
      this.#database.kysely.selectFrom('models').selectAll().orderBy('id').execute(),
      this.#database.kysely
        .selectFrom('plans')
        .select('id')
        .where((row) => row.or([row('price_factor', '<>', 1), row('channels', '<>', '[]')]))
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

  /** A changed channel may be another account altogether: what was learned of the old one does not count. */
  async setChannel(trx: Trx, id: number, change: Updateable<Tables['channels']>): Promise<void> {
    await trx.updateTable('channels').set(change).where('id', '=', id).execute();
    await trx.deleteFrom('channel_circuits').where('channel_id', '=', id).execute();
  }

  /** Only the list of models changes, and with it no account: `updated_at`, by which processes forget the channel's health, stays. */
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

  /** False when there is one of that name. */
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

  /** Those of the names that were never seeded. */
  async findUnseeded(ids: readonly string[]): Promise<string[]> {
    const rows = await this.#database.kysely.selectFrom('seeded_models').select('id').execute();
    const seeded = new Set(rows.map(({ id }) => id));
    return ids.filter((id) => !seeded.has(id));
  }

  /** False when another process seeded it first. */
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

  /** Adds errors and drops all but the newest of each channel they belong to. */
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
