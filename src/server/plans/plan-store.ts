import { type Insertable, type Selectable, type SelectQueryBuilder, sql, type Updateable } from 'kysely';
import type { Static } from 'typebox';
import {
  type adminCreatePackageCard,
  type adminUpdatePackageCard,
  NO_PACKAGE,
  type PLAN_SORTS,
} from '../../contract/plans.ts';
import type { Page, Sort } from '../../contract/responses.ts';
import { DAY_MS } from '../../contract/time-units.ts';
import type { AuditLog } from '../accounts/audit-log.ts';
import { AppError, modelNotAllowedError, notExistError } from '../platform/app-error.ts';
import type { Clock } from '../platform/clock.ts';
import type { Database } from '../platform/db/database.ts';
import { jsonRows, prepareQuery, wasChanged } from '../platform/db/sql.ts';
import type { Actor } from '../platform/http/route-registry.ts';
import type { Executor, Tables, Trx } from '../tables.ts';

/** A plan. */
export type PlanRow = Selectable<Tables['plans']>;

/** Order of a list of plans. */
type PlanSort = Sort<(typeof PLAN_SORTS)[number]>;

/** Value of `plans.status`. */
export const PLAN_ENABLED = 1;

const SORT_COLUMNS = { level: 'level', name: 'name', duration: 'duration_days', price: 'price_amount' } as const;
const BY_LEVEL: PlanSort = { key: 'level', descending: false };

/** All plans, including the built-in "no package" plan. */
export class PlanCatalogStore {
  readonly #database: Database<Tables>;
  constructor(database: Database<Tables>) {
    this.#database = database;
  }

  find(id: number): Promise<PlanRow | undefined> {
    return this.#database.kysely.selectFrom('plans').selectAll().where('id', '=', id).executeTakeFirst();
  }

  findByCode(code: string, db: Executor = this.#database.kysely): Promise<PlanRow | undefined> {
    return db.selectFrom('plans').selectAll().where('package_code', '=', code).executeTakeFirst();
  }

  /**
   * Reads a plan and locks it until the commit, so that it cannot be removed while an account is being subscribed to
   * it.
   */
  lock(trx: Trx, id: number): Promise<PlanRow | undefined> {
    return trx.selectFrom('plans').selectAll().where('id', '=', id).forUpdate().executeTakeFirst();
  }

  /** Enabled plans that can be bought or redeemed, by level. */
  listPurchasable(): Promise<PlanRow[]> {
    return this.#database.kysely
      .selectFrom('plans')
      .selectAll()
      .where('status', '=', PLAN_ENABLED)
      .where('purchasable', '=', 1)
      .where('package_code', '<>', NO_PACKAGE)
      .orderBy('level')
      .orderBy('id')
      .execute();
  }

  /** All plans, by level unless sorted. */
  async list({ pageSize, offset }: Page, sort: PlanSort = BY_LEVEL): Promise<{ rows: PlanRow[]; total: number }> {
    const { kysely } = this.#database;
    const [rows, count] = await Promise.all([
      kysely
        .selectFrom('plans')
        .selectAll()
        .orderBy(SORT_COLUMNS[sort.key], sort.descending ? 'desc' : 'asc')
        .orderBy('id')
        .limit(pageSize)
        .offset(offset)
        .execute(),
      kysely
        .selectFrom('plans')
        .select((row) => row.fn.countAll<number>().as('total'))
        .executeTakeFirstOrThrow(),
    ]);
    return { rows, total: Number(count.total) };
  }

  /** @returns the new id; undefined when the code is already in use */
  async insert(trx: Trx, plan: Insertable<Tables['plans']>): Promise<number | undefined> {
    const row = await trx
      .insertInto('plans')
      .values(plan)
      .onConflict((conflict) => conflict.column('package_code').doNothing())
      .returning('id')
      .executeTakeFirst();
    await announceTerms(trx, plan);
    return row?.id;
  }

  async update(trx: Trx, id: number, change: Updateable<Tables['plans']>): Promise<void> {
    await trx.updateTable('plans').set(change).where('id', '=', id).execute();
    await announceTerms(trx, change);
  }

  async delete(trx: Trx, id: number): Promise<void> {
    await trx.deleteFrom('plans').where('id', '=', id).execute();
  }

  /** Whether an account has an unended subscription to the plan, or an unused code grants it. */
  async isInUse(trx: Trx, id: number): Promise<boolean> {
    const subscribed = await trx
      .selectFrom('subscriptions')
      .select('id')
      .where('plan_id', '=', id)
      .where('state', '<>', 'ended')
      .limit(1)
      .executeTakeFirst();
    if (subscribed !== undefined) return true;
    const namedByCode = await trx
      .selectFrom('redemption_codes')
      .select('id')
      .where('plan_id', '=', id)
      .where('state', '=', 'unused')
      .limit(1)
      .executeTakeFirst();
    return namedByCode !== undefined;
  }
}

