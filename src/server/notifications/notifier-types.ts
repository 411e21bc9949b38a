import type {
  AdminNotificationType,
  Topic,
  UserNotificationType,
} from '../../contract/notifications-preferences-and-announcements.ts';
import type { NewEvent } from '../event-log/event-writer.ts';
import type { Trx } from '../tables.ts';

/** A text in both languages; a reader is shown his own. */
export interface Bilingual {
  readonly en: string;
  readonly 'zh-CN': string;
}

interface NoticeContent {
  readonly title: Bilingual;
  readonly content: Bilingual;
  /** A path of the console such as `/tasks/task_…`; empty: not a link. */
  readonly targetUrl: string;
  readonly relatedId?: number;
  /** An account gets at most one notification with this key, and at most one event. */
  readonly deduplicationKey?: string;
  /** The event it reports, for everybody who reads events. It is written whatever the account's preferences are. */
  readonly event?: Pick<NewEvent, 'type' | 'subject' | 'data'>;
}

/** A notification to one account. The account can switch off its `topic`; `type` is the contract's field. */
export interface Notice extends NoticeContent {
  readonly userId: number;
  readonly topic: Topic;
  readonly type: UserNotificationType;
}

/** A notification to all administrators: a to-do, or (`system`) an event that the service itself detected. */
export interface AdminNotice extends NoticeContent {
  readonly type: AdminNotificationType | 'system';
  readonly topic: 'ticket' | 'beta' | 'channel.resting' | 'billing.difference' | 'storage.full';
  /** The account that caused the event and needs no notification of it. */
  readonly exceptUserId?: number;
}

/** How other capabilities notify an account: inside the transaction of the event, so that both are committed or neither. */
export interface Notifier {
  notify(trx: Trx, notice: Notice): Promise<void>;
}

export interface AdminNotifier {
  notifyAdministrators(trx: Trx, notice: AdminNotice): Promise<void>;
}
