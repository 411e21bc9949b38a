import type { AmountUnit } from '../../contract/format-amounts.ts';
import type { EventWriter } from '../event-log/event-writer.ts';
import type { Notifier } from '../notifications/notifier-types.ts';
import type { Clock } from '../platform/clock.ts';
import type { Database } from '../platform/db/database.ts';
import type { Log } from '../platform/log.ts';
import type { Metrics } from '../platform/metrics.ts';
import type { Tables } from '../tables.ts';
import { LedgerAuditService } from './ledger-audit-service.ts';
import { LedgerCheckpointStore } from './ledger-checkpoint-store.ts';
import { LedgerCompaction } from './ledger-compaction.ts';
import { LedgerCompactionStore } from './ledger-compaction-store.ts';
import { LedgerReportStore } from './ledger-entry-and-usage-report-store.ts';
import { LedgerService } from './ledger-service.ts';
import { notifyLowBalance } from './low-balance-notice.ts';
import { CallChargeStore } from './postgres-call-charge-store.ts';
import { PostgresCallCharges } from './postgres-call-charges.ts';
import { refundAbandonedReservations } from './refund-abandoned-reservations.ts';
import { LedgerStore } from './reservation-and-ledger-store.ts';
import type { Allowances, ClosedCall, CloseListener, Ledger } from './reservation-and-ledger-types.ts';

export interface QuotaDependencies {
  readonly database: Database<Tables>;
  readonly clock: Clock;
  readonly allowances: Allowances;
  readonly notifier: Notifier;
  /** Quota in a wallet below which its owner is notified; 0: never. */
  readonly lowQuota: () => number;
  /** What amounts are written in, as it is set now. */
  readonly amountUnit: () => AmountUnit;
  /** Age in days at which ledger entries are combined; 0: never. */
  /** As it is set now; 0: for ever. */
  readonly ledgerRetentionDays: () => number;
  readonly events: EventWriter;
  readonly log: Log;
  readonly metrics: Pick<Metrics, 'recordSettlements'>;
  /** Writes the request log in the transaction of each settlement. */
  readonly onClosed: CloseListener;
  /** The row it writes of a call. */
  readonly toLogRow: (closed: ClosedCall, now: number) => object;
}

export interface Quota {
  readonly ledger: Ledger;
  readonly usage: LedgerReportStore;
  readonly audit: LedgerAuditService;
  /** Returns reservations older than `olderThanMs` whose reference starts with `prefix`. @returns how many */
  refundAbandonedReservations(range: { readonly prefix: string; readonly olderThanMs: number }): Promise<number>;
}

/** Assembles the ledger and the usage figures. */
export function makeQuota(dependencies: QuotaDependencies): Quota {
  const { database, clock, allowances, notifier, lowQuota, amountUnit, ledgerRetentionDays } = dependencies;
  const { events, log, metrics, onClosed, toLogRow } = dependencies;
  const onSettled = metrics.recordSettlements;
  const store = new LedgerStore(database);
  const ledger = new LedgerService({
    store,
    clock,
    allowances,
    onSpend: notifyLowBalance(notifier, clock, lowQuota, amountUnit),
    amountUnit,
    onSettled,
    onClosed,
    callCharges: new PostgresCallCharges({
      store: new CallChargeStore(database),
      clock,
      noticeBelow: lowQuota,
      onSettled,
      toLogRow,
    }),
  });
  return {
    ledger,
    usage: new LedgerReportStore(database),
    audit: new LedgerAuditService({
      store: new LedgerCheckpointStore(database),
      compaction: new LedgerCompaction({
        store: new LedgerCompactionStore(database),
        clock,
        retentionDays: ledgerRetentionDays,
      }),
      events,
      clock,
      log,
    }),
    refundAbandonedReservations: (range) => refundAbandonedReservations({ database, store, ledger, clock }, range),
  };
}
