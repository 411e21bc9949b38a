import type { Page } from '../../contract/responses.ts';
import type { AuditLog } from '../accounts/audit-log.ts';
import { invalidRequest, notExistError } from '../platform/app-error.ts';
import type { Clock } from '../platform/clock.ts';
import { afterCommit, type Database } from '../platform/db/database.ts';
import { wasChanged } from '../platform/db/sql.ts';
import type { Actor } from '../platform/http/route-registry.ts';
import type { Executor, Tables, Trx } from '../tables.ts';
import type { ReadStateStore } from './inbox.ts';
import type { ChangeSignals, NotificationRow, NotificationStore } from './notification-store.ts';

interface AnnouncementText {
  readonly title: string;
  readonly content: string;
}
interface Announcement extends AnnouncementText {
  /** Null: the English text is shown in every language. */
  readonly zh_cn?: AnnouncementText | null;
  readonly target_url?: string;
}
type AnnouncementChange = { readonly [K in keyof Announcement]?: Announcement[K] | undefined };

interface AnnouncementServiceDependencies {
  readonly database: Database<Tables>;
  readonly notifications: NotificationStore;
  readonly announcements: AnnouncementStore;
  readonly readStates: ReadStateStore;
  readonly clock: Clock;
  readonly auditLog: AuditLog;
  readonly changeSignals: Pick<ChangeSignals, 'notifyChanged'>;
}

/** Announcements to all accounts: one row each, whatever the number of accounts. */
export class AnnouncementService {
  readonly #dependencies: AnnouncementServiceDependencies;
  constructor(dependencies: AnnouncementServiceDependencies) {
    this.#dependencies = dependencies;
  }

  list(page: Page, oldestFirst: boolean): Promise<{ rows: NotificationRow[]; total: number }> {
    return this.#dependencies.announcements.list(page, oldestFirst);
  }

  /** @throws AppError `not_exist` */
  get(id: number): Promise<NotificationRow> {
    return this.#get(id);
  }

  /**
   * @returns the new id
   * @throws AppError `invalid_request` for a target outside the console
   */
  create(actor: Actor, announcement: Announcement): Promise<number> {
    const { database, notifications, readStates, auditLog, clock } = this.#dependencies;
    return database.transaction(async (trx) => {
      const target = assertConsolePath(announcement.target_url ?? '');
      // Locks the shared inbox, so that the ids of announcements are committed in ascending order.
      await readStates.adjustCounts(trx, ALL_ACCOUNTS, 0, 1);
      const id = await notifications.insert(trx, {
        user_id: ALL_ACCOUNTS,
        for_admin: 0,
        type: 'system',
        topic: 'system',
        title_en: announcement.title,
        content_en: announcement.content,
        title_zh: announcement.zh_cn?.title ?? null,
        content_zh: announcement.zh_cn?.content ?? null,
        target_url: target,
        related_id: 0,
        deduplication_key: null,
        created_at: clock.now(),
      });
      if (id === undefined) throw new Error('an announcement was not inserted');
      await auditLog.record(trx, {
        ...actor,
        action: 'announcement.create',
        target: `announcement:${id}`,
        after: announcement,
      });
      this.#signalAfter(trx);
      return id;
    });
  }

  /** Changes only the named fields. @throws AppError `not_exist`, `invalid_request` for a target outside the console */
  update(actor: Actor, id: number, { title, content, zh_cn, target_url }: AnnouncementChange): Promise<void> {
    const { database, announcements, auditLog } = this.#dependencies;
    return database.transaction(async (trx) => {
      const before = await this.#get(id, trx);
      const change: AnnouncementUpdate = {};
      if (title !== undefined) change.title_en = title;
      if (content !== undefined) change.content_en = content;
      if (zh_cn !== undefined) {
        change.title_zh = zh_cn?.title ?? null;
        change.content_zh = zh_cn?.content ?? null;
      }
      if (target_url !== undefined) change.target_url = assertConsolePath(target_url);
      if (Object.keys(change).length === 0) return;
      await announcements.update(trx, id, change);
      await auditLog.record(trx, {
        ...actor,
        action: 'announcement.update',
        target: `announcement:${id}`,
        before,
        after: { ...before, ...change },
      });
      this.#signalAfter(trx);
    });
  }

  /** @throws AppError `not_exist` */
  remove(actor: Actor, id: number): Promise<void> {
    const { database, announcements, readStates, auditLog } = this.#dependencies;
    return database.transaction(async (trx) => {
      const before = await this.#get(id, trx);
      await readStates.adjustCounts(trx, ALL_ACCOUNTS, 0, -1);
      if (!(await announcements.delete(trx, id))) throw notExistError('announcement');
      await auditLog.record(trx, {
        ...actor,
        action: 'announcement.delete',
        target: `announcement:${id}`,
        before,
      });
      this.#signalAfter(trx);
    });
  }

  async #get(id: number, db?: Executor): Promise<NotificationRow> {
    const row = await this.#dependencies.announcements.find(id, db);
    if (row === undefined) throw notExistError('announcement');
    return row;
  }

  #signalAfter(trx: Trx): void {
    afterCommit(trx, () => this.#dependencies.changeSignals.notifyChanged(ALL_ACCOUNTS));
  }
}

function assertConsolePath(path: string): string {
  if (!isConsolePath(path))
    throw invalidRequest('target_url must be a path of the console, such as /packages.', 'target_url');
  return path;
}

/** `user_id` of rows that belong to every account. */
export const ALL_ACCOUNTS = 0;

type AnnouncementUpdate = Partial<
  Pick<NotificationRow, 'title_en' | 'content_en' | 'title_zh' | 'content_zh' | 'target_url'>
>;

/** Reads and changes the announcements in `notifications`. `NotificationStore` inserts them. */
export class AnnouncementStore {
  readonly #database: Database<Tables>;
  constructor(database: Database<Tables>) {
    this.#database = database;
  }

  find(id: number, db: Executor = this.#database.kysely): Promise<NotificationRow | undefined> {
    return selectAnnouncements(db).selectAll().where('id', '=', id).executeTakeFirst();
  }

  /** Newest first, or oldest first on request. */
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

  /** @returns whether the announcement existed */
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

const ORIGIN = 'http://console.invalid';

/**
 * Whether a text is a path inside the console (or empty), which cannot lead to another site however a browser or router
 * parses it. No `//`, no backslash, no white space, only printable ASCII.
 */
export function isConsolePath(text: string): boolean {
  if (text === '') return true;
  if (!/^\/[\x21-\x7e]*$/.test(text) || /\\|\/\//.test(text)) return false;
  if (!URL.canParse(text, ORIGIN)) return false;
  const url = new URL(text, ORIGIN);
  return url.origin === ORIGIN && !url.pathname.startsWith('//');
}
