import type { AmountUnit } from '../../contract/amounts.ts';
import { DAY_MS } from '../../contract/time-units.ts';
import type { EventWriter } from '../event-log/event-log.ts';
import type { Notifier } from '../notifications/notifier.ts';
import type { Clock } from '../platform/clock.ts';
import type { Database } from '../platform/db/database.ts';
import type { Log } from '../platform/log.ts';
import type { Metrics } from '../platform/metrics.ts';
import type { Tables } from '../tables.ts';
import { type Allowances, type CloseListener, type Ledger, LedgerStore } from './ledger.ts';
import { LedgerAuditService, LedgerCheckpointStore } from './ledger-audit.ts';
import { LedgerCompaction, LedgerCompactionStore } from './ledger-compaction.ts';
import { LedgerReportStore } from './ledger-reports.ts';
import { LedgerService, notifyLowBalance, refundAbandonedReservations } from './ledger-service.ts';
import { SpendLimitStore } from './spend-limits.ts';

interface QuotaDependencies {
  readonly database: Database<Tables>;
  readonly clock: Clock;
  readonly allowances: Allowances;
  readonly notifier: Notifier;
  /** Wallet balance in quota below which the owner is notified; 0: never. */
  readonly lowQuota: () => number;
  /** The unit in which messages write amounts, read from the current settings. */
  readonly amountUnit: () => AmountUnit;
  /** IANA name of the site's time zone, read from the current settings. */
  readonly timeZone: () => string;
  /** Retention in days, read from the current settings; 0: unlimited. */
  readonly ledgerRetentionDays: () => number;
  readonly events: EventWriter;
  readonly log: Log;
  readonly metrics: Pick<Metrics, 'recordSettlements'>;
  /** Writes the request log in the transaction of each settlement. */
  readonly onClosed: CloseListener;
}

/** Longer than any period and any work whose settlement changes its window. */
const SPENDING_KEPT_MS = 100 * DAY_MS;

interface Quota {
  readonly ledger: Ledger;
  readonly usage: LedgerReportStore;
  readonly audit: LedgerAuditService;
  /** Deletes spending records of periods that ended long ago. */
  removeEndedSpending(): Promise<void>;
  /**
   * Refunds reservations older than `olderThanMs` whose reference starts with `prefix`.
   * @returns the number of refunded reservations
   */
  refundAbandonedReservations(range: { readonly prefix: string; readonly olderThanMs: number }): Promise<number>;
}

/** Constructs the ledger, its audit and its compaction, and the usage figures. */
export function makeQuota(dependencies: QuotaDependencies): Quota {
  const { database, clock, allowances, notifier, lowQuota, amountUnit, ledgerRetentionDays, timeZone } = dependencies;
  const { events, log, metrics, onClosed } = dependencies;
  const store = new LedgerStore(database);
  const spendLimits = new SpendLimitStore(database);
  const ledger = new LedgerService({
    store,
    clock,
    allowances,
    onSpend: notifyLowBalance(notifier, clock, lowQuota, amountUnit),
    amountUnit,
    onSettled: metrics.recordSettlements,
    onClosed,
    spending: { store: spendLimits, timeZone },
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
    removeEndedSpending: () => spendLimits.deleteBefore(clock.now() - SPENDING_KEPT_MS),
    refundAbandonedReservations: (range) => refundAbandonedReservations({ database, store, ledger, clock }, range),
  };
}
