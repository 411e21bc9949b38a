import { type Selectable, sql } from 'kysely';
import type { Database } from '../platform/db/database.ts';
import type { PubSub } from '../platform/db/pub-sub.ts';
import { prepareQuery } from '../platform/db/sql.ts';
import type { Tables, Trx } from '../tables.ts';

/** A notification or announcement. */
export type NotificationRow = Selectable<Tables['notifications']>;
type NewNotification = Omit<NotificationRow, 'id' | 'is_read'>;

const insertRow = prepareQuery<Tables, NewNotification>()((db, p) =>
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
      deduplication_key: p('deduplication_key'),
      created_at: p('created_at'),
    })
    .onConflict((conflict) => conflict.columns(['user_id', 'deduplication_key']).doNothing())
    .returning('id'),
);

const selectById = prepareQuery<Tables, { id: number }>()((db, p) =>
  db.selectFrom('notifications').selectAll().where('id', '=', p('id')),
);

const selectAfter = prepareQuery<Tables, { user: number; after: number; forAdmin: number; limit: number }>()((db, p) =>
  db
    .selectFrom('notifications')
    .selectAll()
    .where('user_id', '=', p('user'))
    .where('for_admin', '=', p('forAdmin'))
    .where('id', '>', p('after'))
    .orderBy('id')
    .limit(sql<number>`${p('limit')}`),
);

const selectNewestId = prepareQuery<Tables, { user: number; forAdmin: number }>()((db, p) =>
  db
    .selectFrom('notifications')
    .select((row) => row.fn.coalesce(row.fn.max('id'), sql<number>`0`).as('newest'))
    .where('user_id', '=', p('user'))
    .where('for_admin', '=', p('forAdmin')),
);

interface ListQuery {
  readonly inbox: Selectable<Tables['inboxes']>;
  /** Unix milliseconds; announcements made before the account existed are not shown to it. */
  readonly accountCreatedAt: number;
  readonly withAdmin: boolean;
  readonly unreadOnly: boolean;
  readonly offset: number;
  readonly limit: number;
}

/** Rows of `notifications`: those of one account, and announcements, whose `user_id` is 0. */
export class NotificationStore {
  readonly #database: Database<Tables>;
  constructor(database: Database<Tables>) {
    this.#database = database;
  }

  /** @returns the new id; undefined if the account already has a row with this deduplication key */
  async insert(trx: Trx, row: NewNotification): Promise<number | undefined> {
    return (await insertRow.first(trx, row))?.id;
  }

  find(id: number): Promise<NotificationRow | undefined> {
    return selectById.first(this.#database.kysely, { id });
  }

  /** Rows with an id above `after`, oldest first. User 0: announcements. */
  async listAfter(query: {
    readonly user: number;
    readonly after: number;
    readonly withAdmin: boolean;
    readonly limit: number;
  }): Promise<NotificationRow[]> {
    const { withAdmin, ...rest } = query;
    const { kysely } = this.#database;
    const rows = await selectAfter.all(kysely, { ...rest, forAdmin: 0 });
    if (!withAdmin) return rows;
    const all = [...rows, ...(await selectAfter.all(kysely, { ...rest, forAdmin: 1 }))];
    return all.sort((one, other) => one.id - other.id).slice(0, rest.limit);
  }

  /** The highest id of an account, or of announcements (user 0); 0 if there is none. */
  async newestId(user: number): Promise<number> {
    const rows = await Promise.all(
      [0, 1].map((forAdmin) => selectNewestId.first(this.#database.kysely, { user, forAdmin })),
    );
    return Math.max(...rows.map((row) => row?.newest ?? 0));
  }

  /**
   * One page, newest first. Reads from each source's index at most the ids this page can need, merges them, and fetches
   * only the rows of the page, so that a page costs the same for ten notifications as for a hundred thousand.
   */
  async listPage(query: ListQuery): Promise<NotificationRow[]> {
    const { kysely: db } = this.#database;
    const { inbox, accountCreatedAt, withAdmin, unreadOnly, offset, limit } = query;
    const own = (forAdmin: 0 | 1, readTo: number) =>
      db
        .selectFrom('notifications')
        .select('id')
        .where('user_id', '=', inbox.user_id)
        .where('for_admin', '=', forAdmin)
        .$if(unreadOnly, (rows) => rows.where('is_read', '=', 0).where('id', '>', readTo))
        .orderBy('id', 'desc')
        .limit(offset + limit);
    const announcements = db
      .selectFrom('notifications')
      .select('id')
      .where('user_id', '=', 0)
      .where('for_admin', '=', 0)
      .where('created_at', '>=', accountCreatedAt)
      .$if(unreadOnly, (rows) =>
        rows.where('id', '>', inbox.announcements_read_to).where(notReadIndividually(inbox.user_id)),
      )
      .orderBy('id', 'desc')
      .limit(offset + limit);
    let merged = db
      .selectFrom(own(0, inbox.read_to_user).as('own'))
      .select('id')
      .unionAll(db.selectFrom(announcements.as('announcements')).select('id'));
    if (withAdmin) merged = merged.unionAll(db.selectFrom(own(1, inbox.read_to_admin).as('admin_todo')).select('id'));
    const page = db.selectFrom(merged.as('merged')).select('id').orderBy('id', 'desc').limit(limit).offset(offset);
    return db.selectFrom('notifications').selectAll().where('id', 'in', page).orderBy('id', 'desc').execute();
  }
}

const notReadIndividually = (user: number) =>
  sql<boolean>`not exists (select 1 from announcement_reads r where r.user_id = ${user} and r.notification_id = notifications.id)`;

const SIGNAL_CHANNEL = 'notifications';

/** Signals to every process which notifications changed: those of one account, or (0) the announcements. */
export class ChangeSignals {
  readonly #pubSub: PubSub;
  constructor(pubSub: PubSub) {
    this.#pubSub = pubSub;
  }

  /** Call after the commit: a process that receives the signal reads the database immediately. */
  notifyChanged(userId: number): void {
    this.#pubSub.publish(SIGNAL_CHANNEL, String(userId));
  }

  /**
   * @param onMissedSignals called after a gap in the connection, when any account may have changed
   * @returns ends the subscription
   */
  subscribe(onChange: (userId: number) => void, onMissedSignals: () => void): () => void {
    return this.#pubSub.subscribe(SIGNAL_CHANNEL, (payload) => onChange(Number(payload)), onMissedSignals);
  }
}
