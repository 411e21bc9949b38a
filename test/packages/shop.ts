import { findTimeZone } from '../../src/server/accounts/store.ts';
import { makeAllowances } from '../../src/server/packages/allowances.ts';
import { handClock } from '../../src/server/platform/clock.ts';
import { PASSWORD, type Person } from '../accounts/person.ts';
import { openLedger } from '../ledger.ts';
import { runApp } from '../running-app.ts';

export const HOUR = 3_600_000;
export const DAY = 24 * HOUR;
/** A Saturday noon, UTC. */
const NOON = Date.UTC(2026, 10, 21, 12);

export interface Own {
  readonly package_code: string;
  readonly expires_at: number;
  readonly allowance_left: number;
  readonly windows: {
    kind: string;
    limit: number;
    used: number;
    left: number;
    refreshes_at: number;
    runs_out_at: number;
  }[];
  readonly waiting: { package_code: string; starts_at: number }[];
  readonly wallet: number;
}
export interface Redeemed {
  readonly outcome: string;
  readonly package_code: string;
  readonly package_expires_at: number;
  readonly quota: number;
}

/** The whole service with a clock in hand, and plain words for what is done with packages. */
export async function openShop(databaseUrl: string) {
  const clock = handClock(NOON);
  const service = await runApp(databaseUrl, {}, { clock });
  const { app, root } = service;
  const { database } = app;
  const { quota } = openLedger(database, makeAllowances({ database, clock, timeZoneIn: findTimeZone }), clock);
  let count = 0;
  return {
    ...service,
    clock,
    fresh: () => service.person(`somebody-${count++}`),
    card: (change: Record<string, unknown>) =>
      root.ok<{ id: number }>('POST', '/api/admin/package-cards', {
        package_code: `card-${count++}`,
        name: 'A card',
        level: 1,
        duration_days: 30,
        ...change,
      }),
    own: (person: Person) => person.ok<Own>('GET', '/api/user/package'),
    activate: (person: Person, package_code: string) =>
      root.ok<Redeemed>('POST', '/api/user/package/activate', { user_id: person.id, package_code }),
    codesFor: async (wish: Record<string, unknown>): Promise<string[]> =>
      (await root.ok<{ codes: string[] }>('POST', '/api/admin/redemption-codes', wish)).codes,
    /** Reserves and answers the reference. */
    async reserve(person: Person, amount: number, model = 'any'): Promise<string> {
      const ref = `req-${count++}`;
      await database.transaction((trx) => quota.reserve(trx, { ref, userId: person.id, model, amount }));
      return ref;
    },
    refund: (ref: string) => database.transaction((trx) => quota.refund(trx, ref)),
    settle: (ref: string, cost: number) => database.transaction((trx) => quota.settle(trx, ref, cost)),
    /** Lets time go by; sessions may have ended meanwhile, so those who go on log in again. */
    async passing(ms: number, people: readonly Person[] = []): Promise<void> {
      clock.advance(ms);
      await root.logIn('root', 'root-password-1');
      for (const person of people) {
        const { username } = await root.ok<{ username: string }>('GET', `/api/admin/users/${person.id}`);
        await person.logIn(username, PASSWORD);
      }
    },
  };
}
export type Shop = Awaited<ReturnType<typeof openShop>>;
