import { type Selectable, sql } from 'kysely';
import type { Database } from '../platform/db/database.ts';
import { prepareQuery } from '../platform/db/prepared-query.ts';
import type { Executor, Tables, Trx } from '../tables.ts';
import type { DayRule, Window } from './allowance-windows.ts';

export type AllowanceAccount = Selectable<Tables['allowance_accounts']>;

const upsertAccount = prepareQuery<Tables, { user: number; zone: string }>()((db, p) =>
  db
    .insertInto('allowance_accounts')
    .values({ user_id: p('user'), zone: p('zone'), extended_day_start: 0 })
    .onConflict((conflict) => conflict.column('user_id').doUpdateSet({ user_id: sql`excluded.user_id` }))
    .returningAll(),
);

const selectAccount = prepareQuery<Tables, { user: number }>()((db, p) =>
  db.selectFrom('allowance_accounts').selectAll().where('user_id', '=', p('user')),
);

interface UsageKey {
  readonly user: number;
  readonly subscription: number;
  readonly kind: string;
  readonly startsAt: number;
}

const selectUsage = prepareQuery<Tables, UsageKey>()((db, p) =>
  db
    .selectFrom('allowance_usage')
    .select('used')
    .where('user_id', '=', p('user'))
    .where('subscription_id', '=', p('subscription'))
    .where('kind', '=', p('kind'))
    .where('starts_at', '=', p('startsAt')),
);

// Changes no row when it would exceed the limit. The lock prevents that; the condition makes a mistake visible.
const increaseUsage = prepareQuery<Tables, UsageKey & { amount: number; limit: number }>()((db, p) =>
  db
    .insertInto('allowance_usage')
    .values({
      user_id: p('user'),
      subscription_id: p('subscription'),
      kind: p('kind'),
      starts_at: p('startsAt'),
      used: p('amount'),
    })
    .onConflict((conflict) =>
      conflict
        .columns(['user_id', 'subscription_id', 'kind', 'starts_at'])
        .doUpdateSet({ used: sql`allowance_usage.used + excluded.used` })
        .where(sql<boolean>`allowance_usage.used + excluded.used <= ${p('limit')}`),
    ),
);

const decreaseUsage = prepareQuery<Tables, UsageKey & { amount: number }>()((db, p) =>
  db
    .updateTable('allowance_usage')
    .set({ used: sql`used - ${p('amount')}` })
    .where('user_id', '=', p('user'))
    .where('subscription_id', '=', p('subscription'))
    .where('kind', '=', p('kind'))
    .where('starts_at', '=', p('startsAt'))
    .where('used', '>=', p('amount')),
);

const toUsageKey = (
  user: number,
  subscription: number,
  { kind, startsAt }: Pick<Window, 'kind' | 'startsAt'>,
): UsageKey => ({ user, subscription, kind, startsAt });

/** How much of each allowance window accounts have used, and the row that serializes changes of one account. */
export class AllowanceUsageStore {
  readonly #database: Database<Tables>;
  constructor(database: Database<Tables>) {
    this.#database = database;
  }

  /** Locks the subscriptions and allowances of an account until the commit; creates its row in `zone` if there is none. */
  async lockAccount(trx: Trx, user: number, zone: string): Promise<AllowanceAccount> {
    const row = await upsertAccount.first(trx, { user, zone });
    if (row === undefined) throw new Error('the allowance account was not locked');
    return row;
  }

  findAccount(user: number): Promise<AllowanceAccount | undefined> {
    return selectAccount.first(this.#database.kysely, { user });
  }

  async updateDayRule(trx: Trx, user: number, { zone, extendedDayStart }: DayRule): Promise<void> {
    await trx
      .updateTable('allowance_accounts')
      .set({ zone, extended_day_start: extendedDayStart })
      .where('user_id', '=', user)
      .execute();
  }

  async find(
    user: number,
    subscription: number,
    window: Window,
    db: Executor = this.#database.kysely,
  ): Promise<number> {
    return (await selectUsage.first(db, toUsageKey(user, subscription, window)))?.used ?? 0;
  }

  /** @throws Error when the window has no room: the caller has read it under the lock, so this is a bug, and rolls back */
  async add(trx: Trx, user: number, subscription: number, window: Window, amount: number): Promise<void> {
    const key = toUsageKey(user, subscription, window);
    if ((await increaseUsage.changes(trx, { ...key, amount, limit: window.limit })) !== 1)
      throw new Error(`the ${window.kind} window of account ${user} has no room for ${amount}`);
  }

  /** @returns whether that much had been used, and so was given back */
  async subtract(
    trx: Trx,
    user: number,
    subscription: number,
    window: Pick<Window, 'kind' | 'startsAt'>,
    amount: number,
  ): Promise<boolean> {
    return (await decreaseUsage.changes(trx, { ...toUsageKey(user, subscription, window), amount })) === 1;
  }

  /** Deletes usage of windows that began before a time. */
  async deleteBefore(unixMs: number): Promise<void> {
    await this.#database.kysely.deleteFrom('allowance_usage').where('starts_at', '<', unixMs).execute();
  }
}
