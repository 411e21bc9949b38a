import { TOPICS, type Topic } from '../../contract/notifications.ts';
import type { AccountAccess } from '../accounts/account-access.ts';
import type { EventWriter } from '../events/event-log.ts';
import type { Clock } from '../platform/clock.ts';
import { afterCommit } from '../platform/db/after-commit.ts';
import { toWellFormedText } from '../platform/json.ts';
import type { Trx } from '../tables.ts';
import type { ChangeSignals } from './change-signals.ts';
import { isConsolePath } from './console-path.ts';
import type { InboxStore } from './inbox-store.ts';
import type { NotificationStore } from './notification-store.ts';
import type { AdminNotice, AdminNotifier, Notice, Notifier } from './notifier.ts';
import type { PreferenceStore } from './preference-store.ts';

/** Longest stored texts, in code points. Failure reasons and names come from vendors and callers and can be of any length. */
const MAX_TITLE_LENGTH = 200;
const MAX_CONTENT_LENGTH = 2_000;

export interface NotificationWriterDependencies {
  readonly notifications: NotificationStore;
  readonly inboxes: InboxStore;
  readonly preferences: PreferenceStore;
  readonly access: Pick<AccountAccess, 'listAdministrators'>;
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
    await this.#write(trx, notice.userId, 0, notice);
  }

  async notifyAdministrators(trx: Trx, notice: AdminNotice): Promise<void> {
    await this.#writeEvent(trx, notice);
    const forAdmin = notice.type === 'system' ? 0 : 1;
    for (const id of await this.#dependencies.access.listAdministrators(trx))
      if (id !== notice.exceptUserId) await this.#write(trx, id, forAdmin, notice);
  }

  async #write(trx: Trx, userId: number, forAdmin: 0 | 1, notice: Notice | AdminNotice): Promise<void> {
    const { notifications, inboxes, changeSignals, clock } = this.#dependencies;
    if (!isConsolePath(notice.targetUrl)) throw new TypeError('the target of a notification is not a console path');
    if (!(await this.#isTopicEnabled(trx, userId, notice.topic))) return;
    await inboxes.adjustCounts(trx, userId, forAdmin, 1);
    const id = await notifications.insert(trx, {
      user_id: userId,
      for_admin: forAdmin,
      type: notice.type,
      topic: notice.topic,
      title_en: truncateText(notice.title.en, MAX_TITLE_LENGTH),
      content_en: truncateText(notice.content.en, MAX_CONTENT_LENGTH),
      title_zh: truncateText(notice.title['zh-CN'], MAX_TITLE_LENGTH),
      content_zh: truncateText(notice.content['zh-CN'], MAX_CONTENT_LENGTH),
      target_url: notice.targetUrl,
      related_id: notice.relatedId ?? 0,
      deduplication_key: notice.deduplicationKey ?? null,
      created_at: clock.now(),
    });
    if (id === undefined) await inboxes.adjustCounts(trx, userId, forAdmin, -1);
    else afterCommit(trx, () => changeSignals.notifyChanged(userId));
  }

  async #writeEvent(trx: Trx, { event, deduplicationKey }: Notice | AdminNotice, userId?: number): Promise<void> {
    if (event !== undefined) await this.#dependencies.events.write(trx, { ...event, userId, deduplicationKey });
  }

  /** Locked topics cannot be switched off, so their preference is not read. */
  async #isTopicEnabled(trx: Trx, userId: number, topic: Topic): Promise<boolean> {
    return TOPICS[topic].locked || !(await this.#dependencies.preferences.isDisabled(trx, userId, topic));
  }
}

/** Makes a text storable (no lone surrogates or NUL) and cuts it between characters. */
function truncateText(text: string, maxLength: number): string {
  const clean = toWellFormedText(text);
  if (clean.length <= maxLength) return clean;
  const points = [...clean];
  return points.length <= maxLength ? clean : `${points.slice(0, maxLength - 1).join('')}…`;
}
