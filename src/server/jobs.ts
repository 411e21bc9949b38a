import { DAY_MS, HOUR_MS } from '../contract/time-units.ts';
import { AuditStore } from './accounts/audit-log.ts';
import { LoginHistoryStore } from './accounts/login-service.ts';
import { TokenStore } from './accounts/tokens.ts';
import type { Chat } from './chat/module.ts';
import type { Foundation } from './foundation.ts';
import type { Modules } from './modules.ts';
import { NotificationMailStore } from './notifications/mails.ts';
import { NotificationRetentionStore } from './notifications/retention-store.ts';
import { MonthlyPartitions } from './platform/db/monthly-partitions.ts';
import { hasConcurrentWriters } from './platform/db/sql.ts';
import type { RetentionRule, ScheduledJob } from './platform/scheduled-jobs.ts';
import { RequestStore } from './request-log/request-log.ts';
import type { Tables } from './tables.ts';
import type { Video } from './video/module.ts';
import { ReconciliationStore } from './video/reconciliation.ts';
import { TaskDetailRemovalStore } from './video/task-reports.ts';

/** How long reports can still name a revoked key; it stops authenticating the moment it is revoked. */
const REVOKED_TOKEN_DAYS = 90;

/**
 * Everything that is deleted after a retention period, one line per table. Rows with an expiry of their own (sessions,
 * codes, refresh tokens, counters) are deleted by their module, and the job that audits the ledger compacts it.
 */
export function makeRetentionRules({ settings, database, clock }: Foundation): RetentionRule[] {
  const [tasks, notifications] = [new TaskDetailRemovalStore(database), new NotificationRetentionStore(database)];
  const notificationMails = new NotificationMailStore(database);
  const requests = new RequestStore(database);
  const reconciliations = new ReconciliationStore(database);
  const logins = new LoginHistoryStore(database);
  const [auditLog, tokens] = [new AuditStore(database, clock), new TokenStore(database)];
  return [
    {
      name: 'task detail',
      days: () => settings.current().retentionTaskDetailDays,
      remove: (...old) => tasks.clear(...old),
    },
    {
      name: 'requests',
      days: () => settings.current().retentionRequestsDays,
      remove: (...old) => requests.deleteBefore(...old),
    },
    {
      name: 'reconciliations',
      days: () => settings.current().retentionRequestsDays,
      remove: (...old) => reconciliations.deleteBefore(...old),
    },
    {
      name: 'notifications',
      days: () => settings.current().retentionNotificationsDays,
      remove: (...old) => notifications.deleteBefore(...old),
    },
    {
      name: 'notification mails',
      days: () => settings.current().retentionNotificationsDays,
      remove: (...old) => notificationMails.deleteBefore(...old),
    },
    {
      name: 'audit log',
      days: () => settings.current().retentionAuditDays,
      remove: (...old) => auditLog.deleteBefore(...old),
    },
    {
      name: 'login history',
      days: () => settings.current().retentionLoginsDays,
      remove: (...old) => logins.deleteBefore(...old),
    },
    { name: 'revoked tokens', days: () => REVOKED_TOKEN_DAYS, remove: (...old) => tokens.deleteRevokedBefore(...old) },
  ];
}

const INTERVAL_MS = HOUR_MS;
/** Partitions are created this long before their month starts, so that a failing job is noticed in time. */
const AHEAD_MS = 60 * DAY_MS;

/** Adds the job that creates partitions for coming months. */
export function addComingPartitionsJob(foundation: Pick<Foundation, 'database' | 'clock' | 'log'>): ScheduledJob {
  const { clock, log } = foundation;
  const tables = partitionsOf(foundation);
  return {
    name: 'partitions',
    intervalMs: INTERVAL_MS,
    async run(signal) {
      for (const [table, partitions] of tables) {
        if (signal.aborted) return;
        const now = clock.now();
        const added = await partitions.add(now, now + AHEAD_MS);
        if (added > 0) log.info({ table, added }, 'made partitions for the months to come');
      }
    },
  };
}

/**
 * Tables partitioned by month on PostgreSQL. The ledger, tasks and events have unique columns, which partitions could
 * not keep unique.
 */
const TABLES = ['requests'] as const;

/** The partitions of each table, by table name; none on SQLite. */
export const partitionsOf = ({
  database,
}: Pick<Foundation, 'database'>): readonly (readonly [string, MonthlyPartitions<Tables>])[] =>
  hasConcurrentWriters(database.kysely) ? TABLES.map((table) => [table, new MonthlyPartitions(database, table)]) : [];

/** Ends and removes whatever has expired, in every capability. */
export async function removeEnded(modules: Modules, video: Video, chat: Chat): Promise<void> {
  const { quota, events, webhooks } = modules;
  await Promise.all([
    video.maintain(),
    modules.accounts.removeExpired(),
    modules.deviceAuth.removeExpired(),
    modules.identityProviders.removeExpired(),
    modules.organizations.deleteExpired(),
    modules.transfers.continueRunning(),
    modules.plans.subscriptions.processExpirations(),
    events.removeExpired(),
    webhooks.removeExpired(),
    modules.retirementNotices.send(),
    modules.budgetNotices.send(),
    quota.removeEndedSpending(),
    modules.artifacts.removeEnded(),
    chat
      .recover()
      .then(() => quota.refundAbandonedReservations({ prefix: 'req_', olderThanMs: chat.maxCallDurationMs })),
  ]);
}
