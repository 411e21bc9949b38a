import { type Kysely, type Selectable, sql, type Transaction } from 'kysely';
import { prepare } from '../platform/db/prepared.ts';
import type { Tables } from '../tables.ts';

type Trx = Transaction<Tables>;
type Executor = Kysely<Tables>;

export type NotificationRow = Selectable<Tables['notifications']>;
export type NewNotification = Omit<NotificationRow, 'id' | 'is_read'>;
export type Inbox = Selectable<Tables['inboxes']>;

const addToInbox = prepare<Tables, { user: number; userRows: number; adminRows: number }>()((db, p) =>
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
      announced_to: 0,
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

/** Counts rows in or out; locks the inbox until the commit, which is why it comes before the rows themselves. */
export const countIn = (trx: Trx, user: number, forAdmin: number, rows: number): Promise<number> =>
  addToInbox.changes(trx, { user, userRows: forAdmin === 1 ? 0 : rows, adminRows: forAdmin === 1 ? rows : 0 });

const add = prepare<Tables, NewNotification>()((db, p) =>
  db
    .insertInto('notifications')
    .values({
      user_id: p('user_id'),
      for_admin: p('for_admin'),
      type: p('type'),
      topic: p('topic'),
      title_en: p('title_en'),
      content_en: p('content_en'),
      title_zh: p('title_zh'),
      content_zh: p('content_zh'),
      target_url: p('target_url'),
      related_id: p('related_id'),
      is_read: 0,
      once_key: p('once_key'),
      created_at: p('created_at'),
    })
    .onConflict((conflict) => conflict.columns(['user_id', 'once_key']).doNothing())
    .returning('id'),
);

/** The new id, or undefined when the account was told this once already. */
export const addNotification = async (trx: Trx, row: NewNotification): Promise<number | undefined> =>
  (await add.first(trx, row))?.id;

const readInbox = prepare<Tables, { user: number }>()((db, p) =>
  db.selectFrom('inboxes').selectAll().where('user_id', '=', p('user')),
);

const emptyInbox = (userId: number): Inbox => ({
  user_id: userId,
  total_user: 0,
  total_admin: 0,
  unread_user: 0,
  unread_admin: 0,
  read_to_user: 0,
  read_to_admin: 0,
  announced_to: 0,
});

export const findInbox = async (db: Executor, user: number): Promise<Inbox> =>
  (await readInbox.first(db, { user })) ?? emptyInbox(user);

const oneOf = prepare<Tables, { id: number }>()((db, p) =>
  db.selectFrom('notifications').selectAll().where('id', '=', p('id')),
);
export const findNotification = (db: Executor, id: number): Promise<NotificationRow | undefined> =>
  oneOf.first(db, { id });

const readOne = prepare<Tables, { id: number; user: number; readTo: number }>()((db, p) =>
  db
    .updateTable('notifications')
    .set({ is_read: 1 })
    .where('id', '=', p('id'))
    .where('user_id', '=', p('user'))
    .where('is_read', '=', 0)
    .where('id', '>', p('readTo')),
);

/** Marks one read and counts it out. The inbox is locked by the caller. */
export async function markOneRead(trx: Trx, { id, user_id, for_admin }: NotificationRow): Promise<boolean> {
  const inbox = await findInbox(trx, user_id);
  const readTo = for_admin === 1 ? inbox.read_to_admin : inbox.read_to_user;
  if ((await readOne.changes(trx, { id, user: user_id, readTo })) !== 1) return false;
  const counter = for_admin === 1 ? 'unread_admin' : 'unread_user';
  await trx
    .updateTable('inboxes')
    .set({ [counter]: sql`${sql.ref(counter)} - 1` })
    .where('user_id', '=', user_id)
    .execute();
  return true;
}

const moveWatermarks = (db: Executor, user: number, withAdmin: boolean) => {
  const newest = (owner: number, forAdmin: 0 | 1) =>
    db
      .selectFrom('notifications')
      .select((row) => row.fn.coalesce(row.fn.max('id'), sql<number>`0`).as('newest'))
      .where('user_id', '=', owner)
      .where('for_admin', '=', forAdmin);
  return db
    .updateTable('inboxes')
    .set({ unread_user: 0, read_to_user: newest(user, 0), announced_to: newest(0, 0) })
    .$if(withAdmin, (query) => query.set({ unread_admin: 0, read_to_admin: newest(user, 1) }))
    .where('user_id', '=', user);
};

/**
 * Marks everything read by moving watermarks to the newest row, however many rows lie below. The inbox is locked by the
 * caller in a statement of its own, so a row that is being written meanwhile lies above.
 */
export async function markAllRead(trx: Trx, user: number, withAdmin: boolean): Promise<void> {
  await moveWatermarks(trx, user, withAdmin).execute();
  // Announcements read one by one lie below the watermark now.
  await trx
    .deleteFrom('announcement_reads')
    .where('user_id', '=', user)
    .where('notification_id', '<=', (row) =>
      row.selectFrom('inboxes').select('announced_to').where('user_id', '=', user),
    )
    .execute();
}

const after = prepare<Tables, { user: number; after: number; forAdmin: number; limit: number }>()((db, p) =>
  db
    .selectFrom('notifications')
    .selectAll()
    .where('user_id', '=', p('user'))
    .where('for_admin', '=', p('forAdmin'))
    .where('id', '>', p('after'))
    .orderBy('id')
    .limit(sql<number>`${p('limit')}`),
);

/** Rows written after one, oldest first; user 0: announcements. */
export async function listAfter(
  db: Executor,
  query: { readonly user: number; readonly after: number; readonly withAdmin: boolean; readonly limit: number },
): Promise<NotificationRow[]> {
  const { withAdmin, ...rest } = query;
  const rows = await after.all(db, { ...rest, forAdmin: 0 });
  if (!withAdmin) return rows;
  const all = [...rows, ...(await after.all(db, { ...rest, forAdmin: 1 }))];
  return all.sort((one, other) => one.id - other.id).slice(0, rest.limit);
}

const newest = prepare<Tables, { user: number; forAdmin: number }>()((db, p) =>
  db
    .selectFrom('notifications')
    .select((row) => row.fn.coalesce(row.fn.max('id'), sql<number>`0`).as('newest'))
    .where('user_id', '=', p('user'))
    .where('for_admin', '=', p('forAdmin')),
);

/** The newest id of an account, or of announcements (user 0); 0 where there is none. */
export async function newestOf(db: Executor, user: number): Promise<number> {
  const ids = await Promise.all([0, 1].map((forAdmin) => newest.first(db, { user, forAdmin })));
  return Math.max(...ids.map((row) => row?.newest ?? 0));
}

export interface ListQuery {
  readonly inbox: Inbox;
  /** Announcements from then on are the account's too; Unix milliseconds. */
  readonly joinedAt: number;
  readonly withAdmin: boolean;
  readonly unreadOnly: boolean;
  readonly offset: number;
  readonly limit: number;
}

/**
 * A page, newest first: each source gives no more ids than the page can need, read from its index alone; they are merged,
 * and only the rows of the page are fetched.
 */
export async function listPage(db: Executor, query: ListQuery): Promise<NotificationRow[]> {
  const { inbox, joinedAt, withAdmin, unreadOnly, offset, limit } = query;
  const own = (forAdmin: 0 | 1, readTo: number) =>
    db
      .selectFrom('notifications')
      .select('id')
      .where('user_id', '=', inbox.user_id)
      .where('for_admin', '=', forAdmin)
      .$if(unreadOnly, (rows) => rows.where('is_read', '=', 0).where('id', '>', readTo))
      .orderBy('id', 'desc')
      .limit(offset + limit);
  const announced = db
    .selectFrom('notifications')
    .select('id')
    .where('user_id', '=', 0)
    .where('for_admin', '=', 0)
    .where('created_at', '>=', joinedAt)
    .$if(unreadOnly, (rows) => rows.where('id', '>', inbox.announced_to).where(notReadAlone(inbox.user_id)))
    .orderBy('id', 'desc')
    .limit(offset + limit);
  let merged = db
    .selectFrom(own(0, inbox.read_to_user).as('own'))
    .select('id')
    .unionAll(db.selectFrom(announced.as('announced')).select('id'));
  if (withAdmin) merged = merged.unionAll(db.selectFrom(own(1, inbox.read_to_admin).as('todo')).select('id'));
  const page = db.selectFrom(merged.as('merged')).select('id').orderBy('id', 'desc').limit(limit).offset(offset);
  return db.selectFrom('notifications').selectAll().where('id', 'in', page).orderBy('id', 'desc').execute();
}

const notReadAlone = (user: number) =>
  sql<boolean>`not exists (select 1 from announcement_reads r where r.user_id = ${user} and r.notification_id = notifications.id)`;

const announcements = prepare<Tables, { user: number; joinedAt: number; announcedTo: number }>()((db, p) =>
  db
    .selectFrom('notifications')
    .select((row) => [
      row.fn.countAll<number>().as('total'),
      row.fn.coalesce(row.fn.max('id'), sql<number>`0`).as('newest'),
      sql<number>`coalesce(sum(case when id > ${p('announcedTo')} and not exists (
        select 1 from announcement_reads r where r.user_id = ${p('user')} and r.notification_id = notifications.id
      ) then 1 else 0 end), 0)`.as('unread'),
    ])
    .where('user_id', '=', 0)
    .where('created_at', '>=', p('joinedAt')),
);

/** How many announcements an account has, and has not read; `newest` is the last one counted. */
export async function countAnnouncements(
  db: Executor,
  inbox: Inbox,
  joinedAt: number,
): Promise<{ total: number; unread: number; newest: number }> {
  const query = { user: inbox.user_id, joinedAt, announcedTo: inbox.announced_to };
  const row = await announcements.first(db, query);
  return { total: Number(row?.total ?? 0), unread: Number(row?.unread ?? 0), newest: Number(row?.newest ?? 0) };
}

/** Which of these announcements above the watermark the account has read one by one. */
export async function readAlone(db: Executor, user: number, ids: readonly number[]): Promise<ReadonlySet<number>> {
  if (ids.length === 0) return new Set();
  const rows = await db
    .selectFrom('announcement_reads')
    .select('notification_id')
    .where('user_id', '=', user)
    .where('notification_id', 'in', ids)
    .execute();
  return new Set(rows.map((row) => row.notification_id));
}

export async function markAnnouncementRead(trx: Trx, user: number, id: number): Promise<void> {
  await trx
    .insertInto('announcement_reads')
    .values({ user_id: user, notification_id: id })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}

const switchedOff = prepare<Tables, { user: number; topic: string }>()((db, p) =>
  db
    .selectFrom('notification_preferences')
    .select('topic')
    .where('user_id', '=', p('user'))
    .where('topic', '=', p('topic')),
);
export const isSwitchedOff = async (db: Executor, user: number, topic: string): Promise<boolean> =>
  (await switchedOff.first(db, { user, topic })) !== undefined;

export async function listSwitchedOff(db: Executor, user: number): Promise<ReadonlySet<string>> {
  const rows = await db.selectFrom('notification_preferences').select('topic').where('user_id', '=', user).execute();
  return new Set(rows.map((row) => row.topic));
}

export async function switchTopic(trx: Trx, user: number, topic: string, on: boolean): Promise<void> {
  if (on)
    await trx.deleteFrom('notification_preferences').where('user_id', '=', user).where('topic', '=', topic).execute();
  else
    await trx
      .insertInto('notification_preferences')
      .values({ user_id: user, topic })
      .onConflict((conflict) => conflict.doNothing())
      .execute();
}
