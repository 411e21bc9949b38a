import { type Selectable, sql } from 'kysely';
import type { Database } from '../platform/db/database.ts';
import { prepareQuery } from '../platform/db/prepared-query.ts';
import type { Executor, Tables, Trx } from '../tables.ts';
import type { NotificationRow } from './notification-store.ts';

export type Inbox = Selectable<Tables['inboxes']>;

const upsertCounts = prepareQuery<Tables, { user: number; userRows: number; adminRows: number }>()((db, p) =>
  db
    .insertInto('inboxes')
    .values({
      user_id: p('user'),
      total_user: p('userRows'),
      total_admin: p('adminRows'),
      unread_user: p('userRows'),
      unread_admin: p('adminRows'),
      read_to_user: 0,
      read_to_admin: 0,
      announcements_read_to: 0,
    })
    .onConflict((conflict) =>
      conflict.column('user_id').doUpdateSet({
        total_user: sql`inboxes.total_user + excluded.total_user`,
        total_admin: sql`inboxes.total_admin + excluded.total_admin`,
        unread_user: sql`inboxes.unread_user + excluded.unread_user`,
        unread_admin: sql`inboxes.unread_admin + excluded.unread_admin`,
      }),
    ),
);

const selectInbox = prepareQuery<Tables, { user: number }>()((db, p) =>
  db.selectFrom('inboxes').selectAll().where('user_id', '=', p('user')),
);

const setRowRead = prepareQuery<Tables, { id: number; user: number; readTo: number }>()((db, p) =>
  db
    .updateTable('notifications')
    .set({ is_read: 1 })
    .where('id', '=', p('id'))
    .where('user_id', '=', p('user'))
    .where('is_read', '=', 0)
    .where('id', '>', p('readTo')),
);

const selectAnnouncementCounts = prepareQuery<Tables, { user: number; createdAt: number; readTo: number }>()((db, p) =>
  db
    .selectFrom('notifications')
    .select((row) => [
      row.fn.countAll<number>().as('total'),
      row.fn.coalesce(row.fn.max('id'), sql<number>`0`).as('newest'),
      sql<number>`coalesce(sum(case when id > ${p('readTo')} and not exists (
        select 1 from announcement_reads r where r.user_id = ${p('user')} and r.notification_id = notifications.id
      ) then 1 else 0 end), 0)`.as('unread'),
    ])
    .where('user_id', '=', 0)
    .where('created_at', '>=', p('createdAt')),
);

const emptyInbox = (userId: number): Inbox => ({
  user_id: userId,
  total_user: 0,
  total_admin: 0,
  unread_user: 0,
  unread_admin: 0,
  read_to_user: 0,
  read_to_admin: 0,
  announcements_read_to: 0,
});

/**
 * Counters and read watermarks of accounts. Whoever writes rows for an account first locks its inbox with `adjustCounts`;
 * rows up to a watermark count as read whatever `is_read` says.
 */
export class ReadStateStore {
  readonly #database: Database<Tables>;
  constructor(database: Database<Tables>) {
    this.#database = database;
  }

  /**
   * Adds rows to the totals and unread counts, or takes them out, and locks the inbox until the commit. It comes before
   * the rows themselves, so that the ids of one account become visible in ascending order.
   */
  adjustCounts(trx: Trx, user: number, forAdmin: number, rows: number): Promise<number> {
    const isAdmin = forAdmin === 1;
    return upsertCounts.changes(trx, { user, userRows: isAdmin ? 0 : rows, adminRows: isAdmin ? rows : 0 });
  }

  /** Locks the inbox without changing a count. */
  lock(trx: Trx, user: number): Promise<number> {
    return this.adjustCounts(trx, user, 0, 0);
  }

  /** An account that was never notified has no row and an empty inbox. */
  async find(user: number, db: Executor = this.#database.kysely): Promise<Inbox> {
    return (await selectInbox.first(db, { user })) ?? emptyInbox(user);
  }

  /** Marks one row read and lowers the unread count. The caller has locked the inbox. */
  async markRead(trx: Trx, { id, user_id, for_admin }: NotificationRow): Promise<boolean> {
    const inbox = await this.find(user_id, trx);
    const readTo = for_admin === 1 ? inbox.read_to_admin : inbox.read_to_user;
    if ((await setRowRead.changes(trx, { id, user: user_id, readTo })) !== 1) return false;
    const counter = for_admin === 1 ? 'unread_admin' : 'unread_user';
    await trx
      .updateTable('inboxes')
      .set({ [counter]: sql`${sql.ref(counter)} - 1` })
      .where('user_id', '=', user_id)
      .execute();
    return true;
  }

  /**
   * Marks everything read by moving watermarks to the newest row, however many rows lie below. The caller has locked the
   * inbox in an earlier statement, so a row that is being written meanwhile gets an id above the watermark.
   */
  async markAllRead(trx: Trx, user: number, withAdmin: boolean): Promise<void> {
    const newest = (owner: number, forAdmin: 0 | 1) =>
      trx
        .selectFrom('notifications')
        .select((row) => row.fn.coalesce(row.fn.max('id'), sql<number>`0`).as('newest'))
        .where('user_id', '=', owner)
        .where('for_admin', '=', forAdmin);
    await trx
      .updateTable('inboxes')
      .set({ unread_user: 0, read_to_user: newest(user, 0), announcements_read_to: newest(0, 0) })
      .$if(withAdmin, (query) => query.set({ unread_admin: 0, read_to_admin: newest(user, 1) }))
      .where('user_id', '=', user)
      .execute();
    // Announcements that were read individually are now below the watermark.
    await trx
      .deleteFrom('announcement_reads')
      .where('user_id', '=', user)
      .where('notification_id', '<=', (row) =>
        row.selectFrom('inboxes').select('announcements_read_to').where('user_id', '=', user),
      )
      .execute();
  }

  /**
   * Announcements an account can see.
   * @param accountCreatedAt Unix milliseconds; older announcements are not the account's
   * @returns `newest`: id of the last announcement that was counted, 0 when there is none
   */
  async countAnnouncements(
    inbox: Inbox,
    accountCreatedAt: number,
  ): Promise<{ total: number; unread: number; newest: number }> {
    const row = await selectAnnouncementCounts.first(this.#database.kysely, {
      user: inbox.user_id,
      createdAt: accountCreatedAt,
      readTo: inbox.announcements_read_to,
    });
    return { total: Number(row?.total ?? 0), unread: Number(row?.unread ?? 0), newest: Number(row?.newest ?? 0) };
  }

  /** Which of these announcements above the watermark the account has read one by one. */
  async listReadAnnouncements(user: number, ids: readonly number[]): Promise<ReadonlySet<number>> {
    if (ids.length === 0) return new Set();
    const rows = await this.#database.kysely
      .selectFrom('announcement_reads')
      .select('notification_id')
      .where('user_id', '=', user)
      .where('notification_id', 'in', ids)
      .execute();
    return new Set(rows.map((row) => row.notification_id));
  }

  async markAnnouncementRead(trx: Trx, user: number, id: number): Promise<void> {
    await trx
      .insertInto('announcement_reads')
      .values({ user_id: user, notification_id: id })
      .onConflict((conflict) => conflict.doNothing())
      .execute();
  }
}
