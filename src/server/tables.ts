import type { Kysely, Transaction } from 'kysely';
import { type AccountTables, accountMigrations } from './accounts/tables.ts';
import { type ArtifactTables, artifactMigrations } from './artifacts/tables.ts';
import { type BatchTables, batchMigrations } from './batches/tables.ts';
import { type BudgetTables, budgetMigrations } from './budgets/tables.ts';
import { type ChannelTables, channelMigrations } from './channels/tables.ts';
import { type DeviceAuthTables, deviceAuthMigrations } from './device-auth/tables.ts';
import { type EventTables, eventMigrations } from './event-log/tables.ts';
import { type FileTables, fileMigrations } from './files/tables.ts';
import { type IdentityTables, identityMigrations } from './identity-providers/tables.ts';
import { type ImporterTables, importerMigrations } from './imports/tables.ts';
import { type MailTables, mailMigrations } from './mail/tables.ts';
import { type MailboxTables, mailboxMigrations } from './mailbox/tables.ts';
import { type NotificationTables, notificationMigrations } from './notifications/tables.ts';
import { type OrganizationTables, organizationMigrations } from './organizations/tables.ts';
import { type PlanTables, planMigrations } from './plans/tables.ts';
import { type MetaTables, type Migration, metaMigrations } from './platform/db/migrate.ts';
import { type RateLimitTables, rateLimitMigrations } from './platform/limits/postgres-counters.ts';
import { type QuotaTables, quotaMigrations } from './quota/tables.ts';
import { type RequestTables, requestMigrations } from './request-log/tables.ts';
import { type ServiceStatusTables, serviceStatusMigrations } from './service-status/tables.ts';
import { type SiteTables, siteMigrations } from './site-settings/tables.ts';
import { type SupportTables, supportMigrations } from './support/tables.ts';
import { type VideoTables, videoMigrations } from './video/tables.ts';
import { type WebhookTables, webhookMigrations } from './webhooks/tables.ts';

/**
 * All tables of the service, for `Database<Tables>`, `Kysely<Tables>` and `Transaction<Tables>`.
 *
 * A capability adds its tables in `<capability>/tables.ts`, which exports
 * - an interface, table name to row: `export interface AccountTables { accounts: { id: string; created_at: number } }`.
 *   Columns are snake_case; times, money and quota are `number` (int64), booleans `0 | 1`, JSON `string`, null is
 *   `| null`, and a column the database fills in is Kysely's `Generated<…>`;
 * - its migrations: `export const accountMigrations: readonly Migration[]`, with column types from the given `dialect`.
 *
 * Then list the interface and the migrations here.
 */
export interface Tables
  extends MetaTables,
    RateLimitTables,
    AccountTables,
    IdentityTables,
    DeviceAuthTables,
    ChannelTables,
    QuotaTables,
    RequestTables,
    BudgetTables,
    ServiceStatusTables,
    VideoTables,
    MailTables,
    SiteTables,
    MailboxTables,
    NotificationTables,
    EventTables,
    ArtifactTables,
    FileTables,
    BatchTables,
    WebhookTables,
    PlanTables,
    OrganizationTables,
    SupportTables,
    ImporterTables {}

/** A transaction on the service's tables. */
export type Trx = Transaction<Tables>;
/** Runs queries: the database, or a transaction on it. */
export type Executor = Kysely<Tables>;

/**
 * All schema migrations in the order they run: a table follows the tables it refers to. Released entries keep their
 * position; a module adds new ones at the end of its own list. `tables.ts` explains how to add some.
 */
export const migrations: readonly Migration[] = [
  ...metaMigrations,
  ...rateLimitMigrations,
  ...mailMigrations,
  ...accountMigrations,
  ...deviceAuthMigrations,
  ...quotaMigrations,
  ...requestMigrations,
  ...budgetMigrations,
  ...serviceStatusMigrations,
  ...channelMigrations,
  ...videoMigrations,
  ...mailboxMigrations,
  ...notificationMigrations,
  ...eventMigrations,
  ...artifactMigrations,
  ...webhookMigrations,
  ...planMigrations,
  ...supportMigrations,
  ...importerMigrations,
  ...siteMigrations,
  ...fileMigrations,
  ...identityMigrations,
  ...batchMigrations,
  ...organizationMigrations,
];
