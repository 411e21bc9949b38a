import type { Page } from '../../contract/success-bodies-and-pagination.ts';
import type { Database } from '../platform/db/database.ts';
import { wasChanged } from '../platform/db/sql.ts';
import type { Executor, Tables, Trx } from '../tables.ts';
import type { NotificationRow } from './notification-store.ts';

/** `user_id` of rows that belong to every account. */
export const ALL_ACCOUNTS = 0;

export type AnnouncementUpdate = Partial<
  Pick<NotificationRow, 'title_en' | 'content_en' | 'title_zh' | 'content_zh' | 'target_url'>
>;

/** Rows of `notifications` that are announcements. They are inserted by `NotificationStore`. */
export class AnnouncementStore {
  readonly #database: Database<Tables>;
  constructor(database: Database<Tables>) {
    this.#database = database;
  }

  find(id: number, db: Executor = this.#database.kysely): Promise<NotificationRow | undefined> {
    return selectAnnouncements(db).selectAll().where('id', '=', id).executeTakeFirst();
  }

  /** Newest first unless asked for the oldest. */
  async list({ pageSize, offset }: Page, oldestFirst = false): Promise<{ rows: NotificationRow[]; total: number }> {
    const { kysely } = this.#database;
    const [rows, count] = await Promise.all([
      selectAnnouncements(kysely)
        .selectAll()
        .orderBy('id', oldestFirst ? 'asc' : 'desc')
        .limit(pageSize)
        .offset(offset)
        .execute(),
      selectAnnouncements(kysely)
        .select((row) => row.fn.countAll<number>().as('total'))
        .executeTakeFirstOrThrow(),
    ]);
    return { rows, total: Number(count.total) };
  }

  async update(trx: Trx, id: number, change: AnnouncementUpdate): Promise<void> {
    await trx
      .updateTable('notifications')
      .set(change)
      .where('id', '=', id)
      .where('user_id', '=', ALL_ACCOUNTS)
      .execute();
  }

  /** @returns whether it was there */
  async delete(trx: Trx, id: number): Promise<boolean> {
    const result = await trx
      .deleteFrom('notifications')
      .where('id', '=', id)
      .where('user_id', '=', ALL_ACCOUNTS)
      .executeTakeFirst();
    return wasChanged(result);
  }
}

const selectAnnouncements = (db: Executor) => db.selectFrom('notifications').where('user_id', '=', ALL_ACCOUNTS);
