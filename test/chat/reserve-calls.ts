import type { Database } from '../../src/server/platform/db/database.ts';
import { LedgerStore } from '../../src/server/quota/ledger.ts';
import { LedgerService } from '../../src/server/quota/ledger-service.ts';
import type { Tables } from '../../src/server/tables.ts';

/** The ledger with open reservations. */
export interface ReservedCalls {
  readonly quota: LedgerService;
  /** The account's wallet balance without open reservations. */
  balance(): Promise<number>;
}

/** Account 1 with a wallet of 10,000, and 100 reserved for each reference. */
export async function reserveCalls(database: Database<Tables>, refs: readonly string[]): Promise<ReservedCalls> {
  const quota = new LedgerService({ store: new LedgerStore(database), clock: { now: () => Date.now() } });
  await database.transaction(async (trx) => {
    await quota.openWallet(trx, 1, 10_000);
    await quota.charge(trx, { reservations: refs.map((ref) => ({ ref, userId: 1, model: 'm', amount: 100 })) });
  });
  return { quota, balance: async () => (await quota.wallet(1)).balance };
}
