import type { Generated } from 'kysely';
import type { ChatVendor } from '../../contract/channels.ts';
import type { ModelKind, VendorId } from '../../contract/model-kinds.ts';
import type { OnRetirement } from '../../contract/models.ts';
import { type Migration, required } from '../platform/db/migrate.ts';

/**
 * Kinds of upstreams a channel can have: the video vendors, and any upstream that implements one of the chat dialects.
 */
export type ChannelVendor = VendorId | ChatVendor;

/** The tables of the channels capability. */
export interface ChannelTables {
  /** Upstream accounts. */
  channels: {
    id: Generated<number>;
    name: string;
    vendor: ChannelVendor;
    /** Without path and trailing slash. */
    base_url: string;
    /** JSON of `CredentialList`, sealed by the vault under `channels|<id>|credentials`. */
    credentials: string;
    /** JSON object. */
    options: string;
    /** JSON list of public model ids. */
    models: string;
    /** Channels with a higher value are tried first. */
    /** JSON object: the upstream's model names by ours. */
    model_mapping: Generated<string>;
    /**
     * JSON of `ChannelConnection`, sealed by the vault under `channels|<id>|connection`; null: no special connection.
     */
    connection: Generated<string | null>;
    priority: number;
    weight: number;
    enabled: 0 | 1;
    /** Name of the simulator, by which a second start finds the channel; null for all other channels. */
    sandbox: string | null;
    created_at: number;
    updated_at: number;
  };
  /** Public models. */
  models: {
    id: string;
    vendor: ChannelVendor;
    kind: ModelKind;
    /** JSON of a price; null on an alias that costs the same as its target. */
    price: string | null;
    alias_of: string | null;
    /** JSON Schema of the body. */
    input_schema: string | null;
    /** How calls are treated once the vendor has retired the model. */
    on_retirement: Generated<OnRetirement>;
    enabled: 0 | 1;
    created_at: number;
    updated_at: number;
  };
  /**
   * A single row. Its version increases in the transaction of every change to channels and models, which serializes
   * these changes.
   */
  catalog_version: { place: number; version: number };
  /** Models that were seeded once: a model removed by an administrator stays removed. */
  seeded_models: { id: string };
  /** Circuits that are open or half open; `model` is empty for the whole account. Times are Unix milliseconds. */
  channel_circuits: {
    channel_id: number;
    /** Each credential of a channel has its own circuits. */
    credential_id: number;
    model: string;
    /** Consecutive openings without a success in between. */
    times_opened: number;
    open_until: number;
    /** Until then one process tries whether the account works again. */
    trial_until: number;
    reason: string;
  };
  /** The newest errors of each channel. */
  channel_errors: {
    id: Generated<number>;
    channel_id: number;
    credential_id: number;
    model: string;
    reason: string;
    code: string;
    message: string;
    created_at: number;
  };
}

/** Migrations of the channel tables. */
export const channelMigrations: readonly Migration[] = [
  {
    id: '0020-channels',
    async up(trx, { int64, text, bool, autoIncrement }) {
      await trx.schema
        .createTable('channels')
        .addColumn('id', int64, autoIncrement)
        .addColumn('name', text, required)
        .addColumn('vendor', text, required)
        .addColumn('base_url', text, required)
        .addColumn('credentials', text, required)
        .addColumn('options', text, required)
        .addColumn('models', text, required)
        .addColumn('model_mapping', text, (column) => column.notNull().defaultTo('{}'))
        .addColumn('connection', text)
        .addColumn('priority', int64, required)
        .addColumn('weight', int64, required)
        .addColumn('enabled', bool, required)
        .addColumn('sandbox', text, (column) => column.unique())
        .addColumn('created_at', int64, required)
        .addColumn('updated_at', int64, required)
        .execute();
      await trx.schema
        .createTable('models')
        .addColumn('id', text, (column) => column.primaryKey())
        .addColumn('vendor', text, required)
        .addColumn('kind', text, required)
        .addColumn('price', text)
        .addColumn('alias_of', text)
        .addColumn('input_schema', text)
        .addColumn('on_retirement', text, (column) => column.notNull().defaultTo('refuse'))
        .addColumn('enabled', bool, required)
        .addColumn('created_at', int64, required)
        .addColumn('updated_at', int64, required)
        .execute();
      await trx.schema
        .createTable('catalog_version')
        .addColumn('place', int64, (column) => column.primaryKey())
        .addColumn('version', int64, required)
        .execute();
      await trx.insertInto('catalog_version').values({ place: 1, version: 1 }).execute();
      await trx.schema
        .createTable('seeded_models')
        .addColumn('id', text, (column) => column.primaryKey())
        .execute();
      await trx.schema
        .createTable('channel_circuits')
        .addColumn('channel_id', int64, required)
        .addColumn('credential_id', int64, required)
        .addColumn('model', text, required)
        .addColumn('times_opened', int64, required)
        .addColumn('open_until', int64, required)
        .addColumn('trial_until', int64, required)
        .addColumn('reason', text, required)
        .addPrimaryKeyConstraint('channel_circuits_key', ['channel_id', 'credential_id', 'model'])
        .execute();
      await trx.schema
        .createTable('channel_errors')
        .addColumn('id', int64, autoIncrement)
        .addColumn('channel_id', int64, required)
        .addColumn('credential_id', int64, required)
        .addColumn('model', text, required)
        .addColumn('reason', text, required)
        .addColumn('code', text, required)
        .addColumn('message', text, required)
        .addColumn('created_at', int64, required)
        .execute();
      await trx.schema
        .createIndex('channel_errors_by_channel')
        .on('channel_errors')
        .columns(['channel_id', 'id'])
        .execute();
    },
  },
];
