import type { Transaction } from 'kysely';
import type { AdminNotificationType, Topic, UserNotificationType } from '../../contract/notifications.ts';
import type { Tables } from '../tables.ts';

/** Both languages are written; the reader's is shown. */
export interface Bilingual {
  readonly en: string;
  readonly 'zh-CN': string;
}

interface Told {
  readonly title: Bilingual;
  readonly content: Bilingual;
  /** A path of the console such as `/tasks/task_…`; empty = not navigable. */
  readonly targetUrl: string;
  readonly relatedId?: number;
  /** The same key twice makes one notification. */
  readonly onceKey?: string;
}

/** What an account can be told of. `topic` decides its preference; `type` is the contract's word. */
export interface Notice extends Told {
  readonly userId: number;
  readonly topic: Topic;
  readonly type: UserNotificationType;
}

/** For every administrator: a to-do, or (`system`) something the service itself has noticed. */
export interface AdminNotice extends Told {
  readonly type: AdminNotificationType | 'system';
  readonly topic: 'ticket' | 'beta' | 'channel.resting';
  /** The one account that knows already; undefined: the service itself. */
  readonly causedBy?: number;
}

/** The way into the notification center from every other part; inside the transaction of the event it tells of. */
export interface Notifier {
  notify(trx: Transaction<Tables>, notice: Notice): Promise<void>;
}

export interface AdminNotifier {
  notifyAdministrators(trx: Transaction<Tables>, notice: AdminNotice): Promise<void>;
}
