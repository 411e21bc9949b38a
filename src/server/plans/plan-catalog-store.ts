import { type Insertable, type Selectable, sql, type Updateable } from 'kysely';
import type { Sort } from '../../contract/list-sorting.ts';
import { NO_PACKAGE, type PLAN_SORTS } from '../../contract/plans-and-redemption-codes.ts';
import type { Page } from '../../contract/success-bodies-and-pagination.ts';
import type { Database } from '../platform/db/database.ts';
import type { Executor, Tables, Trx } from '../tables.ts';

export type PlanRow = Selectable<Tables['plans']>;

export type PlanSort = Sort<(typeof PLAN_SORTS)[number]>;

/** Value of `plans.status`. */
export const PLAN_ENABLED = 1;

const SORT_COLUMNS = { level: 'level', name: 'name', duration: 'duration_days', price: 'price_amount' } as const;
const BY_LEVEL: PlanSort = { key: 'level', descending: false };

/** The plans that are sold or given out, the built-in "no package" plan included. */
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

  /** Reads a plan and locks it until the commit, so that it cannot be removed while somebody is given it. */
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

  /** @returns the new id; undefined when the code is taken */
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

  /** Whether an account has a subscription to the plan that has not ended, or an unused code names it. */
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

/** Has every process read again whether any plan has terms, which is part of the catalog that each request checks. */
async function announceTerms(trx: Trx, change: Updateable<Tables['plans']>): Promise<void> {
  if (change.price_factor === undefined && change.channels === undefined) return;
  await trx.updateTable('catalog_version').set({ version: sql<number>`version + 1` }).execute();
}
