import type { Insertable, Selectable } from 'kysely';
import type { Locale } from '../../contract/messages/format-message.ts';
import { TOPICS, type Topic, type TopicRule } from '../../contract/notifications.ts';
import { defined } from '../../contract/objects.ts';
import { DAY_MS } from '../../contract/time-units.ts';
import type { Mailer, MailText } from '../mail/mail-queue.ts';
import { type Clock, zonedTime } from '../platform/clock.ts';
import type { Database } from '../platform/db/database.ts';
import { deleteOldRows, wasChanged } from '../platform/db/sql.ts';
import { randomText } from '../platform/tokens.ts';
import type { Executor, Tables, Trx } from '../tables.ts';

/** The address for an account's mails. */
interface MailRecipient {
  /** Confirmed by its owner. */
  readonly email: string;
  /** IANA name. */
  readonly timeZone: string;
}

/** Dependencies of {@link MailEnqueuer}. */
export interface MailEnqueuerDependencies {
  readonly store: NotificationMailStore;
  readonly mailer: Mailer;
  /** Undefined: the account is disabled, or has no confirmed address. */
  readonly findRecipient: (userId: number, db?: Executor) => Promise<MailRecipient | undefined>;
  readonly baseUrl: string;
  readonly defaultLocale: Locale;
  readonly clock: Clock;
}

/** The texts and target of a notification. */
type NotificationTexts = Pick<MailItem, 'title_en' | 'content_en' | 'title_zh' | 'content_zh' | 'target_url'>;

/** One notification to mail. */
interface MailedNotification {
  readonly userId: number;
  readonly topic: Topic;
  readonly texts: NotificationTexts;
  /** Its row in the inbox; undefined if the account has switched the topic off there. */
  readonly notificationId: number | undefined;
  /** An account gets at most one mail with this key. */
  readonly deduplicationKey: string | null;
}

const KIND = 'notifications';
/** A mail delayed longer than this is outdated and dropped. */
const EXPIRES_MS = 3 * DAY_MS;

/**
 * Mails notifications: groups several of an account into one mail, which waits for the end of the quiet hours or the
 * digest.
 */
export class MailEnqueuer {
  readonly #dependencies: MailEnqueuerDependencies;
  constructor(dependencies: MailEnqueuerDependencies) {
    this.#dependencies = dependencies;
    dependencies.mailer.registerKind(KIND, ({ locale, params }) =>
      this.#render(params.mail ?? '', Number(params.user), locale),
    );
  }

  get isEnabled(): boolean {
    return this.#dependencies.mailer.isEnabled;
  }

  /** Called in the transaction of the event, after the account's inbox was locked. */
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
    // Locks the mail against the process that would send it, and detects one that was sent or is being sent.
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

  async #render(mailId: string, userId: number, locale: Locale): Promise<MailText | undefined> {
    const { store, findRecipient, baseUrl } = this.#dependencies;
    // The account may have been disabled, or its address changed while the mail waited for the digest: the notifications
    // added since are in this mail.
    const recipient = await findRecipient(userId);
    if (recipient === undefined) return undefined;
    const items = await store.listUnread(mailId);
    const service = { site: new URL(baseUrl).host, baseUrl };
    return items.length === 0 ? undefined : { ...toMailText(items, locale, service), recipient: recipient.email };
  }
}

/** When an account gets its notifications by mail. Times of day are minutes after midnight in its time zone. */
interface MailSchedule {
  /** Null: no digest, each soon after it was written. */
  readonly digestAt: number | null;
  /**
   * No mail is sent between the two, spanning midnight if the end is smaller; null: no quiet hours. Both null or
   * neither.
   */
  readonly quietFrom: number | null;
  readonly quietTo: number | null;
}

/** Delay that groups concurrent notifications into one mail. */
export const COLLECT_MS = 60_000;

/**
 * When a notification's mail is sent: with the next digest, else a minute later or at the end of the quiet hours.
 * Urgent notifications are sent immediately instead.
 *
 * @param now Unix milliseconds
 * @param zone IANA name
 */
export function mailTime(now: number, { digestAt, quietFrom, quietTo }: MailSchedule, zone: string): number {
  if (digestAt !== null) return nextTimeOfDay(now, digestAt, zone);
  const at = now + COLLECT_MS;
  if (quietFrom === null || quietTo === null || !isWithin(minuteOfDay(at, zone), quietFrom, quietTo)) return at;
  return nextTimeOfDay(at, quietTo, zone);
}

function minuteOfDay(unixMs: number, zone: string): number {
  const { hour, minute } = zonedTime(unixMs, zone);
  return hour * 60 + minute;
}

const isWithin = (minute: number, from: number, to: number): boolean =>
  from <= to ? from <= minute && minute < to : from <= minute || minute < to;

/** The first such time of day after `unixMs`. A time skipped by a clock change is shifted by the length of the gap. */
function nextTimeOfDay(unixMs: number, minutes: number, zone: string): number {
  const now = zonedTime(unixMs, zone);
  const today = now.toPlainDate();
  const time = new Temporal.PlainTime(Math.floor(minutes / 60), minutes % 60);
  for (let days = 0; ; days += 1) {
    const at = today.add({ days }).toZonedDateTime({ timeZone: now.timeZoneId, plainTime: time }).epochMilliseconds;
    if (at > unixMs) return at;
  }
}

