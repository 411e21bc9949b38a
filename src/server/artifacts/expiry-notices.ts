import { DAY_MS, toSeconds } from '../../contract/time-units.ts';
import type { EventWriter, NewEvent } from '../event-log/event-log.ts';
import type { Notifier } from '../notifications/notifier.ts';
import type { Clock } from '../platform/clock.ts';
import type { Database } from '../platform/db/database.ts';
import type { Tables } from '../tables.ts';
import type { EndingCopy, ExpiryNoticeStore } from './artifact-store.ts';

/** Returns the subject and the data of a video's events; undefined if the video no longer exists. */
export type DescribeVideo = (taskId: string) => Promise<Pick<NewEvent, 'subject' | 'data'> | undefined>;

/** Dependencies of {@link ExpiryNotices}. */
export interface ExpiryNoticesDependencies {
  readonly database: Database<Tables>;
  readonly store: ExpiryNoticeStore;
  readonly events: EventWriter;
  readonly notifier: Notifier;
  readonly clock: Clock;
}

/** Time before a copy's expiry; a copy with a lifetime shorter than twice this is announced halfway through. */
export const NOTICE_MS = 3 * DAY_MS;
const BATCH = 100;

/** Notifies owners of stored videos that expire soon: one event per video, and one notification a day. */
export class ExpiryNotices {
  readonly #dependencies: ExpiryNoticesDependencies;
  constructor(dependencies: ExpiryNoticesDependencies) {
    this.#dependencies = dependencies;
  }

  /** Called periodically in every process; each copy is announced once. */
  async send(describe: DescribeVideo): Promise<void> {
    const { store, clock } = this.#dependencies;
    for (;;) {
      const ending = await store.listEnding(clock.now(), NOTICE_MS, BATCH);
      for (const [userId, copies] of Map.groupBy(ending, ({ user_id }) => user_id))
        await this.#tell(userId, copies, describe);
      if (ending.length < BATCH) return;
    }
  }

  async #tell(userId: number, copies: readonly EndingCopy[], describe: DescribeVideo): Promise<void> {
    const { database, store, events, notifier, clock } = this.#dependencies;
    const described = new Map(
      await Promise.all(copies.map(async ({ task_id }) => [task_id, await describe(task_id)] as const)),
    );
    await database.transaction(async (trx) => {
      const mine = await store.markAnnounced(
        trx,
        copies.map(({ id }) => id),
      );
      for (const { task_id, expires_at } of mine) {
        const video = described.get(task_id);
        if (video === undefined) continue;
        const data = { ...video.data, expires_at: toSeconds(expires_at ?? 0) };
        await events.write(trx, { type: 'video.expiring', userId, subject: video.subject, data });
      }
      if (mine.some(({ task_id }) => described.get(task_id) !== undefined))
        await notifier.notify(trx, toNotice(userId, clock.now()));
    });
  }
}

const toNotice = (userId: number, now: number) =>
  ({
    userId,
    topic: 'video.expiring',
    type: 'system',
    title: { en: 'Stored videos will be removed soon', 'zh-CN': '部分已存储的视频即将被移除' },
    content: {
      en: 'Some of your videos reach the end of their storage time within three days. Download those you want to keep.',
      'zh-CN': '您的部分视频将在三天内到达存储期限。请下载需要保留的视频。',
    },
    targetUrl: '/videos',
    deduplicationKey: `video.expiring:${Math.floor(now / DAY_MS)}`,
  }) as const;
