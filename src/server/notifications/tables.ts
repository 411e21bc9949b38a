import type { Generated } from 'kysely';
import { type Migration, type MigrationTransaction, required, zero } from '../platform/db/migrate.ts';
import type { Dialect } from '../platform/db/sql.ts';

/** Tables of the notifications capability. */
export interface NotificationTables {
  /** One row per notification. `user_id` 0: an announcement to all accounts. */
  notifications: {
    id: Generated<number>;
    user_id: number;
    /** 1: a to-do, shown to administrators only. */
    for_admin: number;
    type: string;
    topic: string;
    title_en: string;
    content_en: string;
    /** Null: the English text is shown in every language. */
    title_zh: string | null;
    content_zh: string | null;
    target_url: string;
    related_id: number;
    is_read: number;
    deduplication_key: string | null;
    created_at: number;
  };
  /**
   * Counts and read watermarks, one row for each account that ever received or marked a notification. Rows of
   * `notifications` up to a watermark count as read whatever `is_read` holds. A transaction that writes for an account
   * locks this row first, so that the ids of one account (and those of announcements, account 0) are committed in
   * ascending order.
   */
  inboxes: {
    user_id: number;
    total_user: number;
    total_admin: number;
    unread_user: number;
    unread_admin: number;
    read_to_user: number;
    read_to_admin: number;
    /** Watermark over announcements. */
    announcements_read_to: number;
  };
  /** Announcements above the watermark that were read individually. */
  announcement_reads: { user_id: number; notification_id: number };
  /** An account's preference per topic; null: none set for this channel. */
  notification_preferences: { user_id: number; topic: string; in_app: 0 | 1 | null; mail: 0 | 1 | null };
  /** When and in which language an account gets mails; see MailSchedule. */
  notification_mail_settings: {
    user_id: number;
    language: string | null;
    /** Minutes after midnight, like the two columns below. */
    digest_at: number | null;
    quiet_from: number | null;
    quiet_to: number | null;
  };
  /** Contents of queued and sent mails; kept as long as notifications, so that none is mailed twice. */
  notification_mails: {
    id: Generated<number>;
    /** Id in `outgoing_mails`. */
    mail_id: string;
    user_id: number;
    /** Null if the account has switched the topic off in its inbox. */
    notification_id: number | null;
    /** 1: mailed even if it was read meanwhile. */
    is_urgent: 0 | 1;
    title_en: string;
    content_en: string;
    title_zh: string;
    content_zh: string;
    target_url: string;
    deduplication_key: string | null;
    /** Scheduled time of the mail. */
    send_at: number;
  };
}

/** Schema history of the notifications capability. */
export const notificationMigrations: readonly Migration[] = [
  {
    id: '0060-notifications',
    async up(trx, { int64, bool, text, autoIncrement }) {
      await trx.schema
        .createTable('notifications')
        .addColumn('id', int64, autoIncrement)
        .addColumn('user_id', int64, required)
        .addColumn('for_admin', bool, required)
        .addColumn('type', text, required)
        .addColumn('topic', text, required)
        .addColumn('title_en', text, required)
        .addColumn('content_en', text, required)
        .addColumn('title_zh', text)
        .addColumn('content_zh', text)
        .addColumn('target_url', text, required)
        .addColumn('related_id', int64, required)
        .addColumn('is_read', bool, required)
        .addColumn('deduplication_key', text)
        .addColumn('created_at', int64, required)
        .addUniqueConstraint('notifications_unique', ['user_id', 'deduplication_key'])
        .execute();
      await trx.schema
        .createIndex('notifications_by_user')
        .on('notifications')
        .columns(['user_id', 'for_admin', 'id'])
        .execute();
      await trx.schema
        .createIndex('notifications_unread')
        .on('notifications')
        .columns(['user_id', 'for_admin', 'is_read', 'id'])
        .execute();
      const count = ['total_user', 'total_admin', 'unread_user', 'unread_admin'];
      const watermarks = ['read_to_user', 'read_to_admin', 'announcements_read_to'];
      let inboxes = trx.schema.createTable('inboxes').addColumn('user_id', int64, (column) => column.primaryKey());
      for (const name of [...count, ...watermarks]) inboxes = inboxes.addColumn(name, int64, zero);
      await inboxes.execute();
      await trx.schema
        .createTable('announcement_reads')
        .addColumn('user_id', int64, required)
        .addColumn('notification_id', int64, required)
        .addPrimaryKeyConstraint('announcement_reads_key', ['user_id', 'notification_id'])
        .execute();
      await trx.schema
        .createTable('notification_preferences')
        .addColumn('user_id', int64, required)
        .addColumn('topic', text, required)
        .addColumn('in_app', bool)
        .addColumn('mail', bool)
        .addPrimaryKeyConstraint('notification_preferences_key', ['user_id', 'topic'])
        .execute();
      await createMailTables(trx, { int64, bool, text, autoIncrement });
    },
  },
];

async function createMailTables(
  trx: MigrationTransaction,
  { int64, bool, text, autoIncrement }: Pick<Dialect, 'int64' | 'bool' | 'text' | 'autoIncrement'>,
): Promise<void> {
  await trx.schema
    .createTable('notification_mail_settings')
    .addColumn('user_id', int64, (column) => column.primaryKey())
    .addColumn('language', text)
    .addColumn('digest_at', int64)
    .addColumn('quiet_from', int64)
    .addColumn('quiet_to', int64)
    .execute();
  await trx.schema
    .createTable('notification_mails')
    .addColumn('id', int64, autoIncrement)
    .addColumn('mail_id', text, required)
    .addColumn('user_id', int64, required)
    .addColumn('notification_id', int64)
    .addColumn('is_urgent', bool, required)
    .addColumn('title_en', text, required)
    .addColumn('content_en', text, required)
    .addColumn('title_zh', text, required)
    .addColumn('content_zh', text, required)
    .addColumn('target_url', text, required)
    .addColumn('deduplication_key', text)
    .addColumn('send_at', int64, required)
    .addUniqueConstraint('notification_mails_unique', ['user_id', 'deduplication_key'])
    .execute();
  const index = (name: string) => trx.schema.createIndex(name).on('notification_mails');
  await index('notification_mails_of_mail').column('mail_id').execute();
  await index('notification_mails_by_user').columns(['user_id', 'send_at']).execute();
  await index('notification_mails_by_age').column('send_at').execute();
}
