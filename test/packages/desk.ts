import { makeAllowances } from '../../src/server/packages/allowances.ts';
import { findCardByCode } from '../../src/server/packages/card-store.ts';
import { makeCards } from '../../src/server/packages/cards.ts';
import { makePackages, type PackageParts } from '../../src/server/packages/packages.ts';
import type { Clock } from '../../src/server/platform/clock.ts';
import type { Database } from '../../src/server/platform/db/database.ts';
import { makeLimits } from '../../src/server/platform/limits/limits.ts';
import type { Tables } from '../../src/server/tables.ts';
import { openLedger } from '../ledger.ts';

export const ACTOR = { actorId: 1, address: '127.0.0.1', requestId: 'test' };

/** What of the parts a test puts something else in place of. */
export type Instead = Partial<Pick<PackageParts, 'allowances' | 'audit' | 'notifier' | 'quota'>>;

/** Packages and the ledger on a database, without accounts or HTTP; every account lives in UTC. */
export function openDesk(database: Database<Tables>, clock: Clock, instead: Instead = {}) {
  const timeZoneIn = async () => 'UTC';
  const allowances = instead.allowances ?? makeAllowances({ database, clock, timeZoneIn });
  const ledger = openLedger(database, allowances, clock);
  const packages = makePackages({
    database,
    clock,
    allowances,
    limits: makeLimits({ clock }),
    quota: ledger.quota,
    notifier: { notify: async () => {} },
    audit: { record: async () => {} },
    standing: { find: async () => ({ role: 'user', enabled: true }) as never, assertManages: async () => {} },
    timeZoneIn,
    timeZone: timeZoneIn,
    ...instead,
  });
  return { ...packages, allowances, ledger };
}
export type Desk = ReturnType<typeof openDesk>;

/** Makes a card; the limits not named are 0. Answers its id. */
export function addCard(desk: Desk, card: Partial<Parameters<Desk['cards']['make']>[1]> & { package_code: string }) {
  return desk.cards.make(ACTOR, { name: card.package_code, level: 1, duration_days: 30, ...card });
}

/** The no-package card gets an allowance too, so that it is tried as well. */
export async function giveAllowanceWithoutPackage(
  database: Database<Tables>,
  clock: Clock,
  limits: { readonly daily_quota: number; readonly weekly_quota_limit?: number },
): Promise<void> {
  const none = await findCardByCode(database.kysely, 'none');
  if (none === undefined) throw new Error('no no-package card');
  await makeCards({ database, clock, audit: { record: async () => {} } }).change(ACTOR, none.id, limits);
}
