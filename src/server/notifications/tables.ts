import type { Generated } from 'kysely';
import type { Migration } from '../platform/db/migrate.ts';

export interface NotificationTables {
  /** One row for each notification. `user_id` 0: an announcement to all accounts. */
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
   * Counts and read watermarks, one row for each account that ever got or marked a notification. Rows of `notifications`
   * up to a watermark count as read whatever `is_read` holds. A transaction that writes for an account locks this row
   * first, so that the ids of one account (and those of announcements, account 0) are committed in ascending order.
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
  /** Topics an account has switched off. */
  notification_preferences: { user_id: number; topic: string };
}

export const notificationMigrations: readonly Migration[] = [
  {
    id: '0060-notifications',
    async up(trx, { int64, bool, text, autoIncrement }) {
      await trx.schema
        .createTable('notifications')
        .addColumn('id', int64, autoIncrement)
        .addColumn('user_id', int64, (column) => column.notNull())
        .addColumn('for_admin', bool, (column) => column.notNull())
        .addColumn('type', text, (column) => column.notNull())
        .addColumn('topic', text, (column) => column.notNull())
        .addColumn('title_en', text, (column) => column.notNull())
        .addColumn('content_en', text, (column) => column.notNull())
        .addColumn('title_zh', text)
        .addColumn('content_zh', text)
        .addColumn('target_url', text, (column) => column.notNull())
        .addColumn('related_id', int64, (column) => column.notNull())
        .addColumn('is_read', bool, (column) => column.notNull())
        .addColumn('deduplication_key', text)
        .addColumn('created_at', int64, (column) => column.notNull())
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
      for (const name of [...count, ...watermarks])
        inboxes = inboxes.addColumn(name, int64, (column) => column.notNull().defaultTo(0));
      await inboxes.execute();
      await trx.schema
        .createTable('announcement_reads')
        .addColumn('user_id', int64, (column) => column.notNull())
        .addColumn('notification_id', int64, (column) => column.notNull())
        .addPrimaryKeyConstraint('announcement_reads_key', ['user_id', 'notification_id'])
        .execute();
      await trx.schema
        .createTable('notification_preferences')
        .addColumn('user_id', int64, (column) => column.notNull())
        .addColumn('topic', text, (column) => column.notNull())
        .addPrimaryKeyConstraint('notification_preferences_key', ['user_id', 'topic'])
        .execute();
    },
  },
];
