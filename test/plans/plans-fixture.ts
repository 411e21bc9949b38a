import type { Account } from '../../src/server/accounts/account-store.ts';
import { makePlanAllowances, makePlans, type PlansDependencies } from '../../src/server/plans/module.ts';
import type { NewPlan } from '../../src/server/plans/plan-store.ts';
import type { Clock } from '../../src/server/platform/clock.ts';
import type { Database } from '../../src/server/platform/db/database.ts';
import { createRateLimits } from '../../src/server/platform/limits/rate-limits.ts';
import type { Tables } from '../../src/server/tables.ts';
import { openLedger } from '../ledger-fixture.ts';

export const ACTOR = { actorId: 1, address: '127.0.0.1', requestId: 'test' };
/** An account without privileges that redeems a code. */
export const asUser = (userId: number) => ({ userId, role: 'user' as const });

/** Dependencies a test can replace. */
export type Overrides = Partial<Pick<PlansDependencies, 'allowances' | 'auditLog' | 'notifier' | 'ledger'>>;

/** Plans and the ledger on a database, without accounts or HTTP; every account is in UTC. */
export function openPlansFixture(database: Database<Tables>, clock: Clock, overrides: Overrides = {}) {
  const findTimeZone = async () => 'UTC';
  const allowances = overrides.allowances ?? makePlanAllowances({ database, clock, findTimeZoneIn: findTimeZone });
  const ledger = openLedger(database, allowances, clock);
  const plans = makePlans({
    database,
    clock,
    allowances,
    rateLimits: createRateLimits({ clock }),
    ledger: ledger.quota,
    notifier: { notify: async () => {} },
    auditLog: { record: async () => {}, recordAll: async () => {} },
    access: {
      findEnabled: async () => ({ role: 'user', enabled: true }) as unknown as Account,
      assertCanManage: async () => {},
    },
    findTimeZoneIn: findTimeZone,
    findTimeZone,
    ...overrides,
  });
  return { ...plans, allowances, ledger };
}
/** The services that {@link openPlansFixture} constructs. */
export type PlansFixture = ReturnType<typeof openPlansFixture>;

/** Creates a plan, with 0 for limits that are not given; returns its id. */
export const addPlan = (fixture: PlansFixture, plan: Partial<NewPlan> & { package_code: string }): Promise<number> =>
  fixture.catalog.create(ACTOR, { name: plan.package_code, level: 1, duration_days: 30, ...plan });

/** Gives the built-in plan, which applies without a subscription, an allowance too. */
export async function setAllowanceWithoutPlan(
  { catalog }: PlansFixture,
  limits: { readonly daily_quota: number; readonly weekly_quota_limit?: number },
): Promise<void> {
  const { rows } = await catalog.list({ page: 1, pageSize: 1_000, offset: 0 });
  const none = rows.find((plan) => plan.package_code === 'none');
  if (none === undefined) throw new Error('there is no built-in plan');
  await catalog.update(ACTOR, none.id, limits);
}
