import type { Selectable } from 'kysely';
import type { APPLICATION_SORTS, ApplicationStatus } from '../../contract/beta-applications.ts';
import type { Sort } from '../../contract/list-sorting.ts';
import type { Page } from '../../contract/success-bodies-and-pagination.ts';
import type { Database } from '../platform/db/database.ts';
import { wasChanged } from '../platform/db/sql.ts';
import type { Executor, Tables, Trx } from '../tables.ts';
import { listMatching, toMatchOrder } from './paged-list-store.ts';

export type BetaApplicationRow = Selectable<Tables['beta_applications']>;

export interface BetaApplicationFilter {
  readonly userId?: number | undefined;
  readonly status?: ApplicationStatus | undefined;
  readonly feature?: string | undefined;
}

export type Decision = Required<Pick<BetaApplicationRow, 'status' | 'note' | 'decided_by' | 'decided_at'>>;

export type BetaApplicationSort = Sort<(typeof APPLICATION_SORTS)[number]>;
const SORT_COLUMNS = { created: 'id', feature: 'feature' } as const;

export class BetaApplicationStore {
  readonly #database: Database<Tables>;
  constructor(database: Database<Tables>) {
    this.#database = database;
  }

  /** @returns the new id; undefined while one of this account for this feature is pending or approved */
  async insert(
    trx: Trx,
    row: Pick<BetaApplicationRow, 'user_id' | 'feature' | 'reason' | 'created_at'>,
  ): Promise<number | undefined> {
    const inserted = await trx
      .insertInto('beta_applications')
      .values({ ...row, status: 'pending', note: '', decided_by: null, decided_at: null })
      .onConflict((conflict) => conflict.doNothing())
      .returning('id')
      .executeTakeFirst();
    return inserted?.id;
  }

  find(id: number, db: Executor = this.#database.kysely): Promise<BetaApplicationRow | undefined> {
    return db.selectFrom('beta_applications').selectAll().where('id', '=', id).executeTakeFirst();
  }

  /** Newest first unless sorted. */
  list(
    { userId, status, feature }: BetaApplicationFilter,
    page: Page,
    sort?: BetaApplicationSort,
  ): Promise<{ rows: BetaApplicationRow[]; total: number }> {
    const { kysely } = this.#database;
    let matching = kysely.selectFrom('beta_applications');
    if (userId !== undefined) matching = matching.where('user_id', '=', userId);
    if (status !== undefined) matching = matching.where('status', '=', status);
    if (feature !== undefined) matching = matching.where('feature', '=', feature);
    return listMatching<'beta_applications', BetaApplicationRow>(
      kysely,
      matching,
      page,
      toMatchOrder(SORT_COLUMNS, sort),
    );
  }

  async countPending(): Promise<number> {
    const { count } = await this.#database.kysely
      .selectFrom('beta_applications')
      .select(({ fn }) => fn.countAll<number>().as('count'))
      .where('status', '=', 'pending')
      .executeTakeFirstOrThrow();
    return Number(count);
  }

  /** @returns the application afterwards; undefined when it does not exist or was already decided */
  decide(trx: Trx, id: number, decision: Decision): Promise<BetaApplicationRow | undefined> {
    return trx
      .updateTable('beta_applications')
      .set(decision)
      .where('id', '=', id)
      .where('status', '=', 'pending')
      .returningAll()
      .executeTakeFirst();
  }

  /** @returns whether it existed */
  async delete(trx: Trx, id: number): Promise<boolean> {
    return wasChanged(await trx.deleteFrom('beta_applications').where('id', '=', id).executeTakeFirst());
  }
}
