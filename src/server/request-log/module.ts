import type { Clock } from '../platform/clock.ts';
import type { Database } from '../platform/db/database.ts';
import type { Log } from '../platform/log.ts';
import type { Tables } from '../tables.ts';
import { type ReceiptDependencies, ReceiptService } from './receipts.ts';
import { LiveRequestLogSubscribers, RequestLog, RequestStore, StatisticsStore } from './request-log.ts';

interface RequestsDependencies {
  readonly database: Database<Tables>;
  readonly clock: Clock;
  readonly log: Log;
}

/** The request log, as used by other capabilities. */
export interface Requests {
  readonly store: RequestStore;
  readonly statistics: StatisticsStore;
  readonly log: RequestLog;
  readonly liveViews: LiveRequestLogSubscribers;
}

/** Assembles the request log. */
export function makeRequests({ database, clock, log }: RequestsDependencies): Requests {
  const store = new RequestStore(database);
  return {
    store,
    statistics: new StatisticsStore(database),
    log: new RequestLog({ database, store, clock, log }),
    liveViews: new LiveRequestLogSubscribers(store, log),
  };
}

/** Assembles the receipts, which also need the ledger and the videos. */
export const makeReceipts = (dependencies: ReceiptDependencies): ReceiptService => new ReceiptService(dependencies);
