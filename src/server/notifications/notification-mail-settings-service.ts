import type { Locale } from '../../contract/localized-messages/format-message.ts';
import { defined } from '../../contract/omit-undefined.ts';
import type { NotificationMailEnqueuerDependencies } from './group-and-enqueue-mails.ts';
import { formatTimeOfDay, parseTimeOfDay } from './mail-schedule.ts';
import { type NotificationMailStore, toLocale } from './notification-mail-store.ts';

/** `07:30`, in the time zone of the account. */
type TimeOfDay = string;

export interface MailSettingsChange {
  readonly digest_at?: TimeOfDay | null;
  readonly quiet_hours?: { readonly from: TimeOfDay; readonly to: TimeOfDay } | null;
  readonly language?: Locale;
}

export interface NotificationMailSettingsServiceDependencies
  extends Pick<NotificationMailEnqueuerDependencies, 'mailer' | 'findRecipient'> {
  readonly store: NotificationMailStore;
  readonly defaultLocale: Locale;
}

/** When and in which language an account gets its notifications by mail. */
export class NotificationMailSettingsService {
  readonly #dependencies: NotificationMailSettingsServiceDependencies;
  constructor(dependencies: NotificationMailSettingsServiceDependencies) {
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

  /** Changes the named keys. */
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
