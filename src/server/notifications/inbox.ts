import { type Selectable, sql } from 'kysely';
import { LRUCache } from 'lru-cache';
import type { Static } from 'typebox';
import type { Role } from '../../contract/account-fields.ts';
import type { Locale } from '../../contract/messages/format-message.ts';
import { type Notification, TOPICS, type TopicRule } from '../../contract/notifications.ts';
import { defined } from '../../contract/objects.ts';
import type { Page } from '../../contract/responses.ts';
import { toSeconds } from '../../contract/time-units.ts';
import type { AccountAccess } from '../accounts/account-store.ts';
import { AppError, invalidRequest } from '../platform/app-error.ts';
import { upToEntries } from '../platform/cache.ts';
import { afterCommit, type Database } from '../platform/db/database.ts';
import { prepareQuery } from '../platform/db/sql.ts';
import type { Executor, Tables, Trx } from '../tables.ts';
import type { ChangeSignals, NotificationRow, NotificationStore } from './notification-store.ts';

/** The owner of an inbox and the part to read: with `audience=user` only the user-facing types. */
export interface Reader {
  readonly userId: number;
  readonly withAdmin: boolean;
}

/** A notification and whether this reader has read it. */
export interface InboxItem {
  readonly row: NotificationRow;
  readonly isRead: boolean;
}

interface Preference {
  readonly topic: string;
  readonly in_app: boolean;
  readonly locked: boolean;
  readonly mail: boolean;
  readonly mail_locked: boolean;
}

type TopicSwitches = Readonly<Record<string, boolean>>;

/** Topics to switch on or off, in the console and by mail; others stay unchanged. */
interface PreferenceChange {
  readonly topics?: TopicSwitches;
  readonly mail?: TopicSwitches;
}

interface InboxServiceDependencies {
  readonly database: Database<Tables>;
  readonly notifications: NotificationStore;
  readonly readStates: ReadStateStore;
  readonly preferences: PreferenceStore;
  readonly access: Pick<AccountAccess, 'findEnabled'>;
  readonly changeSignals: Pick<ChangeSignals, 'notifyChanged'>;
}

/** Administrators also read their to-dos, unless they request only the user-facing part. */
export const toReader = (caller: { readonly userId: number; readonly role: Role }, audience?: string): Reader => ({
  userId: caller.userId,
  withAdmin: caller.role !== 'user' && audience !== 'user',
});

/** Reads an account's notifications and changes their read state and preferences. */
export class InboxService {
  readonly #dependencies: InboxServiceDependencies;
  /** Cached without expiry, because an account's creation time never changes. */
  readonly #createdAt = new LRUCache<number, number>(upToEntries(50_000));

  constructor(dependencies: InboxServiceDependencies) {
    this.#dependencies = dependencies;
  }

