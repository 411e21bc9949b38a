import { type Selectable, sql } from 'kysely';
import type { Database } from '../platform/db/database.ts';
import type { Tables, Trx } from '../tables.ts';
import { ALL_ACCOUNTS } from './announcements.ts';
import { ReadStateStore } from './inbox.ts';

type Row = Pick<Selectable<Tables['notifications']>, 'id' | 'user_id' | 'created_at'>;

/** SQL that deletes old notifications. */
export class NotificationRetentionStore {
  readonly #database: Database<Tables>;
  readonly #readStates: ReadStateStore;

  constructor(database: Database<Tables>) {
    this.#database = database;
    this.#readStates = new ReadStateStore(database);
  }

  /**
   * Deletes at most `limit` notifications made before a time, and subtracts them from the counts. @returns the number
   * of deleted notifications
   */
  async deleteBefore(before: number, limit: number): Promise<number> {
    // Ids ascend with time, so the first rows are the oldest.
    const oldest: Row[] = await this.#database.kysely
      .selectFrom('notifications')
      .select(['id', 'user_id', 'created_at'])
      .orderBy('id')
      .limit(limit)
      .execute();
    const old = oldest.filter(({ created_at }) => created_at < before);
    for (const [user, rows] of Map.groupBy(old, ({ user_id }) => user_id)) {
      const ids = rows.map(({ id }) => id);
      await this.#database.transaction((trx) =>
        user === ALL_ACCOUNTS ? this.#deleteAnnouncements(trx, ids) : this.#deleteOf(trx, user, ids),
      );
    }
    return old.length;
  }

  async #deleteOf(trx: Trx, user: number, ids: readonly number[]): Promise<void> {
    await this.#readStates.lock(trx, user);
    const inbox = await this.#readStates.find(user, trx);
    const deleted = await trx
      .deleteFrom('notifications')
      .where('id', 'in', ids)
      .returning(['id', 'for_admin', 'is_read'])
      .execute();
    const admin = deleted.filter(({ for_admin }) => for_admin === 1);
    const own = deleted.filter(({ for_admin }) => for_admin === 0);
    const unread = (rows: typeof deleted, readTo: number) =>
      rows.filter(({ id, is_read }) => is_read === 0 && id > readTo).length;
    await trx
      .updateTable('inboxes')
      .set({
        total_user: sql`total_user - ${own.length}`,
        total_admin: sql`total_admin - ${admin.length}`,
        unread_user: sql`unread_user - ${unread(own, inbox.read_to_user)}`,
        unread_admin: sql`unread_admin - ${unread(admin, inbox.read_to_admin)}`,
      })
      .where('user_id', '=', user)
      .execute();
  }

  async #deleteAnnouncements(trx: Trx, ids: readonly number[]): Promise<void> {
    await trx.deleteFrom('notifications').where('id', 'in', ids).execute();
    await trx.deleteFrom('announcement_reads').where('notification_id', 'in', ids).execute();
  }
}
