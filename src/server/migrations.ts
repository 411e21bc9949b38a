import { accountMigrations } from './accounts/tables.ts';
import { artifactMigrations } from './artifacts/tables.ts';
import { batchMigrations } from './batches/tables.ts';
import { budgetMigrations } from './budgets/tables.ts';
import { channelMigrations } from './channels/tables.ts';
import { deviceAuthMigrations } from './device-auth/tables.ts';
import { eventMigrations } from './event-log/tables.ts';
import { fileMigrations } from './files/tables.ts';
import { identityMigrations } from './identity-providers/tables.ts';
import { importerMigrations } from './imports/tables.ts';
import { mailMigrations } from './mail/tables.ts';
import { mailboxMigrations } from './mailbox/tables.ts';
import { notificationMigrations } from './notifications/tables.ts';
import { organizationMigrations } from './organizations/tables.ts';
import { planMigrations } from './plans/tables.ts';
import { type Migration, metaMigrations } from './platform/db/migrate.ts';
import { rateLimitMigrations } from './platform/limits/tables.ts';
import { quotaMigrations } from './quota/tables.ts';
import { requestMigrations } from './request-log/tables.ts';
import { serviceStatusMigrations } from './service-status/tables.ts';
import { siteMigrations } from './site-settings/tables.ts';
import { supportMigrations } from './support/tables.ts';
import { videoMigrations } from './video/tables.ts';
import { webhookMigrations } from './webhooks/tables.ts';

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