/** Makes every process reload whether any plan has terms, which is part of the catalog that each request checks. */
async function announceTerms(trx: Trx, change: Updateable<Tables['plans']>): Promise<void> {
  const { price_factor, channels, concurrent_tasks, queued_tasks } = change;
  if ([price_factor, channels, concurrent_tasks, queued_tasks].every((term) => term === undefined)) return;
  await trx.updateTable('catalog_version').set({ version: sql<number>`version + 1` }).execute();
}

/** Models a plan permits; empty: all. */
export const allowedModels = (plan: PlanRow): string[] => JSON.parse(plan.models) as string[];

/** @throws AppError `model_not_allowed` */
export function assertModelAllowed(plan: PlanRow, model: string): void {
  const models = allowedModels(plan);
  if (models.length > 0 && !models.includes(model)) throw modelNotAllowedError(model);
}

/** Effects of a plan other than allowances and models. */
export interface PlanTerms {
  /** Factor on prices. */
  readonly factor: number;
  /** Ids of the channels that serve subscribers of the plan; undefined: all. */
  readonly channels: ReadonlySet<number> | undefined;
  /** A larger level starts earlier where videos wait. */
  readonly level: number;
  /** Videos in progress at once; undefined: any number. */
  readonly concurrentTasks: number | undefined;
  /** Videos that may wait; undefined: the default. */
  readonly queuedTasks: number | undefined;
}

/**
 * The terms of an account's plan; undefined when no plan has any terms.
 * @param model the model that the same request has already resolved, which saves a read
 */
export type FindPlanTerms = (userId: number, model?: { readonly id: string }) => Promise<PlanTerms | undefined>;

/** The terms of a plan. */
export function termsOf({ price_factor: factor, channels, level, ...plan }: PlanRow): PlanTerms {
  const ids = JSON.parse(channels) as number[];
  return {
    factor,
    channels: ids.length === 0 ? undefined : new Set(ids),
    level,
    concurrentTasks: plan.concurrent_tasks ?? undefined,
    queuedTasks: plan.queued_tasks ?? undefined,
  };
}

/** The spend limit of accounts without their own. */
export const spendLimitOf = ({ spend_limit_amount: amount, spend_limit_period: period }: PlanRow) =>
  amount === null || period === null ? undefined : { amount, period };

/** Whether a plan grants quota of its own. */
export const grantsAllowance = (plan: PlanRow): boolean =>
  (plan.refresh_interval_seconds > 0 ? plan.interval_quota : plan.daily_quota) > 0;

/** A subscription with the current version of its plan. */
export interface SubscribedPlan extends Subscription {
  readonly plan: PlanRow;
}

/** The subscriptions of an account, and the plan that applies without one. */
export interface AccountPlans {
  readonly noPlan: PlanRow;
  readonly subscriptions: readonly SubscribedPlan[];
}

/** A plan assigned by a request with an Idempotency-Key. */
type PlanAssignment = Selectable<Tables['plan_assignments']>;

/** A subscription that expires soon. */
export interface ExpiringSubscription {
  readonly id: number;
  readonly user_id: number;
  /** Unix milliseconds. */
  readonly expires_at: number;
  /** Name of the plan. */
  readonly name: string;
  readonly code: string;
}

// A single query, because every paid call runs it and most accounts have no subscription.
const buildAccountPlans = (
  db: Executor,
  users: readonly number[] | SelectQueryBuilder<Tables, never, { id: number }>,
) =>
  db
    .selectFrom('plans as p')
    .leftJoin('subscriptions as s', (join) =>
      join.onRef('s.plan_id', '=', 'p.id').on('s.user_id', 'in', users).on('s.state', 'in', ['active', 'waiting']),
    )
    .selectAll('p')
    .select([
      's.id as subscription_id',
      's.user_id as subscription_user',
      's.state as subscription_state',
      's.duration_days as subscription_days',
      's.starts_at as subscription_starts_at',
      's.expires_at as subscription_expires_at',
    ])
    .where((row) => row.or([row('p.package_code', '=', NO_PACKAGE), row('s.id', 'is not', null)]));
