import type { Insertable, Selectable } from 'kysely';
import type { Locale } from '../../contract/localized-messages/format-message.ts';
import type { Database } from '../platform/db/database.ts';
import { deleteOldRows, wasChanged } from '../platform/db/sql.ts';
import type { Executor, Tables, Trx } from '../tables.ts';

export type MailSettingsRow = Selectable<Tables['notification_mail_settings']>;
export type MailItem = Selectable<Tables['notification_mails']>;

/** Nothing is held back, and mails are in the language of the service. */
const DEFAULT_SETTINGS = { language: null, digest_at: null, quiet_from: null, quiet_to: null } as const;

/** SQL of `notification_mails` and `notification_mail_settings`. */
export class NotificationMailStore {
  readonly #database: Database<Tables>;
  constructor(database: Database<Tables>) {
    this.#database = database;
  }

  async settings(userId: number, db: Executor = this.#database.kysely): Promise<Omit<MailSettingsRow, 'user_id'>> {
    const row = await db
      .selectFrom('notification_mail_settings')
      .select(['language', 'digest_at', 'quiet_from', 'quiet_to'])
      .where('user_id', '=', userId)
      .executeTakeFirst();
    return row ?? DEFAULT_SETTINGS;
  }

  async putSettings(userId: number, change: Partial<Omit<MailSettingsRow, 'user_id'>>): Promise<void> {
    await this.#database.kysely
      .insertInto('notification_mail_settings')
      .values({ user_id: userId, ...DEFAULT_SETTINGS, ...change })
      .onConflict((conflict) => conflict.column('user_id').doUpdateSet(change))
      .execute();
  }

  /** The newest mail an account has that is to be sent after `now` and not after `until`. */
  findWaiting(trx: Trx, userId: number, now: number, until: number): Promise<MailItem | undefined> {
    return trx
      .selectFrom('notification_mails')
      .selectAll()
      .where('user_id', '=', userId)
      .where('send_at', '>', now)
      .where('send_at', '<=', until)
      .orderBy('id', 'desc')
      .limit(1)
      .executeTakeFirst();
  }

  /** @returns false when the account was mailed one with its key */
  async insert(trx: Trx, item: Insertable<Tables['notification_mails']>): Promise<boolean> {
    const result = await trx
      .insertInto('notification_mails')
      .values(item)
      .onConflict((conflict) => conflict.columns(['user_id', 'deduplication_key']).doNothing())
      .executeTakeFirst();
    return wasChanged(result);
  }

  /** What a mail tells, oldest first, without what its reader has read in the console meanwhile. */
  async listUnread(mailId: string): Promise<MailItem[]> {
    return this.#database.kysely
      .selectFrom('notification_mails')
      .leftJoin('notifications', 'notifications.id', 'notification_mails.notification_id')
      .leftJoin('inboxes', 'inboxes.user_id', 'notification_mails.user_id')
      .selectAll('notification_mails')
      .where('mail_id', '=', mailId)
      .where(({ or, and, eb, ref }) =>
        or([
          eb('notification_mails.is_urgent', '=', 1),
          eb('notifications.id', 'is', null),
          and([
            eb('notifications.is_read', '=', 0),
            or([
              and([eb('notifications.for_admin', '=', 0), eb('notifications.id', '>', ref('inboxes.read_to_user'))]),
              and([eb('notifications.for_admin', '=', 1), eb('notifications.id', '>', ref('inboxes.read_to_admin'))]),
            ]),
          ]),
        ]),
      )
      .orderBy('notification_mails.id')
      .execute();
  }

  /** Deletes some of what was to be sent before a time. @returns how many */
  deleteBefore(before: number, limit: number): Promise<number> {
    return deleteOldRows(
      this.#database.kysely,
      { table: 'notification_mails', key: 'id', time: 'send_at' },
      before,
      limit,
    );
  }
}

/** The language of an account's mails. */
export const toLocale = (language: string | null, fallback: Locale): Locale =>
  language === 'en' || language === 'zh-CN' ? language : fallback;
