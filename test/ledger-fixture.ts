import type { SpendLimit } from '../src/contract/amounts.ts';
import { isAppError } from '../src/server/platform/app-error.ts';
import { type Clock, manualClock } from '../src/server/platform/clock.ts';
import type { Database } from '../src/server/platform/db/database.ts';
import { type Allowances, LedgerStore } from '../src/server/quota/ledger.ts';
import { LedgerService } from '../src/server/quota/ledger-service.ts';
import { SpendLimitStore, type SpendSubject } from '../src/server/quota/spend-limits.ts';
import type { Tables } from '../src/server/tables.ts';

/** A transaction on the service's tables. */
export type Trx = Parameters<Parameters<Database<Tables>['transaction']>[0]>[0];

/** The ledger alone on a database, with short methods for the operations that tests perform. */
export function openLedger(
  database: Database<Tables>,
  allowances?: Allowances,
  clock: Clock = manualClock(),
  timeZone = 'UTC',
) {
  const store = new LedgerStore(database);
  const spending = { store: new SpendLimitStore(database), timeZone: () => timeZone };
  const quota = new LedgerService({ store, clock, allowances, spending });
  /** Runs the work in its own transaction; returns its result, or the code of its error. */
  const run = async <R>(work: (trx: Trx) => Promise<R>): Promise<R | string> => {
    try {
      return await database.transaction(work);
    } catch (error) {
      if (isAppError(error)) return error.code;
      throw error;
    }
  };
  return {
    store,
    quota,
    run,
    open: (userId: number, amount: number) => run((trx) => quota.openWallet(trx, userId, amount)),
    reserve: (ref: string, userId: number, amount: number, tokenId?: number) =>
      run((trx) =>
        quota.reserve(trx, { ref, userId, model: 'film', amount, ...(tokenId === undefined ? {} : { tokenId }) }),
      ),
    settle: (ref: string, cost: number) => run((trx) => quota.settle(trx, ref, cost)),
    refund: (ref: string) => run((trx) => quota.refund(trx, ref)),
    grant: (userId: number, amount: number, ref: string) => run((trx) => quota.grant(trx, { userId, amount, ref })),
    spendLimit: (subject: SpendSubject, limit: SpendLimit | undefined) =>
      run((trx) => quota.setSpendLimit(trx, subject, limit)),
    limit: (tokenId: number, limit: number | undefined) => run((trx) => quota.setTokenLimit(trx, tokenId, limit)),
  };
}
