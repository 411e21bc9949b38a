import type { Locale } from '../../contract/localized-messages/format-message.ts';
import { TOPICS, type Topic, type TopicRule } from '../../contract/notifications-preferences-and-announcements.ts';
import { DAY_MS } from '../../contract/time-units.ts';
import type { Mailer, MailText } from '../mail/mail-queue.ts';
import type { Clock } from '../platform/clock.ts';
import { randomText } from '../platform/tokens.ts';
import type { Executor, Trx } from '../tables.ts';
import { mailTime } from './mail-schedule.ts';
import { toMailText } from './mail-text.ts';
import { type MailItem, type NotificationMailStore, toLocale } from './notification-mail-store.ts';

/** Where mails of an account go. */
export interface MailRecipient {
  /** Confirmed by its owner. */
  readonly email: string;
  /** IANA name. */
  readonly timeZone: string;
}

export interface NotificationMailEnqueuerDependencies {
  readonly store: NotificationMailStore;
  readonly mailer: Mailer;
  /** Undefined: the account is disabled, or has confirmed no address. */
  readonly findRecipient: (userId: number, db?: Executor) => Promise<MailRecipient | undefined>;
  readonly baseUrl: string;
  readonly defaultLocale: Locale;
  readonly clock: Clock;
}

/** The words of a notification and where it leads. */
type NotificationTexts = Pick<MailItem, 'title_en' | 'content_en' | 'title_zh' | 'content_zh' | 'target_url'>;

/** One notification that is to be mailed. */
export interface MailedNotification {
  readonly userId: number;
  readonly topic: Topic;
  readonly texts: NotificationTexts;
  /** Its row in the inbox; undefined: the account does not want it there. */
  readonly notificationId: number | undefined;
  /** An account gets at most one mail with this key. */
  readonly deduplicationKey: string | null;
}

const KIND = 'notifications';
/** A mail that could not be sent for so long is old news. */
const EXPIRES_MS = 3 * DAY_MS;

/** Mails notifications: several of an account in one mail, held back in its quiet hours or until its digest. */
export class NotificationMailEnqueuer {
  readonly #dependencies: NotificationMailEnqueuerDependencies;
  constructor(dependencies: NotificationMailEnqueuerDependencies) {
    this.#dependencies = dependencies;
    dependencies.mailer.registerKind(KIND, ({ recipient, locale, params }) =>
      this.#render(params.mail ?? '', Number(params.user), recipient, locale),
    );
  }

  get isEnabled(): boolean {
    return this.#dependencies.mailer.isEnabled;
  }

  /** In the transaction of the event, after the inbox of the account was locked. */
  async add(trx: Trx, { userId, topic, texts, notificationId, deduplicationKey }: MailedNotification): Promise<void> {
    const { store, mailer, findRecipient, clock } = this.#dependencies;
    const recipient = await findRecipient(userId, trx);
    if (recipient === undefined) return;
    const settings = await store.settings(userId, trx);
    const now = clock.now();
    const rule: TopicRule = TOPICS[topic];
    const isUrgent = rule.urgent === true;
    const schedule = { digestAt: settings.digest_at, quietFrom: settings.quiet_from, quietTo: settings.quiet_to };
    const sendAt = isUrgent ? now : mailTime(now, schedule, recipient.timeZone);
    const waiting = isUrgent ? undefined : await store.findWaiting(trx, userId, now, sendAt);
    // Locks the mail against the process that would send it, and finds one that is being sent or has been.
    const isOpen = waiting !== undefined && (await mailer.isScheduled(trx, waiting.mail_id, waiting.send_at));
    const mail = isOpen ? { id: waiting.mail_id, sendAt: waiting.send_at } : { id: randomText(24), sendAt };
    const isNew = await store.insert(trx, {
      ...texts,
      mail_id: mail.id,
      user_id: userId,
      notification_id: notificationId ?? null,
      is_urgent: isUrgent ? 1 : 0,
      deduplication_key: deduplicationKey,
      send_at: mail.sendAt,
    });
    if (isNew && !isOpen)
      await mailer.enqueue(trx, {
        ...mail,
        kind: KIND,
        recipient: recipient.email,
        locale: toLocale(settings.language, this.#dependencies.defaultLocale),
        params: { mail: mail.id, user: String(userId) },
        expiresAt: sendAt + EXPIRES_MS,
      });
  }

  async #render(mailId: string, userId: number, email: string, locale: Locale): Promise<MailText | undefined> {
    const { store, findRecipient, baseUrl } = this.#dependencies;
    // The account was disabled, or has another address now.
    if ((await findRecipient(userId))?.email !== email) return undefined;
    const items = await store.listUnread(mailId);
    const service = { site: new URL(baseUrl).host, baseUrl };
    return items.length === 0 ? undefined : toMailText(items, locale, service);
  }
}
