import { DAY_MS, toSeconds } from '../../contract/time-units.ts';
import type { EventWriter } from '../event-log/event-writer.ts';
import type { Notice, Notifier } from '../notifications/notifier-types.ts';
import type { Clock } from '../platform/clock.ts';
import type { Database } from '../platform/db/database.ts';
import type { Tables } from '../tables.ts';
import type { ChannelDirectory, Retirement } from './channel-directory-types.ts';

export interface RetirementNoticesDependencies {
  readonly database: Database<Tables>;
  readonly channels: Pick<ChannelDirectory, 'listModels' | 'retirement'>;
  readonly notifier: Notifier;
  readonly events: EventWriter;
  readonly usage: { usersOf(model: string, fromDay: number): Promise<number[]> };
  readonly clock: Clock;
}

/** Days before the end at which owners of keys that used a model are told. */
const NOTICE_DAYS = [60, 30, 7, 1];
/** An account that has not used it for so long is not told. */
const USED_WITHIN_DAYS = 60;

/** Tells accounts and administrators of models that end. Each notice is written once, by the process that is first. */
export class UserRetirementNotices {
  readonly #dependencies: RetirementNoticesDependencies;
  /** Written by this process; those of others are found by their keys. */
  readonly #written = new Set<string>();
  constructor(dependencies: RetirementNoticesDependencies) {
    this.#dependencies = dependencies;
  }

  /** Called every now and then; writes only when a notice is due that this process has not written. */
  async send(): Promise<void> {
    const { channels, clock } = this.#dependencies;
    for (const { id } of await channels.listModels()) {
      const retirement = await channels.retirement(id);
      if (retirement === undefined || retirement.at <= clock.now()) continue;
      const daysLeft = Math.ceil((retirement.at - clock.now()) / DAY_MS);
      const due = NOTICE_DAYS.findLast((days) => daysLeft <= days);
      const key = `model.retiring:${id}:${retirement.at}:${due}`;
      if (due === undefined || this.#written.has(key)) continue;
      await this.#write(id, retirement, daysLeft, key);
      this.#written.add(key);
    }
  }

  async #write(model: string, { at, successor }: Retirement, daysLeft: number, key: string): Promise<void> {
    const { database, notifier, events, usage, clock } = this.#dependencies;
    const users = await usage.usersOf(model, Math.floor(clock.now() / DAY_MS) - USED_WITHIN_DAYS);
    for (const userId of users)
      await database.transaction((trx) => notifier.notify(trx, toNotice(userId, model, successor, daysLeft, key)));
    await database.transaction((trx) =>
      events.write(trx, {
        type: 'model.retiring',
        subject: `model:${model}`,
        data: { model, retires_at: toSeconds(at), successor: successor ?? null, accounts: users.length },
        deduplicationKey: key,
      }),
    );
  }
}

function toNotice(
  userId: number,
  model: string,
  successor: string | undefined,
  daysLeft: number,
  deduplicationKey: string,
): Notice {
  const next =
    successor === undefined
      ? { en: '', 'zh-CN': '' }
      : { en: ` Its successor is ${successor}.`, 'zh-CN': `其后继为 ${successor}。` };
  const days = { en: daysLeft === 1 ? 'one day' : `${daysLeft} days`, 'zh-CN': `${daysLeft} 天` };
  return {
    userId,
    topic: 'system',
    type: 'system',
    title: { en: `${model} ends in ${days.en}`, 'zh-CN': `${model} 将在 ${days['zh-CN']}后停止服务` },
    content: {
      en: `Its vendor stops serving it, and calls are rejected from then on.${next.en}`,
      'zh-CN': `供应商将停止提供该模型，此后的调用会被拒绝。${next['zh-CN']}`,
    },
    targetUrl: '',
    deduplicationKey,
  };
}
