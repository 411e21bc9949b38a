import {
  type AdminNotificationType,
  TOPICS,
  type Topic,
  type TopicRule,
  type UserNotificationType,
} from '../../contract/notifications.ts';
import type { AccountAccess } from '../accounts/account-store.ts';
import type { EventWriter, NewEvent } from '../event-log/event-log.ts';
import type { Clock } from '../platform/clock.ts';
import { afterCommit } from '../platform/db/database.ts';
import { toWellFormedText } from '../platform/text.ts';
import type { Trx } from '../tables.ts';
import { isConsolePath } from './announcements.ts';
import type { PreferenceStore, ReadStateStore } from './inbox.ts';
import type { MailEnqueuer } from './mails.ts';
import type { ChangeSignals, NotificationStore } from './notification-store.ts';

/** A text in both languages; readers see their own. */
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
  /**
   * The event behind the notification, for every subscriber to events. Written whatever the account's preferences are.
   */
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
  /** The account that caused the event, which is not notified. */
  readonly exceptUserId?: number;
}

/** Whom a notification reaches. */
export interface Recipients {
  readonly ids: readonly number[];
  /** Name of the organization whose account was notified. */
  readonly organization?: string;
}

/**
 * Lets other capabilities notify an account inside the transaction of the event, so that both are committed or neither.
 */
export interface Notifier {
  notify(trx: Trx, notice: Notice): Promise<void>;
}

/** Lets other capabilities notify all administrators. */
export interface AdminNotifier {
  notifyAdministrators(trx: Trx, notice: AdminNotice): Promise<void>;
}

/**
 * Maximum length of stored texts, in code points. Failure reasons and names come from vendors and callers and can have
 * any length.
 */
const MAX_TITLE_LENGTH = 200;
const MAX_CONTENT_LENGTH = 2_000;

interface NotificationWriterDependencies {
  readonly notifications: NotificationStore;
  readonly readStates: ReadStateStore;
  readonly preferences: PreferenceStore;
  /** Undefined: no mails are sent. */
  readonly mails?: MailEnqueuer;
  readonly access: Pick<AccountAccess, 'listAdministrators'>;
  /** Whom a notification to an account reaches; default: the account. */
  readonly recipientsOf?: (trx: Trx, userId: number) => Promise<Recipients>;
  readonly changeSignals: Pick<ChangeSignals, 'notifyChanged'>;
  readonly events: EventWriter;
  readonly clock: Clock;
}

/** Writes a notification and its count in the transaction of the event, and signals open streams after the commit. */
export class NotificationWriter implements Notifier, AdminNotifier {
  readonly #dependencies: NotificationWriterDependencies;
  constructor(dependencies: NotificationWriterDependencies) {
    this.#dependencies = dependencies;
  }

  async notify(trx: Trx, notice: Notice): Promise<void> {
    await this.#writeEvent(trx, notice, notice.userId);
    const recipients = await this.#dependencies.recipientsOf?.(trx, notice.userId);
    const { ids, organization } = recipients ?? { ids: [notice.userId] };
    const named = organization === undefined ? notice : { ...notice, title: withName(organization, notice.title) };
    for (const id of ids) await this.#write(trx, id, 0, named);
  }

  async notifyAdministrators(trx: Trx, notice: AdminNotice): Promise<void> {
    await this.#writeEvent(trx, notice);
    const forAdmin = notice.type === 'system' ? 0 : 1;
    for (const id of await this.#dependencies.access.listAdministrators(trx))
      if (id !== notice.exceptUserId) await this.#write(trx, id, forAdmin, notice);
  }

  async #write(trx: Trx, userId: number, forAdmin: 0 | 1, notice: Notice | AdminNotice): Promise<void> {
    const { notifications, readStates, mails, changeSignals, clock } = this.#dependencies;
    if (!isConsolePath(notice.targetUrl)) throw new TypeError('the target of a notification is not a console path');
    const wanted = await this.#channelsOf(trx, userId, notice.topic);
    if (!wanted.inApp && !wanted.mail) return;
    const texts = {
      title_en: truncateText(notice.title.en, MAX_TITLE_LENGTH),
      content_en: truncateText(notice.content.en, MAX_CONTENT_LENGTH),
      title_zh: truncateText(notice.title['zh-CN'], MAX_TITLE_LENGTH),
      content_zh: truncateText(notice.content['zh-CN'], MAX_CONTENT_LENGTH),
      target_url: notice.targetUrl,
    };
    const deduplicationKey = notice.deduplicationKey ?? null;
    // Also locks the inbox, so that the mails of an account are written one after another.
    await readStates.adjustCounts(trx, userId, forAdmin, wanted.inApp ? 1 : 0);
    const id = wanted.inApp
      ? await notifications.insert(trx, {
          ...texts,
          user_id: userId,
          for_admin: forAdmin,
          type: notice.type,
          topic: notice.topic,
          related_id: notice.relatedId ?? 0,
          deduplication_key: deduplicationKey,
          created_at: clock.now(),
        })
      : undefined;
    if (wanted.inApp && id === undefined) {
      await readStates.adjustCounts(trx, userId, forAdmin, -1);
      return;
    }
    if (id !== undefined) afterCommit(trx, () => changeSignals.notifyChanged(userId));
    if (wanted.mail)
      await mails?.add(trx, { userId, topic: notice.topic, texts, notificationId: id, deduplicationKey });
  }

  async #writeEvent(trx: Trx, { event, deduplicationKey }: Notice | AdminNotice, userId?: number): Promise<void> {
    if (event !== undefined) await this.#dependencies.events.write(trx, { ...event, userId, deduplicationKey });
  }

  /**
   * The channels on which the account wants the topic. Without mail, topics that cannot be switched off cost no query.
   */
  async #channelsOf(trx: Trx, userId: number, topic: Topic): Promise<{ inApp: boolean; mail: boolean }> {
    const { preferences, mails } = this.#dependencies;
    const rule: TopicRule = TOPICS[topic];
    const hasMail = mails?.isEnabled === true;
    if (rule.locked && (!hasMail || rule.urgent === true)) return { inApp: true, mail: hasMail };
    const said = await preferences.find(trx, userId, topic);
    return {
      inApp: rule.locked || said.in_app !== 0,
      mail: hasMail && (said.mail === null ? rule.mail : said.mail === 1),
    };
  }
}

/** The recipients have accounts of their own, and may administer several organizations. */
const withName = (organization: string, title: Bilingual): Bilingual => ({
  en: `${organization}: ${title.en}`,
  'zh-CN': `${organization}：${title['zh-CN']}`,
});

/** Makes a text storable (no lone surrogates or NUL) and cuts it between characters. */
function truncateText(text: string, maxLength: number): string {
  const clean = toWellFormedText(text);
  if (clean.length <= maxLength) return clean;
  const points = [...clean];
  return points.length <= maxLength ? clean : `${points.slice(0, maxLength - 1).join('')}…`;
}
