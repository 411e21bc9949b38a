import type { Kysely, Selectable, Transaction } from 'kysely';
import type { ApplicationStatus } from '../../contract/beta-applications.ts';
import type { Page } from '../../contract/schemas.ts';
import type { Tables } from '../tables.ts';
import { pageOf } from './page-store.ts';

type Executor = Kysely<Tables>;
type Trx = Transaction<Tables>;

export type ApplicationRow = Selectable<Tables['beta_applications']>;

export interface ApplicationFilter {
  readonly userId?: number | undefined;
  readonly status?: ApplicationStatus | undefined;
  readonly feature?: string | undefined;
}

/** The new id; undefined where one for this feature waits or was granted. */
export async function addApplication(
  trx: Trx,
  row: Pick<ApplicationRow, 'user_id' | 'feature' | 'reason' | 'created_at'>,
): Promise<number | undefined> {
  const made = await trx
    .insertInto('beta_applications')
    .values({ ...row, status: 'pending', note: '', decided_by: null, decided_at: null })
    .onConflict((conflict) => conflict.doNothing())
    .returning('id')
    .executeTakeFirst();
  return made?.id;
}

export const findApplication = (db: Executor, id: number): Promise<ApplicationRow | undefined> =>
  db.selectFrom('beta_applications').selectAll().where('id', '=', id).executeTakeFirst();

export function listApplications(db: Executor, { userId, status, feature }: ApplicationFilter, page: Page) {
  let matching = db.selectFrom('beta_applications');
  if (userId !== undefined) matching = matching.where('user_id', '=', userId);
  if (status !== undefined) matching = matching.where('status', '=', status);
  if (feature !== undefined) matching = matching.where('feature', '=', feature);
  return pageOf<'beta_applications', ApplicationRow>(db, matching, page);
}

export async function countPendingApplications(db: Executor): Promise<number> {
  const { count } = await db
    .selectFrom('beta_applications')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('status', '=', 'pending')
    .executeTakeFirstOrThrow();
  return Number(count);
}

export type Decision = Required<Pick<ApplicationRow, 'status' | 'note' | 'decided_by' | 'decided_at'>>;

/** Decides a pending application and answers it; undefined where it is not there or was decided. */
export const decide = (trx: Trx, id: number, decision: Decision): Promise<ApplicationRow | undefined> =>
  trx
    .updateTable('beta_applications')
    .set(decision)
    .where('id', '=', id)
    .where('status', '=', 'pending')
    .returningAll()
    .executeTakeFirst();

export async function deleteApplication(trx: Trx, id: number): Promise<boolean> {
  const result = await trx.deleteFrom('beta_applications').where('id', '=', id).executeTakeFirst();
  return result.numDeletedRows === 1n;
}
