import { LRUCache } from 'lru-cache';
import { TOPICS, type Topic, type TopicRule } from '../../contract/notifications.ts';
import type { Role } from '../../contract/roles.ts';
import type { Page } from '../../contract/schemas.ts';
import type { Standing } from '../accounts/standing.ts';
import { afterCommit } from '../platform/db/after-commit.ts';
import type { Database } from '../platform/db/database.ts';
import { AppError, invalid } from '../platform/errors.ts';
import type { Tables } from '../tables.ts';
import type { News } from './news.ts';
import {
  countAnnouncements,
  countIn,
  findInbox,
  findNotification,
  type Inbox,
  isSwitchedOff,
  listPage,
  listSwitchedOff,
  markAllRead,
  markAnnouncementRead,
  markOneRead,
  type NotificationRow,
  readAlone,
  switchTopic,
} from './store.ts';

/** Who reads, and which part: with `audience=user`, the user-facing types alone. */
export interface Reader {
  readonly userId: number;
  readonly withAdmin: boolean;
}

/** A row as its reader finds it. */
export interface Shown {
  readonly row: NotificationRow;
  readonly isRead: boolean;
}

export interface Preference {
  readonly topic: string;
  readonly in_app: boolean;
  readonly locked: boolean;
}

/** What accounts do with their notifications. */
export interface Inboxes {
  list(
    reader: Reader,
    unreadOnly: boolean,
    page: Page,
  ): Promise<{ rows: Shown[]; total: number; unread: number; hasMore: boolean }>;
  /** `announcedTo`: the newest announcement that is counted in. */
  unread(reader: Reader): Promise<{ readonly unread: number; readonly announcedTo: number }>;
  markAll(reader: Reader): Promise<void>;
  /** @param id as it stands in the address @throws notification_invalid */
  markOne(reader: Reader, id: string): Promise<void>;
  /** Adds what the reader knows of rows that were just written. */
  show(reader: Reader, rows: readonly NotificationRow[]): Promise<Shown[]>;
  /** Unix milliseconds from which announcements are the account's too. */
  joinedAt(userId: number): Promise<number>;
  preferences(reader: Reader): Promise<Preference[]>;
  /** @throws invalid_request, topic_locked */
  prefer(reader: Reader, topics: Readonly<Record<string, boolean>>): Promise<void>;
}

/** Administrators see their to-dos unless they ask for the user's side alone. */
export const readerOf = (caller: { readonly userId: number; readonly role: Role }, audience?: string): Reader => ({
  userId: caller.userId,
  withAdmin: caller.role !== 'user' && audience !== 'user',
});

export function makeInboxes(
  database: Database<Tables>,
  standing: Pick<Standing, 'find'>,
  news: Pick<News, 'tell'>,
): Inboxes {
  const { kysely } = database;
  // The time an account was made never changes.
  const joined = new LRUCache<number, number>({ maxSize: 50_000, sizeCalculation: () => 1 });

  const joinedAt = async (userId: number): Promise<number> => {
    const known = joined.get(userId);
    if (known !== undefined) return known;
    const account = await standing.find(userId);
    if (account === undefined) return Number.MAX_SAFE_INTEGER;
    joined.set(userId, account.created_at);
    return account.created_at;
  };

  const counted = async ({ userId, withAdmin }: Reader) => {
    const [inbox, since] = await Promise.all([findInbox(kysely, userId), joinedAt(userId)]);
    const announced = await countAnnouncements(kysely, inbox, since);
    return {
      inbox,
      since,
      announcedTo: announced.newest,
      total: inbox.total_user + (withAdmin ? inbox.total_admin : 0) + announced.total,
      unread: inbox.unread_user + (withAdmin ? inbox.unread_admin : 0) + announced.unread,
    };
  };

  const toShown = async (inbox: Inbox, rows: readonly NotificationRow[]): Promise<Shown[]> => {
    const open = rows.filter((row) => row.user_id === 0 && row.id > inbox.announced_to).map((row) => row.id);
    const alone = await readAlone(kysely, inbox.user_id, open);
    return rows.map((row) => ({ row, isRead: isRead(row, inbox, alone) }));
  };

  return {
    joinedAt,
    async list(reader, unreadOnly, { pageSize, offset }) {
      const { inbox, since, total: all, unread } = await counted(reader);
      const total = unreadOnly ? unread : all;
      if (offset >= total) return { rows: [], total, unread, hasMore: false };
      const rows = await listPage(kysely, {
        inbox,
        joinedAt: since,
        withAdmin: reader.withAdmin,
        unreadOnly,
        offset,
        limit: pageSize,
      });
      return { rows: await toShown(inbox, rows), total, unread, hasMore: offset + rows.length < total };
    },
    unread: counted,
    async markAll({ userId, withAdmin }) {
      await database.transaction(async (trx) => {
        await countIn(trx, userId, 0, 0);
        await markAllRead(trx, userId, withAdmin);
        afterCommit(trx, () => news.tell(userId));
      });
    },
    async markOne({ userId, withAdmin }, id) {
      if (!/^[1-9][0-9]{0,15}$/.test(id) || !Number.isSafeInteger(Number(id)))
        throw new AppError('notification_invalid');
      const row = await findNotification(kysely, Number(id));
      const own = row?.user_id === userId && (row.for_admin === 0 || withAdmin);
      const everybodys = row?.user_id === 0 && row.created_at >= (await joinedAt(userId));
      if (row === undefined || (!own && !everybodys)) throw new AppError('notification_invalid');
      await database.transaction(async (trx) => {
        await countIn(trx, userId, 0, 0);
        if (own) await markOneRead(trx, row);
        else if (row.id > (await findInbox(trx, userId)).announced_to) await markAnnouncementRead(trx, userId, row.id);
        afterCommit(trx, () => news.tell(userId));
      });
    },
    show: async ({ userId }, rows) => toShown(await findInbox(kysely, userId), rows),
    async preferences(reader) {
      const off = await listSwitchedOff(kysely, reader.userId);
      return topicsOf(reader).map(([topic, { locked }]) => ({
        topic,
        in_app: locked || !off.has(topic),
        locked,
      }));
    },
    async prefer(reader, topics) {
      const rules = new Map(topicsOf(reader));
      for (const [topic, on] of Object.entries(topics)) {
        const rule = rules.get(topic);
        if (rule === undefined) throw invalid(`There is no topic "${topic}".`, 'topics');
        if (rule.locked && !on) throw new AppError('topic_locked', { params: { topic } });
      }
      await database.transaction(async (trx) => {
        for (const [topic, on] of Object.entries(topics)) await switchTopic(trx, reader.userId, topic, on);
      });
    },
  };
}

const topicsOf = ({ withAdmin }: Reader): [string, TopicRule][] =>
  Object.entries<TopicRule>(TOPICS).filter(([, { administrators }]) => withAdmin || administrators !== true);

function isRead(row: NotificationRow, inbox: Inbox, alone: ReadonlySet<number>): boolean {
  if (row.user_id === 0) return row.id <= inbox.announced_to || alone.has(row.id);
  return row.is_read === 1 || row.id <= (row.for_admin === 1 ? inbox.read_to_admin : inbox.read_to_user);
}

/** Whether an account wants to hear of a topic; locked ones are not asked about. */
export const isWanted = async (
  trx: Parameters<typeof isSwitchedOff>[0],
  userId: number,
  topic: Topic,
): Promise<boolean> => TOPICS[topic].locked || !(await isSwitchedOff(trx, userId, topic));
