import { type Generated, sql } from 'kysely';
import type { SpendPeriod } from '../../contract/amounts.ts';
import { NO_PACKAGE } from '../../contract/plans.ts';
import { type Migration, required, zero } from '../platform/db/migrate.ts';

/** Tables of plans, subscriptions, redemption codes and allowances. */
export interface PlanTables {
  /** Plans that are sold or given out. The built-in plan `none` applies to accounts without a subscription. */
  plans: {
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
    /** 1: enabled, 2: disabled. */
    status: number;
    /** JSON array of model names; empty: all. */
    models: string;
    /** Factor on the prices its subscribers pay. */
    price_factor: Generated<number>;
    /** JSON array of the ids of channels that serve its subscribers; empty: all. */
    channels: Generated<string>;
    /** Retention of video copies in days, 0: unlimited; null: ARTIFACTS_DAYS. */
    storage_days: number | null;
    /** Storage for these copies in GiB; null: a quarter of ARTIFACTS_MAX_GB. */
    storage_gb: number | null;
    /** Videos in progress at once; null: any number. */
    concurrent_tasks: number | null;
    /** Videos that may wait; null: the default. */
    queued_tasks: number | null;
    /** Cap of the allowance in each 30 × 24 h from activation; 0: none. */
    monthly_quota_limit: Generated<number>;
    /** Spend limit of accounts without their own; both null: none. */
    spend_limit_amount: number | null;
    spend_limit_period: SpendPeriod | null;
    /** Where users buy the plan; empty: they request it by a ticket. */
    order_url: Generated<string>;
    created_at: number;
  };
  /** Plans of accounts; at most one is `active` per account. Ended ones are kept as a record. */
  subscriptions: {
    id: Generated<number>;
    user_id: number;
    plan_id: number;
    state: 'active' | 'waiting' | 'ended';
    duration_days: number;
    starts_at: number;
    expires_at: number;
    /** 1: the owner was notified of the upcoming expiry. */
    expiry_notified: number;
    /** Origin of the subscription: `code:12` or `admin:1`. */
    source: string;
    created_at: number;
  };
  /** Results of requests with an Idempotency-Key by which administrators assigned plans. */
  plan_assignments: {
    user_id: number;
    key: string;
    package_code: string;
    /** Null: the plan's own duration. */
    duration_days: number | null;
    /** JSON of the GrantResult. */
    result: string;
    created_at: number;
  };
  /**
   * Locked by every change to an account's subscriptions or allowances; holds the zone in which its current day
   * started.
   */
  allowance_accounts: { user_id: number; zone: string; extended_day_start: number };
  /** Usage of each allowance window; `subscription_id` 0: the built-in plan. */
  allowance_usage: { user_id: number; subscription_id: number; kind: string; starts_at: number; used: number };
  redemption_batches: { id: Generated<number>; note: string; created_by: number; created_at: number };
  redemption_codes: {
    id: Generated<number>;
    batch_id: number;
    hash: string;
    hint: string;
    plan_id: number | null;
    quota: number;
    state: 'unused' | 'used' | 'voided';
    expires_at: number | null;
    used_by: number | null;
    used_at: number | null;
    created_at: number;
  };
}

/** Schema migrations of plans. */
export const planMigrations: readonly Migration[] = [
  {
    id: '0070-plans',
    async up(trx, dialect) {
      await createPlans(trx, dialect);
      await createSubscriptions(trx, dialect);
      await createAllowances(trx, dialect);
      await createRedemptionCodes(trx, dialect);
    },
  },
  {
    id: '0072-plan-tasks',
    async up(trx, { int64 }) {
      await trx.schema.alterTable('plans').addColumn('concurrent_tasks', int64).execute();
      await trx.schema.alterTable('plans').addColumn('queued_tasks', int64).execute();
    },
  },
  {
    id: '0073-plan-ceilings',
    async up(trx, { int64, text }) {
      await trx.schema.alterTable('plans').addColumn('monthly_quota_limit', int64, zero).execute();
      await trx.schema.alterTable('plans').addColumn('spend_limit_amount', int64).execute();
      await trx.schema.alterTable('plans').addColumn('spend_limit_period', text).execute();
    },
  },
  {
    id: '0074-plan-order-url',
    async up(trx, { text }) {
      await trx.schema
        .alterTable('plans')
        .addColumn('order_url', text, (column) => column.notNull().defaultTo(''))
        .execute();
    },
  },
  {
    id: '0125-plan-assignments',
    async up(trx, { int64, text }) {
      await trx.schema
        .createTable('plan_assignments')
        .addColumn('user_id', int64, required)
        .addColumn('key', text, required)
        .addColumn('package_code', text, required)
        .addColumn('duration_days', int64)
        .addColumn('result', text, required)
        .addColumn('created_at', int64, required)
        .addPrimaryKeyConstraint('plan_assignments_key', ['user_id', 'key'])
        .execute();
    },
  },
  {
    // Earlier versions left the plans of deleted accounts running, which kept the plans from being deleted.
    id: '0126-plans-of-deleted-accounts',
    async up(trx) {
      await sql`update subscriptions set state = 'ended' where state <> 'ended'
        and user_id in (select id from accounts where removed_at is not null)`.execute(trx);
    },
  },
];

