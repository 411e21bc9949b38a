import type { Clock } from '../platform/clock.ts';
import type { Database } from '../platform/db/database.ts';
import type { Tables } from '../tables.ts';
import type { LedgerStore } from './reservation-and-ledger-store.ts';
import type { Ledger } from './reservation-and-ledger-types.ts';

export interface AbandonedReservationDependencies {
  readonly database: Database<Tables>;
  readonly store: LedgerStore;
  readonly ledger: Ledger;
  readonly clock: Clock;
}

const BATCH = 200;

/**
 * Refunds reservations whose process died before it could settle them. For work that leaves no row of its own to recover
 * from (model calls, `req_`). `olderThanMs` must be longer than such work can last, as a call in progress cannot be distinguished.
 * Each refund is a transaction of its own, decided by deleting the reservation, so races and late settlements are harmless.
 *
 * @returns how many were refunded
 */
export async function refundAbandonedReservations(
  { database, store, ledger, clock }: AbandonedReservationDependencies,
  { prefix, olderThanMs }: { readonly prefix: string; readonly olderThanMs: number },
): Promise<number> {
  const before = clock.now() - olderThanMs;
  let refunded = 0;
  for (;;) {
    const refs = await store.openRefs(before, prefix, BATCH);
    const ends = await Promise.all(refs.map((ref) => database.transaction((trx) => ledger.refund(trx, ref))));
    refunded += ends.filter(Boolean).length;
    if (refs.length < BATCH) return refunded;
  }
}
