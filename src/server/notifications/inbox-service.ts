import { LRUCache } from 'lru-cache';
import { TOPICS, type TopicRule } from '../../contract/notifications-preferences-and-announcements.ts';
import type { Role } from '../../contract/roles.ts';
import type { Page } from '../../contract/success-bodies-and-pagination.ts';
import type { AccountAccess } from '../accounts/account-store.ts';
import { AppError, invalidRequest } from '../platform/app-error.ts';
import { upToEntries } from '../platform/cache.ts';
import { afterCommit, type Database } from '../platform/db/database.ts';
import type { Tables } from '../tables.ts';
import type { ChangeSignals } from './change-signals.ts';
import type { NotificationRow, NotificationStore } from './notification-store.ts';
import type { PreferenceStore } from './preference-store.ts';
import type { Inbox, ReadStateStore } from './read-state-store.ts';

/** Whose inbox is read, and which part of it: with `audience=user` the user-facing types only. */
export interface Reader {
  readonly userId: number;
  readonly withAdmin: boolean;
}

/** A notification and whether this reader has read it. */
export interface InboxItem {
  readonly row: NotificationRow;
  readonly isRead: boolean;
}

export interface Preference {
  readonly topic: string;
  readonly in_app: boolean;
  readonly locked: boolean;
  readonly mail: boolean;
  readonly mail_locked: boolean;
}

type TopicSwitches = Readonly<Record<string, boolean>>;

/** Topics to switch on or off, in the console and by mail; the others keep what they are. */
export interface PreferenceChange {
  readonly topics?: TopicSwitches | undefined;
  readonly mail?: TopicSwitches | undefined;
}

export interface InboxServiceDependencies {
  readonly database: Database<Tables>;
  readonly notifications: NotificationStore;
  readonly readStates: ReadStateStore;
  readonly preferences: PreferenceStore;
  readonly access: Pick<AccountAccess, 'findEnabled'>;
  readonly changeSignals: Pick<ChangeSignals, 'notifyChanged'>;
}

/** Administrators also read their to-dos unless they ask for the user's side only. */
export const toReader = (caller: { readonly userId: number; readonly role: Role }, audience?: string): Reader => ({
  userId: caller.userId,
  withAdmin: caller.role !== 'user' && audience !== 'user',
});

/** What accounts do with their own notifications. */
export class InboxService {
  readonly #dependencies: InboxServiceDependencies;
  /** The time at which an account was made never changes. */
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

  /** `newestAnnouncement`: id of the newest announcement this count includes. */
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
   * @param id as it stands in the URL
   * @throws AppError `notification_invalid` for anything that is not the id of a notification the reader can see, so that
   *   the response does not reveal which ids exist
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

  /** Adds the read state to rows that were just written. */
  async toItems({ userId }: Reader, rows: readonly NotificationRow[]): Promise<InboxItem[]> {
    return this.#addReadState(await this.#dependencies.readStates.find(userId), rows);
  }

  /** Unix milliseconds; announcements made earlier are not the account's. */
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

  /** @throws AppError `invalid_request` for an unknown topic, `topic_locked` when a topic cannot be switched off */
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
