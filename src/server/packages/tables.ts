import { type Generated, sql } from 'kysely';
import { NO_PACKAGE } from '../../contract/packages.ts';
import type { Migration } from '../platform/db/migrate.ts';

export interface PackageTables {
  package_cards: {
    id: Generated<number>;
    package_code: string;
    name: string;
    description: string;
    level: number;
    price_amount: number;
    purchasable: number;
    daily_quota: number;
    duration_days: number;
    refresh_interval_seconds: number;
    interval_quota: number;
    weekly_quota_limit: number;
    system_builtin: number;
    /** 1 enabled, 2 disabled. */
    status: number;
    /** JSON list; empty = all. */
    models: string;
    created_at: number;
  };
  /** Packages in somebody's hands; at most one `active` an account. Ended ones stay for the record. */
  package_holdings: {
    id: Generated<number>;
    user_id: number;
    card_id: number;
    state: 'active' | 'waiting' | 'ended';
    duration_days: number;
    starts_at: number;
    expires_at: number;
    /** 1: the owner was told that it ends soon. */
    warned: number;
    /** `code:12` or `admin:1`. */
    source: string;
    created_at: number;
  };
  /** Locked by whoever changes packages or use of an account; keeps the zone its running day was begun in. */
  package_accounts: { user_id: number; zone: string; held_from: number };
  /** Use by window; `holding_id` 0: of the no-package card. */
  allowance_use: { user_id: number; holding_id: number; kind: string; starts_at: number; used: number };
  redemption_batches: { id: Generated<number>; note: string; created_by: number; created_at: number };
  redemption_codes: {
    id: Generated<number>;
    batch_id: number;
    hash: string;
    hint: string;
    card_id: number | null;
    quota: number;
    state: 'unused' | 'used' | 'voided';
    expires_at: number | null;
    used_by: number | null;
    used_at: number | null;
    created_at: number;
  };
}

export const packageMigrations: readonly Migration[] = [
  {
    id: '0070-packages',
    async up(trx, { int64, bool, text, autoIncrement }) {
      const required = (column: Column) => column.notNull();
      const zero = (column: Column) => column.notNull().defaultTo(0);
      await trx.schema
        .createTable('package_cards')
        .addColumn('id', int64, autoIncrement)
        .addColumn('package_code', text, (column) => column.notNull().unique())
        .addColumn('name', text, required)
        .addColumn('description', text, required)
        .addColumn('level', int64, required)
        .addColumn('price_amount', 'double precision', required)
        .addColumn('purchasable', bool, required)
        .addColumn('daily_quota', int64, required)
        .addColumn('duration_days', int64, required)
        .addColumn('refresh_interval_seconds', int64, required)
        .addColumn('interval_quota', int64, required)
        .addColumn('weekly_quota_limit', int64, required)
        .addColumn('system_builtin', bool, required)
        .addColumn('status', int64, required)
        .addColumn('models', text, required)
        .addColumn('created_at', int64, required)
        .execute();
      await trx.schema
        .createTable('package_holdings')
        .addColumn('id', int64, autoIncrement)
        .addColumn('user_id', int64, required)
        .addColumn('card_id', int64, required)
        .addColumn('state', text, required)
        .addColumn('duration_days', int64, required)
        .addColumn('starts_at', int64, required)
        .addColumn('expires_at', int64, required)
        .addColumn('warned', bool, zero)
        .addColumn('source', text, required)
        .addColumn('created_at', int64, required)
        .execute();
      await trx.schema
        .createIndex('package_holdings_by_user')
        .on('package_holdings')
        .columns(['user_id', 'state'])
        .execute();
      await trx.schema
        .createIndex('package_holdings_by_end')
        .on('package_holdings')
        .columns(['state', 'expires_at'])
        .execute();
      await trx.schema
        .createIndex('package_holdings_one_active')
        .on('package_holdings')
        .column('user_id')
        .unique()
        .where(sql<boolean>`state = 'active'`)
        .execute();
      await trx.schema
        .createTable('package_accounts')
        .addColumn('user_id', int64, (column) => column.primaryKey())
        .addColumn('zone', text, required)
        .addColumn('held_from', int64, zero)
        .execute();
      await trx.schema
        .createTable('allowance_use')
        .addColumn('user_id', int64, required)
        .addColumn('holding_id', int64, required)
        .addColumn('kind', text, required)
        .addColumn('starts_at', int64, required)
        .addColumn('used', int64, required)
        .addPrimaryKeyConstraint('allowance_use_key', ['user_id', 'holding_id', 'kind', 'starts_at'])
        .addCheckConstraint('allowance_use_never_below_zero', sql`used >= 0`)
        .execute();
      await trx.schema.createIndex('allowance_use_by_start').on('allowance_use').column('starts_at').execute();
      await trx.schema
        .createTable('redemption_batches')
        .addColumn('id', int64, autoIncrement)
        .addColumn('note', text, required)
        .addColumn('created_by', int64, required)
        .addColumn('created_at', int64, required)
        .execute();
      await trx.schema
        .createTable('redemption_codes')
        .addColumn('id', int64, autoIncrement)
        .addColumn('batch_id', int64, required)
        .addColumn('hash', text, (column) => column.notNull().unique())
        .addColumn('hint', text, required)
        .addColumn('card_id', int64)
        .addColumn('quota', int64, required)
        .addColumn('state', text, required)
        .addColumn('expires_at', int64)
        .addColumn('used_by', int64)
        .addColumn('used_at', int64)
        .addColumn('created_at', int64, required)
        .execute();
      await trx.schema
        .createIndex('redemption_codes_by_batch')
        .on('redemption_codes')
        .columns(['batch_id', 'id'])
        .execute();
      await trx.schema
        .createIndex('redemption_codes_by_card')
        .on('redemption_codes')
        .columns(['card_id', 'state'])
        .execute();
      const nothing = {
        price_amount: 0,
        purchasable: 0,
        daily_quota: 0,
        duration_days: 0,
        refresh_interval_seconds: 0,
      };
      await trx
        .insertInto('package_cards')
        .values({
          package_code: NO_PACKAGE,
          name: 'No package',
          description: '',
          level: 0,
          ...nothing,
          interval_quota: 0,
          weekly_quota_limit: 0,
          system_builtin: 1,
          status: 1,
          models: '[]',
          created_at: Date.now(),
        })
        .execute();
    },
  },
];

type Column = Parameters<
  NonNullable<Parameters<ReturnType<Parameters<Migration['up']>[0]['schema']['createTable']>['addColumn']>[2]>
>[0];
