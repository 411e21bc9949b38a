import type { Static } from 'typebox';
import { type adminCreatePackageCard, type adminUpdatePackageCard, NO_PACKAGE } from '../../contract/plans.ts';
import type { Page } from '../../contract/responses.ts';
import type { AuditLog } from '../accounts/audit-log.ts';
import { AppError, notExistError } from '../platform/app-error.ts';
import type { Clock } from '../platform/clock.ts';
import type { Database } from '../platform/db/database.ts';
import type { Actor } from '../platform/http/route-registry.ts';
import type { Tables } from '../tables.ts';

import { PLAN_ENABLED, type PlanCatalogStore, type PlanRow, type PlanSort } from './plan-store.ts';

/** A plan to create, as validated by the contract. */
export type NewPlan = Static<(typeof adminCreatePackageCard)['body']>;
type PlanUpdate = Static<(typeof adminUpdatePackageCard)['body']>;

interface PlanAdminServiceDependencies {
  readonly database: Database<Tables>;
  readonly plans: PlanCatalogStore;
  readonly clock: Clock;
  readonly auditLog: AuditLog;
}

/** Fields that cannot be changed on the built-in plan: it has no level, no end and no price, and always exists. */
const IMMUTABLE_ON_BUILTIN = [
  'package_code',
  'level',
  'duration_days',
  'purchasable',
  'status',
  'price_amount',
] as const;

/** Lets administrators manage plans. A change applies to subscribers from their next call on. */
export class PlanAdminService {
  readonly #dependencies: PlanAdminServiceDependencies;
  constructor(dependencies: PlanAdminServiceDependencies) {
    this.#dependencies = dependencies;
  }

  /** Plans that can be bought or redeemed, sorted by level. */
  listPurchasable(): Promise<PlanRow[]> {
    return this.#dependencies.plans.listPurchasable();
  }

  list(page: Page, sort?: PlanSort): Promise<{ rows: PlanRow[]; total: number }> {
    return this.#dependencies.plans.list(page, sort);
  }

  /** @throws AppError `not_exist` */
  async get(id: number): Promise<PlanRow> {
    return assertExists(await this.#dependencies.plans.find(id));
  }

  /**
   * @returns the new id
   * @throws AppError `already_exists` when the code is already in use
   */
  create(actor: Actor, plan: NewPlan): Promise<number> {
    const { database, plans, clock, auditLog } = this.#dependencies;
    return database.transaction(async (trx) => {
      const row = {
        description: '',
        price_amount: 0,
        daily_quota: 0,
        refresh_interval_seconds: 0,
        interval_quota: 0,
        weekly_quota_limit: 0,
        monthly_quota_limit: 0,
        status: PLAN_ENABLED,
        ...toColumns({ purchasable: true, models: [], ...plan }),
        package_code: plan.package_code,
        name: plan.name,
        level: plan.level,
        duration_days: plan.duration_days,
        purchasable: plan.purchasable === false ? 0 : 1,
        models: JSON.stringify(plan.models ?? []),
        channels: JSON.stringify(plan.channels ?? []),
        system_builtin: 0,
        created_at: clock.now(),
      };
      const id = await plans.insert(trx, row);
      if (id === undefined) throw codeTaken();
      await auditLog.record(trx, { ...actor, action: 'package-card.create', target: `package-card:${id}`, after: row });
      return id;
    });
  }

  /**
   * Changes the given fields.
   * @throws AppError `not_exist`, `already_exists`, `package_builtin`
   */
  update(actor: Actor, id: number, change: PlanUpdate): Promise<void> {
    const { database, plans, auditLog } = this.#dependencies;
    return database.transaction(async (trx) => {
      const before = assertExists(await plans.lock(trx, id));
      if (before.package_code === NO_PACKAGE && IMMUTABLE_ON_BUILTIN.some((key) => change[key] !== undefined))
        throw new AppError('package_builtin');
      const other = change.package_code === undefined ? undefined : await plans.findByCode(change.package_code, trx);
      if (other !== undefined && other.id !== id) throw codeTaken();
      const columns = toColumns(change);
      if (Object.keys(columns).length === 0) return;
      await plans.update(trx, id, columns);
      await auditLog.record(trx, {
        ...actor,
        action: 'package-card.update',
        target: `package-card:${id}`,
        before,
        after: { ...before, ...columns },
      });
    });
  }

  /**
   * @throws AppError `not_exist`, `package_builtin`, `in_use` while an account has the plan or an unused code grants it
   */
  remove(actor: Actor, id: number): Promise<void> {
    const { database, plans, auditLog } = this.#dependencies;
    return database.transaction(async (trx) => {
      const before = assertExists(await plans.lock(trx, id));
      if (before.system_builtin === 1) throw new AppError('package_builtin');
      if (await plans.isInUse(trx, id)) throw new AppError('in_use', { params: { what: 'package card' } });
      await plans.delete(trx, id);
      await auditLog.record(trx, { ...actor, action: 'package-card.delete', target: `package-card:${id}`, before });
    });
  }
}

const codeTaken = () => new AppError('already_exists', { params: { what: 'package card' } });

function assertExists(plan: PlanRow | undefined): PlanRow {
  if (plan === undefined) throw notExistError('package card');
  return plan;
}

/** The given fields as columns. */
function toColumns({ purchasable, models, channels, spend_limit: limit, ...rest }: PlanUpdate) {
  const columns = {
    ...rest,
    spend_limit_amount: limit === null ? null : limit?.amount,
    spend_limit_period: limit === null ? null : limit?.period,
    purchasable: purchasable === undefined ? undefined : Number(purchasable),
    models: models && JSON.stringify(models),
    channels: channels && JSON.stringify(channels),
  };
  return Object.fromEntries(Object.entries(columns).filter(([, value]) => value !== undefined));
}
