import { type Generated, sql } from 'kysely';
import type { DeliveryStatus, WebhookPreset } from '../../contract/webhooks.ts';
import { type Migration, required, type Schema } from '../platform/db/migrate.ts';
import type { Dialect } from '../platform/db/sql.ts';

/** `endpoint_id` of deliveries to the callback_url of a single request. */
export const CALLBACK = 0;

/** A signing secret and its predecessor, which also signs until `previous_until` (Unix milliseconds). Both sealed. */
interface RotatedSecret {
  secret: string;
  previous_secret: string | null;
  previous_until: number;
}

/** The tables of the webhooks capability. */
export interface WebhookTables {
  webhook_endpoints: RotatedSecret & {
    id: Generated<number>;
    /** Random; the row id under which the secrets are sealed, because they are created before `id` is known. */
    ref: string;
    user_id: number;
    url: string;
    /** JSON list of event types; empty: all. */
    events: string;
    description: string;
    preset: WebhookPreset;
    enabled: 0 | 1;
    /** The reason the service disabled the endpoint; empty otherwise. */
    disabled_reason: '' | 'gone' | 'failing';
    /** Time of the first failure since the last success, Unix milliseconds. */
    failing_since: number | null;
    /** Time of the latest failure, Unix milliseconds; null for one before this column. */
    failed_at: Generated<number | null>;
    created_at: number;
  };
  /** The secret of an account that signs deliveries to callback_urls. */
  webhook_account_secrets: RotatedSecret & { user_id: number };
  /** One event for one endpoint or callback_url. */
  webhook_deliveries: {
    id: Generated<number>;
    /** The endpoint, or CALLBACK. */
    endpoint_id: number;
    user_id: number;
    /**
     * Deliveries of one lane share its limits and never delay other lanes: `endpoint:ID`, or account and host of a
     * callback.
     */
    lane: string;
    event_seq: number;
    event_id: string;
    event_type: string;
    event_at: number;
    /** The object of the event: deliveries of one subject are made in the order of their events. */
    subject: string;
    /** JSON of the payload's `data`. */
    data: string;
    /** URL of a callback; empty for endpoints, whose URL may change. */
    url: string;
    status: DeliveryStatus;
    tries: number;
    /** Time of the next attempt, or the end of a process's claim; null once it has ended. Unix milliseconds. */
    next_try_at: number | null;
    /** End of the latest claim, Unix milliseconds: an attempt is in flight while this is `next_try_at`. */
    claimed_until: Generated<number | null>;
    created_at: number;
    last_try_at: number | null;
    last_url: string;
    last_request: string;
    last_status: number | null;
    last_response: string;
    last_error: string;
    last_duration_ms: number;
  };
}

type CreateTable = ReturnType<Schema['createTable']>;

/** Migrations of the webhook tables. */
export const webhookMigrations: readonly Migration[] = [
  {
    id: '0066-webhooks',
    async up(trx, dialect) {
      await createEndpoints(trx.schema, dialect);
      await createDeliveries(trx.schema, dialect);
    },
  },
  {
    id: '0122-webhook-claims',
    async up({ schema }, { int64 }) {
      await schema.alterTable('webhook_endpoints').addColumn('failed_at', int64).execute();
      await schema.alterTable('webhook_deliveries').addColumn('claimed_until', int64).execute();
    },
  },
];

async function createEndpoints(schema: Schema, { int64, bool, text, autoIncrement }: Dialect): Promise<void> {
  const withSecret = (table: CreateTable): CreateTable =>
    table
      .addColumn('secret', text, required)
      .addColumn('previous_secret', text)
      .addColumn('previous_until', int64, required);
  await withSecret(schema.createTable('webhook_endpoints').addColumn('id', int64, autoIncrement))
    .addColumn('ref', text, (column) => column.notNull().unique())
    .addColumn('user_id', int64, required)
    .addColumn('url', text, required)
    .addColumn('events', text, required)
    .addColumn('description', text, required)
    .addColumn('preset', text, required)
    .addColumn('enabled', bool, required)
    .addColumn('disabled_reason', text, required)
    .addColumn('failing_since', int64)
    .addColumn('created_at', int64, required)
    .execute();
  await schema.createIndex('webhook_endpoints_by_user').on('webhook_endpoints').column('user_id').execute();
  await withSecret(
    schema.createTable('webhook_account_secrets').addColumn('user_id', int64, (column) => column.primaryKey()),
  ).execute();
}

async function createDeliveries(schema: Schema, { int64, text, autoIncrement }: Dialect): Promise<void> {
  await schema
    .createTable('webhook_deliveries')
    .addColumn('id', int64, autoIncrement)
    .addColumn('endpoint_id', int64, required)
    .addColumn('user_id', int64, required)
    .addColumn('lane', text, required)
    .addColumn('event_seq', int64, required)
    .addColumn('event_id', text, required)
    .addColumn('event_type', text, required)
    .addColumn('event_at', int64, required)
    .addColumn('subject', text, required)
    .addColumn('data', text, required)
    .addColumn('url', text, required)
    .addColumn('status', text, required)
    .addColumn('tries', int64, required)
    .addColumn('next_try_at', int64)
    .addColumn('created_at', int64, required)
    .addColumn('last_try_at', int64)
    .addColumn('last_url', text, required)
    .addColumn('last_request', text, required)
    .addColumn('last_status', int64)
    .addColumn('last_response', text, required)
    .addColumn('last_error', text, required)
    .addColumn('last_duration_ms', int64, required)
    .addUniqueConstraint('webhook_deliveries_once', ['endpoint_id', 'event_seq'])
    .execute();
  const index = (name: string) => schema.createIndex(name).on('webhook_deliveries');
  const pending = sql<boolean>`next_try_at is not null`;
  await index('webhook_deliveries_due').columns(['lane', 'next_try_at']).where(pending).execute();
  await index('webhook_deliveries_order').columns(['lane', 'subject', 'event_seq']).where(pending).execute();
  await index('webhook_deliveries_by_endpoint').columns(['endpoint_id', 'user_id', 'id']).execute();
  await index('webhook_deliveries_by_age').column('created_at').execute();
}
