import type { Kysely, Transaction } from 'kysely';
import type { Page } from '../../contract/schemas.ts';
import type { Tables } from '../tables.ts';
import type { NotificationRow } from './store.ts';

type Executor = Kysely<Tables>;
type Trx = Transaction<Tables>;

/** The owner of what is everybody's. */
export const EVERYBODY = 0;

const announced = (db: Executor) => db.selectFrom('notifications').where('user_id', '=', EVERYBODY);

export const findAnnouncement = (db: Executor, id: number): Promise<NotificationRow | undefined> =>
  announced(db).selectAll().where('id', '=', id).executeTakeFirst();

export async function listAnnouncements(db: Executor, { pageSize, offset }: Page) {
  const [rows, count] = await Promise.all([
    announced(db).selectAll().orderBy('id', 'desc').limit(pageSize).offset(offset).execute(),
    announced(db)
      .select((row) => row.fn.countAll<number>().as('total'))
      .executeTakeFirstOrThrow(),
  ]);
  return { rows, total: Number(count.total) };
}

export type AnnouncementChange = Partial<
  Pick<NotificationRow, 'title_en' | 'content_en' | 'title_zh' | 'content_zh' | 'target_url'>
>;

export async function updateAnnouncement(trx: Trx, id: number, change: AnnouncementChange): Promise<void> {
  await trx.updateTable('notifications').set(change).where('id', '=', id).where('user_id', '=', EVERYBODY).execute();
}

export async function deleteAnnouncement(trx: Trx, id: number): Promise<boolean> {
  const result = await trx
    .deleteFrom('notifications')
    .where('id', '=', id)
    .where('user_id', '=', EVERYBODY)
    .executeTakeFirst();
  return result.numDeletedRows === 1n;
}