/** Parses `07:30` to minutes after midnight. */
export function parseTimeOfDay(text: string): number {
  const [hours = '', minutes = ''] = text.split(':');
  return Number(hours) * 60 + Number(minutes);
}

/** Formats minutes after midnight as `07:30`. */
export const formatTimeOfDay = (minutes: number): string =>
  `${String(Math.floor(minutes / 60)).padStart(2, '0')}:${String(minutes % 60).padStart(2, '0')}`;

interface Service {
  /** Public host name of the service, so that recipients with accounts at several services know the sender. */
  readonly site: string;
  /** Without a trailing slash. */
  readonly baseUrl: string;
}

/** Further notifications are only counted. */
const MAX_ITEMS = 50;

const TEXTS = {
  en: {
    many: (count: number, site: string) => `${count} notifications from ${site}`,
    more: (count: number) => `… and ${count} more: see the notifications in the console.`,
    footer: 'Choose which notifications are e-mailed, when and in which language:',
  },
  'zh-CN': {
    many: (count: number, site: string) => `${site} 的 ${count} 条通知`,
    more: (count: number) => `……另有 ${count} 条，请在控制台查看。`,
    footer: '设置哪些通知发送邮件、发送时间和语言：',
  },
} as const satisfies Record<Locale, unknown>;

/** Renders the mail of some notifications, oldest first. */
function toMailText(items: readonly MailItem[], locale: Locale, { site, baseUrl }: Service): MailText {
  const texts = TEXTS[locale];
  const shown = items.slice(0, MAX_ITEMS).map((item) => {
    const [title, content] = locale === 'zh-CN' ? [item.title_zh, item.content_zh] : [item.title_en, item.content_en];
    const link = item.target_url === '' ? [] : [`${baseUrl}${item.target_url}`];
    return { title, text: [title, content, ...link].filter((line) => line !== '').join('\n') };
  });
  const more = items.length > MAX_ITEMS ? [texts.more(items.length - MAX_ITEMS)] : [];
  const [only] = shown;
  return {
    subject:
      shown.length === 1 && only !== undefined ? `${toOneLine(only.title)} · ${site}` : texts.many(items.length, site),
    text: `${[...shown.map(({ text }) => text), ...more].join('\n\n')}\n\n-- \n${texts.footer}\n${baseUrl}/notifications/settings\n`,
  };
}

/** A subject is one line (RFC 5322 section 2.2). */
const toOneLine = (text: string): string => text.replace(/\s+/g, ' ').trim();

/** `07:30`, in the time zone of the account. */
type TimeOfDay = string;

interface MailSettingsChange {
  readonly digest_at?: TimeOfDay | null;
  readonly quiet_hours?: { readonly from: TimeOfDay; readonly to: TimeOfDay } | null;
  readonly language?: Locale;
}

interface MailSettingsDependencies extends Pick<MailEnqueuerDependencies, 'mailer' | 'findRecipient'> {
  readonly store: NotificationMailStore;
  readonly defaultLocale: Locale;
}

/** When and in which language an account gets its notifications by mail. */
export class MailSettingsService {
  readonly #dependencies: MailSettingsDependencies;
  constructor(dependencies: MailSettingsDependencies) {
    this.#dependencies = dependencies;
  }

  async get(userId: number) {
    const { store, mailer, findRecipient, defaultLocale } = this.#dependencies;
    const [settings, recipient] = await Promise.all([store.settings(userId), findRecipient(userId)]);
    const { digest_at: digestAt, quiet_from: from, quiet_to: to } = settings;
    return {
      available: mailer.isEnabled,
      email: recipient?.email ?? null,
      time_zone: recipient?.timeZone ?? null,
      digest_at: digestAt === null ? null : formatTimeOfDay(digestAt),
      quiet_hours: from === null || to === null ? null : { from: formatTimeOfDay(from), to: formatTimeOfDay(to) },
      language: toLocale(settings.language, defaultLocale),
    };
  }

  /** Changes only the named keys. */
  async put(userId: number, { digest_at: digest, quiet_hours: quiet, language }: MailSettingsChange): Promise<void> {
    const change = defined({
      language,
      digest_at: digest == null ? digest : parseTimeOfDay(digest),
      quiet_from: quiet == null ? quiet : parseTimeOfDay(quiet.from),
      quiet_to: quiet == null ? quiet : parseTimeOfDay(quiet.to),
    });
    if (Object.keys(change).length > 0) await this.#dependencies.store.putSettings(userId, change);
  }
}

type MailSettingsRow = Selectable<Tables['notification_mail_settings']>;
type MailItem = Selectable<Tables['notification_mails']>;

/** Without delays, and in the language of the service. */
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

  /** The account's newest mail to be sent after `now` and not after `until`. */
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

  /** @returns false if the account was already mailed a notification with its key */
  async insert(trx: Trx, item: Insertable<Tables['notification_mails']>): Promise<boolean> {
    const result = await trx
      .insertInto('notification_mails')
      .values(item)
      .onConflict((conflict) => conflict.columns(['user_id', 'deduplication_key']).doNothing())
      .executeTakeFirst();
    return wasChanged(result);
  }

  /** The notifications of a mail, oldest first, without those since read in the console. */
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

  /** Deletes up to `limit` rows with a send time before `before`. @returns the number of deleted rows */
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
const toLocale = (language: string | null, fallback: Locale): Locale =>
  language === 'en' || language === 'zh-CN' ? language : fallback;