  async list(
    reader: Reader,
    unreadOnly: boolean,
    { pageSize, offset }: Page,
  ): Promise<{ rows: InboxItem[]; total: number; unread: number; hasMore: boolean }> {
    const { inbox, accountCreatedAt, total: all, unread } = await this.#count(reader);
    const total = unreadOnly ? unread : all;
    if (offset >= total) return { rows: [], total, unread, hasMore: false };
    const rows = await this.#dependencies.notifications.listPage({
      inbox,
      accountCreatedAt,
      withAdmin: reader.withAdmin,
      unreadOnly,
      offset,
      limit: pageSize,
    });
    return { rows: await this.#addReadState(inbox, rows), total, unread, hasMore: offset + rows.length < total };
  }

  /** `newestAnnouncement`: id of the newest announcement included in the count. */
  async countUnread(reader: Reader): Promise<{ readonly unread: number; readonly newestAnnouncement: number }> {
    const { unread, newestAnnouncement } = await this.#count(reader);
    return { unread, newestAnnouncement };
  }

  async markAllRead({ userId, withAdmin }: Reader): Promise<void> {
    const { database, readStates, changeSignals } = this.#dependencies;
    await database.transaction(async (trx) => {
      await readStates.lock(trx, userId);
      await readStates.markAllRead(trx, userId, withAdmin);
      afterCommit(trx, () => changeSignals.notifyChanged(userId));
    });
  }

  /**
   * @param id as it appears in the URL
   * @throws AppError `notification_invalid` for anything but the id of a notification the reader can see, so that the
   *   response does not reveal which ids exist
   */
  async markRead({ userId, withAdmin }: Reader, id: string): Promise<void> {
    const { database, notifications, readStates, changeSignals } = this.#dependencies;
    if (!/^[1-9][0-9]{0,15}$/.test(id) || !Number.isSafeInteger(Number(id))) throw new AppError('notification_invalid');
    const row = await notifications.find(Number(id));
    const isOwn = row?.user_id === userId && (row.for_admin === 0 || withAdmin);
    const isAnnouncement = row?.user_id === 0 && row.created_at >= (await this.accountCreatedAt(userId));
    if (row === undefined || (!isOwn && !isAnnouncement)) throw new AppError('notification_invalid');
    await database.transaction(async (trx) => {
      await readStates.lock(trx, userId);
      if (isOwn) await readStates.markRead(trx, row);
      else if (row.id > (await readStates.find(userId, trx)).announcements_read_to)
        await readStates.markAnnouncementRead(trx, userId, row.id);
      afterCommit(trx, () => changeSignals.notifyChanged(userId));
    });
  }

  /** Adds the read state to newly written rows. */
  async toItems({ userId }: Reader, rows: readonly NotificationRow[]): Promise<InboxItem[]> {
    return this.#addReadState(await this.#dependencies.readStates.find(userId), rows);
  }

  /** Unix milliseconds; announcements made earlier are not shown to the account. */
  async accountCreatedAt(userId: number): Promise<number> {
    const known = this.#createdAt.get(userId);
    if (known !== undefined) return known;
    const account = await this.#dependencies.access.findEnabled(userId);
    if (account === undefined) return Number.MAX_SAFE_INTEGER;
    this.#createdAt.set(userId, account.created_at);
    return account.created_at;
  }

  async preferences(reader: Reader): Promise<Preference[]> {
    const said = await this.#dependencies.preferences.list(reader.userId);
    return topicsVisibleTo(reader).map(([topic, { locked, mail, urgent = false }]) => ({
      topic,
      in_app: locked || said.get(topic)?.in_app !== 0,
      locked,
      mail: urgent || (said.get(topic)?.mail ?? (mail ? 1 : 0)) === 1,
      mail_locked: urgent,
    }));
  }

  /** @throws AppError `invalid_request` for an unknown topic, `topic_locked` if a topic cannot be switched off */
  async setPreferences(reader: Reader, { topics = {}, mail = {} }: PreferenceChange): Promise<void> {
    const rules = new Map(topicsVisibleTo(reader));
    const check = (switches: TopicSwitches, param: string, isLocked: (rule: TopicRule) => boolean): void => {
      for (const [topic, enabled] of Object.entries(switches)) {
        const rule = rules.get(topic);
        if (rule === undefined) throw invalidRequest(`There is no topic "${topic}".`, param);
        if (isLocked(rule) && !enabled) throw new AppError('topic_locked', { params: { topic } });
      }
    };
    check(topics, 'topics', ({ locked }) => locked);
    check(mail, 'mail', ({ urgent = false }) => urgent);
    const { database, preferences } = this.#dependencies;
    await database.transaction(async (trx) => {
      for (const [topic, enabled] of Object.entries(topics))
        await preferences.set(trx, reader.userId, topic, { in_app: enabled ? 1 : 0 });
      for (const [topic, enabled] of Object.entries(mail))
        await preferences.set(trx, reader.userId, topic, { mail: enabled ? 1 : 0 });
    });
  }

  async #count({ userId, withAdmin }: Reader) {
    const { readStates } = this.#dependencies;
    const [inbox, accountCreatedAt] = await Promise.all([readStates.find(userId), this.accountCreatedAt(userId)]);
    const announcements = await readStates.countAnnouncements(inbox, accountCreatedAt);
    return {
      inbox,
      accountCreatedAt,
      newestAnnouncement: announcements.newest,
      total: inbox.total_user + (withAdmin ? inbox.total_admin : 0) + announcements.total,
      unread: inbox.unread_user + (withAdmin ? inbox.unread_admin : 0) + announcements.unread,
    };
  }

  async #addReadState(inbox: Inbox, rows: readonly NotificationRow[]): Promise<InboxItem[]> {
    const aboveWatermark = rows
      .filter((row) => row.user_id === 0 && row.id > inbox.announcements_read_to)
      .map((row) => row.id);
    const read = await this.#dependencies.readStates.listReadAnnouncements(inbox.user_id, aboveWatermark);
    return rows.map((row) => ({ row, isRead: isRead(row, inbox, read) }));
  }
}

