import type { AdminNotifier, Bilingual } from '../notifications/notifier.ts';
import type { Clock } from '../platform/clock.ts';
import type { Database } from '../platform/db/database.ts';
import { type Log, maskSecrets } from '../platform/log.ts';
import type { Tables } from '../tables.ts';
import type { ChannelNews } from './channels.ts';

const DAY_MS = 86_400_000;

/** Rests that end only when an administrator does something; overload passes by itself. */
const NEEDS_SOMEBODY: Partial<Record<ChannelNews['outcome'], Bilingual>> = {
  auth: { en: 'The vendor refuses its credentials', 'zh-CN': '供应商拒绝其凭证' },
  billing: { en: 'The account at the vendor has nothing left to spend', 'zh-CN': '供应商账户余额不足' },
  model: { en: 'The vendor does not serve this model to it', 'zh-CN': '供应商未向其提供该模型' },
};

export interface RestNoticeParts {
  readonly database: Database<Tables>;
  readonly notifier: AdminNotifier;
  readonly clock: Clock;
  readonly log: Log;
}

/** Tells the administrators, once a day for a channel and a reason, whichever process finds out. Never throws. */
export function makeRestNotices({ database, notifier, clock, log }: RestNoticeParts) {
  return async (news: ChannelNews, name: string): Promise<void> => {
    const why = NEEDS_SOMEBODY[news.outcome];
    if (why === undefined) return;
    const { channelId, model = '', outcome, message = '' } = news;
    const about = outcome === 'model' && model !== '' ? ` (${model})` : '';
    const words = message === '' ? '' : `: ${maskSecrets(message)}`;
    await database
      .transaction((trx) =>
        notifier.notifyAdministrators(trx, {
          type: 'system',
          topic: 'channel.resting',
          title: { en: `Channel “${name}” rests`, 'zh-CN': `渠道“${name}”已暂停使用` },
          content: { en: `${why.en}${about}${words}`, 'zh-CN': `${why['zh-CN']}${about}${words}` },
          targetUrl: '/admin/channels',
          relatedId: channelId,
          onceKey: `channel.resting:${channelId}:${outcome}:${about}:${Math.floor(clock.now() / DAY_MS)}`,
        }),
      )
      .catch((error: unknown) => log.warn({ err: error, channelId }, 'nobody could be told that a channel rests'));
  };
}
