import { AccountStore } from '../../src/server/accounts/account-store.ts';
import { makePlanAllowances } from '../../src/server/plans/module.ts';
import { manualClock } from '../../src/server/platform/clock.ts';
import { PASSWORD, type TestUser } from '../accounts/test-user-client.ts';
import { openLedger } from '../ledger-fixture.ts';
import { startTestService } from '../test-service.ts';

export const HOUR = 3_600_000;
export const DAY = 24 * HOUR;
/** A Saturday at noon, UTC. */
const NOON = Date.UTC(2026, 10, 21, 12);

/** The current plan of an account with its allowance windows. */
export interface CurrentPlanResponse {
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
/** The result of redeeming a code or activating a plan. */
export interface GrantResponse {
  readonly outcome: string;
  readonly package_code: string;
  readonly package_expires_at: number;
  readonly quota: number;
}

/** The whole service with a manual clock, and helpers for plan operations. */
export async function openPlansApp(databaseUrl: string) {
  const clock = manualClock(NOON);
  const service = await startTestService(databaseUrl, {}, { clock });
  const { app, root } = service;
  const { database } = app;
  const accounts = new AccountStore(database);
  const { quota } = openLedger(
    database,
    makePlanAllowances({ database, clock, findTimeZoneIn: (trx, userId) => accounts.findTimeZone(userId, trx) }),
    clock,
  );
  let count = 0;
  return {
    ...service,
    clock,
    fresh: () => service.signUp(`somebody-${count++}`),
    card: (change: Record<string, unknown>) =>
      root.ok<{ id: number }>('POST', '/api/admin/package-cards', {
        package_code: `card-${count++}`,
        name: 'A card',
        level: 1,
        duration_days: 30,
        ...change,
      }),
    own: (person: TestUser) => person.ok<CurrentPlanResponse>('GET', '/api/user/package'),
    activate: (person: TestUser, package_code: string) =>
      root.ok<GrantResponse>('POST', '/api/user/package/activate', { user_id: person.id, package_code }),
    codesFor: async (request: Record<string, unknown>): Promise<string[]> =>
      (await root.ok<{ codes: string[] }>('POST', '/api/admin/redemption-codes', request)).codes,
    /** @returns the reference of the reservation */
    async reserve(person: TestUser, amount: number, model = 'any'): Promise<string> {
      const ref = `req-${count++}`;
      await database.transaction((trx) => quota.reserve(trx, { ref, userId: person.id, model, amount }));
      return ref;
    },
    refund: (ref: string) => database.transaction((trx) => quota.refund(trx, ref)),
    settle: (ref: string, cost: number) => database.transaction((trx) => quota.settle(trx, ref, cost)),
    /** Advances the clock and logs these people in again, because their sessions may have expired. */
    async passing(ms: number, people: readonly TestUser[] = []): Promise<void> {
      clock.advance(ms);
      await root.logIn('root', 'root-password-1');
      for (const person of people) {
        const { username } = await root.ok<{ username: string }>('GET', `/api/admin/users/${person.id}`);
        await person.logIn(username, PASSWORD);
      }
    },
  };
}
/** The service that {@link openPlansApp} starts. */
export type PlansApp = Awaited<ReturnType<typeof openPlansApp>>;