const topicsVisibleTo = ({ withAdmin }: Reader): [string, TopicRule][] =>
  Object.entries<TopicRule>(TOPICS).filter(([, { administratorsOnly }]) => withAdmin || administratorsOnly !== true);

function isRead(row: NotificationRow, inbox: Inbox, readAnnouncements: ReadonlySet<number>): boolean {
  if (row.user_id === 0) return row.id <= inbox.announcements_read_to || readAnnouncements.has(row.id);
  return row.is_read === 1 || row.id <= (row.for_admin === 1 ? inbox.read_to_admin : inbox.read_to_user);
}

type Inbox = Selectable<Tables['inboxes']>;

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
 * Counters and read watermarks of accounts. Code that writes rows for an account first locks its inbox with
 * `adjustCounts`; rows up to a watermark count as read whatever `is_read` says.
 */
export class ReadStateStore {
  readonly #database: Database<Tables>;
  constructor(database: Database<Tables>) {
    this.#database = database;
  }

  /**
   * Adds rows to or subtracts them from the totals and unread counts, and locks the inbox until the commit. Called
   * before the rows are written, so that the ids of one account become visible in ascending order.
   */
  adjustCounts(trx: Trx, user: number, forAdmin: number, rows: number): Promise<number> {
    const isAdmin = forAdmin === 1;
    return upsertCounts.changes(trx, { user, userRows: isAdmin ? 0 : rows, adminRows: isAdmin ? rows : 0 });
  }

  /** Locks the inbox without changing a count. */
  lock(trx: Trx, user: number): Promise<number> {
    return this.adjustCounts(trx, user, 0, 0);
  }

  /** The inbox of an account; empty, without a row, if the account was never notified. */
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
   * Marks all notifications read by moving watermarks to the newest row, at the same cost for any number of rows. The
   * caller has locked the inbox in an earlier statement, so a concurrently written row gets an id above the watermark.
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
   * Announcements visible to an account.
   * @param accountCreatedAt Unix milliseconds; older announcements are not visible
   * @returns `newest`: id of the last counted announcement, 0 if there is none
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

  /** The subset of these announcements above the watermark that the account has read individually. */
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

type PreferenceRow = Selectable<Tables['notification_preferences']>;
/** An account's preference for a topic; null: none set. */
type TopicPreference = Pick<PreferenceRow, 'in_app' | 'mail'>;

const NOTHING_SAID: TopicPreference = { in_app: null, mail: null };

const selectPreference = prepareQuery<Tables, { user: number; topic: string }>()((db, p) =>
  db
    .selectFrom('notification_preferences')
    .select(['in_app', 'mail'])
    .where('user_id', '=', p('user'))
    .where('topic', '=', p('topic')),
);

/** Topic preferences of accounts, one row per topic. */
export class PreferenceStore {
  readonly #database: Database<Tables>;
  constructor(database: Database<Tables>) {
    this.#database = database;
  }

  async find(db: Executor, user: number, topic: string): Promise<TopicPreference> {
    return (await selectPreference.first(db, { user, topic })) ?? NOTHING_SAID;
  }

  async list(user: number): Promise<ReadonlyMap<string, TopicPreference>> {
    const rows = await this.#database.kysely
      .selectFrom('notification_preferences')
      .selectAll()
      .where('user_id', '=', user)
      .execute();
    return new Map(rows.map((row) => [row.topic, row]));
  }

  /** Changes one or both channels. */
  async set(trx: Trx, user: number, topic: string, { in_app, mail }: Partial<TopicPreference>): Promise<void> {
    const change = defined({ in_app, mail });
    await trx
      .insertInto('notification_preferences')
      .values({ user_id: user, topic, ...NOTHING_SAID, ...change })
      .onConflict((conflict) => conflict.columns(['user_id', 'topic']).doUpdateSet(change))
      .execute();
  }
}

/**
 * A notification in the reader's language. Announcements are returned with the reader's `user_id`, like every
 * notification.
 */
export const toNotification = (
  { row, isRead }: InboxItem,
  userId: number,
  locale: Locale,
): Static<typeof Notification> => ({
  id: row.id,
  user_id: userId,
  type: row.type,
  title: (locale === 'zh-CN' ? row.title_zh : null) ?? row.title_en,
  content: (locale === 'zh-CN' ? row.content_zh : null) ?? row.content_en,
  target_url: row.target_url,
  is_read: isRead,
  related_id: row.related_id,
  created_at: toSeconds(row.created_at),
});
