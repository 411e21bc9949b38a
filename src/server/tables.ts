import type { Kysely, Transaction } from 'kysely';
import type { AccountTables } from './accounts/tables.ts';
import type { ArtifactTables } from './artifacts/tables.ts';
import type { BatchTables } from './batches/tables.ts';
import type { BudgetTables } from './budgets/tables.ts';
import type { ChannelTables } from './channels/tables.ts';
import type { DeviceAuthTables } from './device-auth/tables.ts';
import type { EventTables } from './event-log/tables.ts';
import type { FileTables } from './files/tables.ts';
import type { IdentityTables } from './identity-providers/tables.ts';
import type { ImporterTables } from './imports/tables.ts';
import type { MailTables } from './mail/tables.ts';
import type { MailboxTables } from './mailbox/tables.ts';
import type { NotificationTables } from './notifications/tables.ts';
import type { OrganizationTables } from './organizations/tables.ts';
import type { PlanTables } from './plans/tables.ts';
import type { MetaTables } from './platform/db/migrate.ts';
import type { RateLimitTables } from './platform/limits/tables.ts';
import type { QuotaTables } from './quota/tables.ts';
import type { RequestTables } from './request-log/tables.ts';
import type { ServiceStatusTables } from './service-status/tables.ts';
import type { SiteTables } from './site-settings/tables.ts';
import type { SupportTables } from './support/tables.ts';
import type { VideoTables } from './video/tables.ts';
import type { WebhookTables } from './webhooks/tables.ts';

/**
 * All tables of the service, for `Database<Tables>`, `Kysely<Tables>` and `Transaction<Tables>`.
 *
 * A capability adds its tables in `<capability>/tables.ts`, which exports
 * - an interface, table name to row: `export interface AccountTables { accounts: { id: string; created_at: number } }`.
 *   Columns are snake_case; times, money and quota are `number` (int64), booleans `0 | 1`, JSON `string`, null is
 *   `| null`, and a column the database fills in is Kysely's `Generated<…>`;
 * - its migrations: `export const accountMigrations: readonly Migration[]`, with column types from the given `dialect`.
 *
 * Then list the interface here and the migrations in `migrations.ts`.
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