const selectAccountPlans = prepareQuery<Tables, { user: number }>()((db, p) => buildAccountPlans(db, [p('user')]));
const selectPlansOfAccounts = prepareQuery<Tables, { users: string }>()((db, p) =>
  buildAccountPlans(db, db.selectFrom(jsonRows(db, p('users'), 'listed', ['id'])).select('id')),
);
type AccountPlanRow = Awaited<ReturnType<typeof selectAccountPlans.all>>[number];

function toAccountPlans(rows: readonly AccountPlanRow[]): AccountPlans {
  const noPlan = rows.find((row) => row.package_code === NO_PACKAGE);
  if (noPlan === undefined) throw new Error('the built-in plan of accounts without a subscription is missing');
  const subscriptions = rows.flatMap((row): SubscribedPlan[] =>
    row.subscription_id === null
      ? []
      : [
          {
            id: row.subscription_id,
            plan_id: row.id,
            level: row.level,
            state: row.subscription_state === 'active' ? 'active' : 'waiting',
            duration_days: row.subscription_days ?? 0,
            starts_at: row.subscription_starts_at ?? 0,
            expires_at: row.subscription_expires_at ?? 0,
            plan: row,
          },
        ],
  );
  return { noPlan, subscriptions };
}

/**
 * Stores subscriptions of accounts to plans. At most one is active, others are queued, ended ones are kept as a record.
 */
export class SubscriptionStore {
  readonly #database: Database<Tables>;
  constructor(database: Database<Tables>) {
    this.#database = database;
  }

  async findAccountPlans(user: number, db: Executor = this.#database.kysely): Promise<AccountPlans> {
    return toAccountPlans(await selectAccountPlans.all(db, { user }));
  }

  /** The plans of several accounts, in their order. */
  async listAccountPlans(users: readonly number[], db: Executor): Promise<AccountPlans[]> {
    const rows = await selectPlansOfAccounts.all(db, { users: JSON.stringify(users.map((id) => ({ id }))) });
    const byUser = Map.groupBy(rows, (row) => row.subscription_user);
    const ofAll = byUser.get(null) ?? [];
    return users.map((user) => toAccountPlans([...ofAll, ...(byUser.get(user) ?? [])]));
  }

  async insert(trx: Trx, subscription: Insertable<Tables['subscriptions']>): Promise<void> {
    await trx.insertInto('subscriptions').values(subscription).execute();
  }

  /** Ends a subscription at a time, or at its expiry if that was earlier. */
  async end(trx: Trx, id: number, at: number): Promise<void> {
    await trx
      .updateTable('subscriptions')
      .set({
        state: 'ended',
        expires_at: sql`case when expires_at > ${at} or expires_at = 0 then ${at} else expires_at end`,
      })
      .where('id', '=', id)
      .execute();
  }

  /** Starts a queued subscription. */
  async activate(trx: Trx, { id, starts_at, expires_at }: Subscription): Promise<void> {
    await trx
      .updateTable('subscriptions')
      .set({ state: 'active', starts_at, expires_at, expiry_notified: 0 })
      .where('id', '=', id)
      .execute();
  }

  /**
   * Extends a subscription by some days.
   * @param expiresAt the new expiry in Unix milliseconds; 0 for a queued subscription
   */
  async extend(trx: Trx, id: number, days: number, expiresAt: number): Promise<void> {
    await trx
      .updateTable('subscriptions')
      .set({ duration_days: sql`duration_days + ${days}`, expires_at: expiresAt, expiry_notified: 0 })
      .where('id', '=', id)
      .execute();
  }

  /** The assignment to an account that a request with this Idempotency-Key made. */
  findAssignment(trx: Trx, userId: number, key: string): Promise<PlanAssignment | undefined> {
    return trx
      .selectFrom('plan_assignments')
      .selectAll()
      .where('user_id', '=', userId)
      .where('key', '=', key)
      .executeTakeFirst();
  }

  async insertAssignment(trx: Trx, assignment: PlanAssignment): Promise<void> {
    await trx.insertInto('plan_assignments').values(assignment).execute();
  }

  /** Accounts whose active subscription has expired by `at` but is not yet stored as ended. */
  async listUsersWithExpired(at: number, limit: number): Promise<number[]> {
    const rows = await this.#database.kysely
      .selectFrom('subscriptions')
      .select('user_id')
      .where('state', '=', 'active')
      .where('expires_at', '<=', at)
      .orderBy('expires_at')
      .limit(limit)
      .execute();
    return rows.map((row) => row.user_id);
  }