type Step = Migration['up'];
const createPlans: Step = async (trx, { int64, bool, text, autoIncrement }) => {
  await trx.schema
    .createTable('plans')
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
    .addColumn('price_factor', 'double precision', (column) => column.notNull().defaultTo(1))
    .addColumn('channels', text, (column) => column.notNull().defaultTo('[]'))
    .addColumn('storage_days', int64)
    .addColumn('storage_gb', int64)
    .addColumn('created_at', int64, required)
    .execute();
  await trx
    .insertInto('plans')
    .values({
      package_code: NO_PACKAGE,
      name: 'No plan',
      description: '',
      level: 0,
      price_amount: 0,
      purchasable: 0,
      daily_quota: 0,
      duration_days: 0,
      refresh_interval_seconds: 0,
      interval_quota: 0,
      weekly_quota_limit: 0,
      system_builtin: 1,
      status: 1,
      models: '[]',
      created_at: Date.now(),
    })
    .execute();
};

const createSubscriptions: Step = async (trx, { int64, bool, text, autoIncrement }) => {
  await trx.schema
    .createTable('subscriptions')
    .addColumn('id', int64, autoIncrement)
    .addColumn('user_id', int64, required)
    .addColumn('plan_id', int64, required)
    .addColumn('state', text, required)
    .addColumn('duration_days', int64, required)
    .addColumn('starts_at', int64, required)
    .addColumn('expires_at', int64, required)
    .addColumn('expiry_notified', bool, zero)
    .addColumn('source', text, required)
    .addColumn('created_at', int64, required)
    .execute();
  await trx.schema.createIndex('subscriptions_by_user').on('subscriptions').columns(['user_id', 'state']).execute();
  await trx.schema
    .createIndex('subscriptions_by_expiry')
    .on('subscriptions')
    .columns(['state', 'expires_at'])
    .execute();
  await trx.schema
    .createIndex('subscriptions_one_active')
    .on('subscriptions')
    .column('user_id')
    .unique()
    .where(sql<boolean>`state = 'active'`)
    .execute();
};

const createAllowances: Step = async (trx, { int64, text }) => {
  await trx.schema
    .createTable('allowance_accounts')
    .addColumn('user_id', int64, (column) => column.primaryKey())
    .addColumn('zone', text, required)
    .addColumn('extended_day_start', int64, zero)
    .execute();
  await trx.schema
    .createTable('allowance_usage')
    .addColumn('user_id', int64, required)
    .addColumn('subscription_id', int64, required)
    .addColumn('kind', text, required)
    .addColumn('starts_at', int64, required)
    .addColumn('used', int64, required)
    .addPrimaryKeyConstraint('allowance_usage_key', ['user_id', 'subscription_id', 'kind', 'starts_at'])
    .addCheckConstraint('allowance_usage_not_negative', sql`used >= 0`)
    .execute();
  await trx.schema.createIndex('allowance_usage_by_start').on('allowance_usage').column('starts_at').execute();
};

const createRedemptionCodes: Step = async (trx, { int64, text, autoIncrement }) => {
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
    .addColumn('plan_id', int64)
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
    .createIndex('redemption_codes_by_plan')
    .on('redemption_codes')
    .columns(['plan_id', 'state'])
    .execute();
};
