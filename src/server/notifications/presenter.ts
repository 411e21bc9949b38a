import type { Static } from 'typebox';
import type { Locale } from '../../contract/localized-messages/format-message.ts';
import type { Notification } from '../../contract/notifications-preferences-and-announcements.ts';
import { toSeconds } from '../../contract/time-units.ts';
import type { InboxItem } from './inbox-service.ts';

/** A notification in the reader's language. Announcements carry the reader's `user_id`, as every notification does. */
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
