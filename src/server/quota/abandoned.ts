import type { Clock } from '../platform/clock.ts';
import type { Database } from '../platform/db/database.ts';
import type { Tables } from '../tables.ts';
import type { Quota } from './quota.ts';
import type { QuotaStore } from './store.ts';

export interface AbandonedParts {
  readonly database: Database<Tables>;
  readonly store: QuotaStore;
  readonly quota: Quota;
  readonly clock: Clock;
}

const BATCH = 200;

/**
 * Gives back reservations whose process died before it could end them. For work that leaves no row of its own to recover
 * from (chat requests, `req_`); `olderThanMs` must be longer than such work can last, as one under way looks the same.
 * Each is a transaction of its own that the reservation's end decides, so racing processes and a late end are harmless.
 *
 * @returns how many were given back
 */
export async function refundAbandoned(
  { database, store, quota, clock }: AbandonedParts,
  { prefix, olderThanMs }: { readonly prefix: string; readonly olderThanMs: number },
): Promise<number> {
  const before = clock.now() - olderThanMs;
  let refunded = 0;
  for (;;) {
    const refs = await store.openRefs(before, prefix, BATCH);
    const ends = await Promise.all(refs.map((ref) => database.transaction((trx) => quota.refund(trx, ref))));
    refunded += ends.filter(Boolean).length;
    if (refs.length < BATCH) return refunded;
  }
}
