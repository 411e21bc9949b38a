import { type Insertable, sql } from 'kysely';
import { NO_PACKAGE } from '../../contract/plans-and-redemption-codes.ts';
import type { Database } from '../platform/db/database.ts';
import { prepareQuery } from '../platform/db/prepared-query.ts';
import { wasChanged } from '../platform/db/sql.ts';
import type { Executor, Tables, Trx } from '../tables.ts';
import type { PlanRow } from './plan-catalog-store.ts';
import type { Subscription } from './subscription-timeline.ts';

/** A subscription with its plan as that is now. */
export interface SubscribedPlan extends Subscription {
  readonly plan: PlanRow;
}

/** What an account is subscribed to, and the plan that counts while it has no subscription. */
export interface AccountPlans {
  readonly noPlan: PlanRow;
  readonly subscriptions: readonly SubscribedPlan[];
}

export interface ExpiringSubscription {
  readonly id: number;
  readonly user_id: number;
  /** Unix milliseconds. */
  readonly expires_at: number;
  /** Of the plan. */
  readonly name: string;
  readonly code: string;
}

// One query for both, since every paid call runs it and most accounts have no subscription.
const selectAccountPlans = prepareQuery<Tables, { user: number }>()((db, p) =>
  db
    .selectFrom('plans as p')
    .leftJoin('subscriptions as s', (join) =>
      join.onRef('s.plan_id', '=', 'p.id').on('s.user_id', '=', p('user')).on('s.state', 'in', ['active', 'waiting']),
    )
    .selectAll('p')
    .select([
      's.id as subscription_id',
      's.state as subscription_state',
      's.duration_days as subscription_days',
      's.starts_at as subscription_starts_at',
      's.expires_at as subscription_expires_at',
    ])
    .where((row) => row.or([row('p.package_code', '=', NO_PACKAGE), row('s.id', 'is not', null)])),
);

/** Subscriptions of accounts to plans: at most one is active, others wait, ended ones are kept for the record. */
export class SubscriptionStore {
  readonly #database: Database<Tables>;
  constructor(database: Database<Tables>) {
    this.#database = database;
  }

  async findAccountPlans(user: number, db: Executor = this.#database.kysely): Promise<AccountPlans> {
    const rows = await selectAccountPlans.all(db, { user });
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

  async insert(trx: Trx, subscription: Insertable<Tables['subscriptions']>): Promise<void> {
    await trx.insertInto('subscriptions').values(subscription).execute();
  }

  /** Ends a subscription at a time, or earlier if it had expired by then. */
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

  /** Begins a waiting subscription. */
  async activate(trx: Trx, { id, starts_at, expires_at }: Subscription): Promise<void> {
    await trx
      .updateTable('subscriptions')
      .set({ state: 'active', starts_at, expires_at, expiry_notified: 0 })
      .where('id', '=', id)
      .execute();
  }

  /**
   * Adds days.
   * @param expiresAt the end afterwards in Unix milliseconds; 0 for a waiting one
   */
  async extend(trx: Trx, id: number, days: number, expiresAt: number): Promise<void> {
    await trx
      .updateTable('subscriptions')
      .set({ duration_days: sql`duration_days + ${days}`, expires_at: expiresAt, expiry_notified: 0 })
      .where('id', '=', id)
      .execute();
  }

  /** Accounts whose active subscription expired by a time and is not yet stored as ended. */
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
   * Active subscriptions that expire within `withinMs`, are past half of their time, and whose owner was not notified. The
   * second condition keeps a one-day plan from a notice at its very beginning.
   */
  listExpiringSoon(now: number, withinMs: number, limit: number): Promise<ExpiringSubscription[]> {
    return this.#database.kysely
      .selectFrom('subscriptions as s')
      .innerJoin('plans as p', 'p.id', 's.plan_id')
      .select(['s.id', 's.user_id', 's.expires_at', 'p.name', 'p.package_code as code'])
      .where('s.state', '=', 'active')
      .where('s.expires_at', '<', now + withinMs)
      .where(sql<boolean>`s.expires_at - ${now} <= ${now} - s.starts_at`)
      .where('s.expiry_notified', '=', 0)
      .orderBy('s.expires_at')
      .limit(limit)
      .execute();
  }

  /** @returns whether this call was the first for this end */
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