  /**
   * Active subscriptions that expire within `withinMs`, have passed half of their duration, and whose owner was not
   * notified yet. The second condition spares the owner of a one-day plan a notice right at its start.
   */
  listExpiringSoon(now: number, withinMs: number, limit: number): Promise<ExpiringSubscription[]> {
    return (
      this.#database.kysely
        .selectFrom('subscriptions as s')
        .innerJoin('plans as p', 'p.id', 's.plan_id')
        .select(['s.id', 's.user_id', 's.expires_at', 'p.name', 'p.package_code as code'])
        .where('s.state', '=', 'active')
        // After a long stop, more may have expired than are stored as ended at a time.
        .where('s.expires_at', '>', now)
        .where('s.expires_at', '<', now + withinMs)
        .where(sql<boolean>`s.expires_at - ${now} <= ${now} - s.starts_at`)
        .where('s.expiry_notified', '=', 0)
        .orderBy('s.expires_at')
        .limit(limit)
        .execute()
    );
  }

  /** @returns whether this call was the first for this expiry */
  async markExpiryNotified(trx: Trx, id: number, expiresAt: number): Promise<boolean> {
    const result = await trx
      .updateTable('subscriptions')
      .set({ expiry_notified: 1 })
      .where('id', '=', id)
      .where('expiry_notified', '=', 0)
      .where('state', '=', 'active')
      .where('expires_at', '=', expiresAt)
      .executeTakeFirst();
    return wasChanged(result);
  }
}

/**
 * A subscription of an account, with its plan's current level. Queued ones have no dates yet. Times are Unix
 * milliseconds.
 */
export interface Subscription {
  readonly id: number;
  readonly plan_id: number;
  readonly level: number;
  readonly state: 'active' | 'waiting';
  readonly duration_days: number;
  readonly starts_at: number;
  readonly expires_at: number;
}

/** The subscriptions of an account at a time, by state. */
export interface SubscriptionTimeline<H extends Subscription> {
  /** The active subscription. */
  readonly current: H | undefined;
  /** Queued subscriptions in their order, with their future dates. */
  readonly waiting: readonly H[];
  /** Subscriptions that have expired but are not yet stored as ended. */
  readonly ended: readonly H[];
}

/** End of a subscription in Unix milliseconds. */
export const toExpiry = (startsAt: number, durationDays: number): number => startsAt + durationDays * DAY_MS;

/**
 * The subscriptions of an account at a time. When one expires, the queued one with the highest level starts at that
 * very moment, so the result depends neither on when it is computed nor on whether the periodic job ran.
 */
export function timelineAt<H extends Subscription>(holdings: readonly H[], unixMs: number): SubscriptionTimeline<H> {
  const waiting = holdings
    .filter(({ state }) => state === 'waiting')
    .sort((one, other) => other.level - one.level || one.id - other.id);
  const ended: H[] = [];
  let current = holdings.find(({ state }) => state === 'active');
  while (current !== undefined && current.expires_at <= unixMs) {
    ended.push(current);
    const next = waiting.shift();
    current = next && withDates(next, current.expires_at);
  }
  let from = current?.expires_at ?? unixMs;
  const toCome = waiting.map((holding) => {
    const planned = withDates(holding, from);
    from = planned.expires_at;
    return planned;
  });
  return { current, waiting: toCome, ended };
}

const withDates = <H extends Subscription>(holding: H, startsAt: number): H => ({
  ...holding,
  starts_at: startsAt,
  expires_at: toExpiry(startsAt, holding.duration_days),
});

/**
 * Decides how a subscription is added: a higher level replaces the active one, the same level extends it (the active
 * plan continues, whichever plan of that level the days came with), a lower level is queued.
 */
export function placementOf(current: number | undefined, added: number): 'active' | 'extended' | 'waiting' {
  if (current === undefined || added > current) return 'active';
  return added === current ? 'extended' : 'waiting';
}

/** The plan of an account at a time. */
export interface CurrentPlan {
  readonly timeline: SubscriptionTimeline<SubscribedPlan>;
  readonly plan: PlanRow;
  /** 0: no subscription, and `plan` is the built-in one. */
  readonly subscriptionId: number;
  /** Unix milliseconds; intervals and weeks are counted from this time. */
  readonly activatedAt: number;
  /** Unix milliseconds; Infinity without a subscription. */
  readonly expiresAt: number;
}

/** The plan that applies to an account at a time. */
export function findCurrentPlan({ noPlan, subscriptions }: AccountPlans, now: number): CurrentPlan {
  const timeline = timelineAt(subscriptions, now);
  const { current } = timeline;
  return current === undefined
    ? { timeline, plan: noPlan, subscriptionId: 0, activatedAt: 0, expiresAt: Number.POSITIVE_INFINITY }
    : {
        timeline,
        plan: current.plan,
        subscriptionId: current.id,
        activatedAt: current.starts_at,
        expiresAt: current.expires_at,
      };
}

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
