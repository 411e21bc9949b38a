import type { AccountAccess } from '../accounts/account-store.ts';
import type { AuditLog } from '../accounts/audit-log.ts';
import type { Notifier } from '../notifications/notifier.ts';
import type { Clock } from '../platform/clock.ts';
import type { Database } from '../platform/db/database.ts';
import type { RateLimits } from '../platform/limits/rate-limits.ts';
import type { Ledger } from '../quota/ledger.ts';
import type { Tables, Trx } from '../tables.ts';
import { AffordableCallCounts } from './affordable-calls.ts';
import { AllowanceUsageStore, PlanAllowances } from './allowances.ts';
import { CodeRedemption, RedemptionCodeAdminService, RedemptionCodeStore } from './codes.ts';
import { PlanAdminService, PlanCatalogStore, SubscriptionStore } from './plan-store.ts';
import { Subscriptions } from './subscriptions.ts';

interface AllowancesDependencies {
  readonly database: Database<Tables>;
  readonly clock: Clock;
  /** IANA name of the time zone set by the account. */
  readonly findTimeZoneIn: (trx: Trx, userId: number) => Promise<string>;
}

/** Dependencies of the plans module. */
export interface PlansDependencies extends AllowancesDependencies {
  readonly allowances: PlanAllowances;
  readonly rateLimits: RateLimits;
  readonly ledger: Ledger;
  readonly notifier: Notifier;
  readonly auditLog: AuditLog;
  readonly access: Pick<AccountAccess, 'findEnabled' | 'assertCanManage'>;
  readonly findTimeZone: (userId: number) => Promise<string>;
}

/** The parts of the plans module used by its own routes and by app.ts. */
export interface Plans {
  readonly catalog: PlanAdminService;
  readonly codes: RedemptionCodeAdminService;
  readonly codeRedemption: CodeRedemption;
  readonly subscriptions: Subscriptions;
  readonly allowances: PlanAllowances;
  readonly outlook: AffordableCallCounts;
  readonly ledger: Ledger;
  readonly clock: Clock;
  readonly findTimeZone: (userId: number) => Promise<string>;
}

/**
 * Constructed separately and before the ledger: the ledger spends allowances, while the rest of this module needs the
 * ledger.
 */
export function makePlanAllowances({ database, clock, findTimeZoneIn }: AllowancesDependencies): PlanAllowances {
  return new PlanAllowances({
    subscriptions: new SubscriptionStore(database),
    usage: new AllowanceUsageStore(database),
    clock,
    findTimeZoneIn,
  });
}

/** Constructs the plans module. */
export function makePlans(dependencies: PlansDependencies): Plans {
  const { database, allowances, ledger, clock, findTimeZone } = dependencies;
  const plans = new PlanCatalogStore(database);
  const codes = new RedemptionCodeStore(database);
  const subscriptions = new Subscriptions({
    ...dependencies,
    plans,
    subscriptions: new SubscriptionStore(database),
    usage: new AllowanceUsageStore(database),
  });
  return {
    catalog: new PlanAdminService({ ...dependencies, plans }),
    codes: new RedemptionCodeAdminService({ ...dependencies, plans, codes }),
    codeRedemption: new CodeRedemption({ ...dependencies, codes, subscriptions }),
    subscriptions,
    allowances,
    outlook: new AffordableCallCounts(dependencies),
    ledger,
    clock,
    findTimeZone,
  };
}
