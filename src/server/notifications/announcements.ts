import type { Page } from '../../contract/schemas.ts';
import type { Audit, AuditEntry } from '../accounts/audit.ts';
import type { Clock } from '../platform/clock.ts';
import { afterCommit } from '../platform/db/after-commit.ts';
import type { Database } from '../platform/db/database.ts';
import { invalid, notExist } from '../platform/errors.ts';
import type { Tables } from '../tables.ts';
import {
  deleteAnnouncement,
  EVERYBODY,
  findAnnouncement,
  listAnnouncements,
  updateAnnouncement,
} from './announcement-store.ts';
import type { News } from './news.ts';
import { addNotification, countIn, type NotificationRow } from './store.ts';
import { isConsolePath } from './target.ts';

/** Who changes something, for the audit log. */
export type Actor = Required<Pick<AuditEntry, 'actorId' | 'address' | 'requestId'>>;

interface Words {
  readonly title: string;
  readonly content: string;
}
export interface Announcement extends Words {
  readonly zh_cn?: Words | null | undefined;
  readonly target_url?: string | undefined;
}

/** Announcements of the platform: one row each, whatever the number of accounts. */
export interface Announcements {
  list(page: Page): Promise<{ rows: NotificationRow[]; total: number }>;
  /** @throws not_exist */
  get(id: number): Promise<NotificationRow>;
  /** @throws invalid_request */
  make(actor: Actor, announcement: Announcement): Promise<number>;
  /** @throws not_exist, invalid_request */
  change(
    actor: Actor,
    id: number,
    change: { readonly [K in keyof Announcement]?: Announcement[K] | undefined },
  ): Promise<void>;
  /** @throws not_exist */
  remove(actor: Actor, id: number): Promise<void>;
}

export interface AnnouncementParts {
  readonly database: Database<Tables>;
  readonly clock: Clock;
  readonly audit: Audit;
  readonly news: Pick<News, 'tell'>;
}

export function makeAnnouncements({ database, clock, audit, news }: AnnouncementParts): Announcements {
  const existing = async (db: Parameters<typeof findAnnouncement>[0], id: number): Promise<NotificationRow> => {
    const row = await findAnnouncement(db, id);
    if (row === undefined) throw notExist('announcement');
    return row;
  };
  return {
    list: (page) => listAnnouncements(database.kysely, page),
    get: (id) => existing(database.kysely, id),
    make: (actor, announcement) =>
      database.transaction(async (trx) => {
        const target = assertTarget(announcement.target_url ?? '');
        // Announcements line up here, so that their ids are committed in order.
        await countIn(trx, EVERYBODY, 0, 1);
        const id = await addNotification(trx, {
          user_id: EVERYBODY,
          for_admin: 0,
          type: 'system',
          topic: 'system',
          title_en: announcement.title,
          content_en: announcement.content,
          title_zh: announcement.zh_cn?.title ?? null,
          content_zh: announcement.zh_cn?.content ?? null,
          target_url: target,
          related_id: 0,
          once_key: null,
          created_at: clock.now(),
        });
        if (id === undefined) throw new Error('an announcement was not written');
        await audit.record(trx, {
          ...actor,
          action: 'announcement.create',
          target: `announcement:${id}`,
          after: announcement,
        });
        afterCommit(trx, () => news.tell(EVERYBODY));
        return id;
      }),
    change: (actor, id, { title, content, zh_cn, target_url }) =>
      database.transaction(async (trx) => {
        const before = await existing(trx, id);
        const change = {
          ...(title === undefined ? {} : { title_en: title }),
          ...(content === undefined ? {} : { content_en: content }),
          ...(zh_cn === undefined ? {} : { title_zh: zh_cn?.title ?? null, content_zh: zh_cn?.content ?? null }),
          ...(target_url === undefined ? {} : { target_url: assertTarget(target_url) }),
        };
        if (Object.keys(change).length === 0) return;
        await updateAnnouncement(trx, id, change);
        const told = { action: 'announcement.update', target: `announcement:${id}` };
        await audit.record(trx, { ...actor, ...told, before, after: { ...before, ...change } });
        afterCommit(trx, () => news.tell(EVERYBODY));
      }),
    remove: (actor, id) =>
      database.transaction(async (trx) => {
        const before = await existing(trx, id);
        await countIn(trx, EVERYBODY, 0, -1);
        if (!(await deleteAnnouncement(trx, id))) throw notExist('announcement');
        await audit.record(trx, { ...actor, action: 'announcement.delete', target: `announcement:${id}`, before });
        afterCommit(trx, () => news.tell(EVERYBODY));
      }),
  };
}

function assertTarget(path: string): string {
  if (!isConsolePath(path)) throw invalid('target_url must be a path of the console, such as /packages.', 'target_url');
  return path;
}
