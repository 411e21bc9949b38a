import { AuditStore } from './accounts/audit-log.ts';
import { LoginHistoryStore } from './accounts/login-history.ts';
import { TokenStore } from './accounts/tokens.ts';
import type { Foundation } from './foundation.ts';
import { NotificationMailStore } from './notifications/notification-mail-store.ts';
import { NotificationRetentionStore } from './notifications/retention-store.ts';
import type { RetentionRule } from './platform/scheduled-jobs.ts';
import { RequestStore } from './request-log/request-store.ts';
import { ReconciliationStore } from './video/reconciliation-store.ts';
import { TaskDetailRemovalStore } from './video/task-reports.ts';

/** A revoked key can be looked up in reports for so long; it authenticates nothing from its revocation on. */
const REVOKED_TOKEN_DAYS = 90;

/**
 * Everything that is removed after a time, a line for each table. What has an end of its own (sessions, codes, refresh tokens,
 * counters) is removed by its capability, and the ledger is compacted by the job that audits it.
 */
export function makeRetentionRules({ config, database, clock }: Foundation): RetentionRule[] {
  const [tasks, notifications] = [new TaskDetailRemovalStore(database), new NotificationRetentionStore(database)];
  const notificationMails = new NotificationMailStore(database);
  const requests = new RequestStore(database);
  const reconciliations = new ReconciliationStore(database);
  const logins = new LoginHistoryStore(database);
  const [auditLog, tokens] = [new AuditStore(database, clock), new TokenStore(database)];
  return [
    { name: 'task detail', days: () => config.retentionTaskDetailDays, remove: (...old) => tasks.clear(...old) },
    { name: 'requests', days: () => config.retentionRequestsDays, remove: (...old) => requests.deleteBefore(...old) },
    {
      name: 'reconciliations',
      days: () => config.retentionRequestsDays,
      remove: (...old) => reconciliations.deleteBefore(...old),
    },
    {
      name: 'notifications',
      days: () => config.retentionNotificationsDays,
      remove: (...old) => notifications.deleteBefore(...old),
    },
    {
      name: 'notification mails',
      days: () => config.retentionNotificationsDays,
      remove: (...old) => notificationMails.deleteBefore(...old),
    },
    { name: 'audit log', days: () => config.retentionAuditDays, remove: (...old) => auditLog.deleteBefore(...old) },
    { name: 'login history', days: () => config.retentionLoginsDays, remove: (...old) => logins.deleteBefore(...old) },
    { name: 'revoked tokens', days: () => REVOKED_TOKEN_DAYS, remove: (...old) => tokens.deleteRevokedBefore(...old) },
  ];
}
