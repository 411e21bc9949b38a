import type { NewEvent } from '../event-log/event-writer.ts';
import type { LedgerAuditFinding } from './ledger-audit-store.ts';

/** An audit of the ledger found something; reported once a day. @param day days since 1970 */
export const toLedgerMismatchEvent = (findings: readonly LedgerAuditFinding[], day: number): NewEvent => ({
  type: 'ledger.mismatch',
  subject: 'ledger',
  data: { findings: findings.length, rules: [...new Set(findings.map(({ rule }) => rule))] },
  deduplicationKey: `day:${day}`,
});
