import type { Notifier } from '../notifications/notifier.ts';
import type { Clock } from '../platform/clock.ts';
import type { SpendWatch } from './quota.ts';
import { dayOf } from './rules.ts';

/** Tells an account, once a day at most, that its wallet has fallen below `threshold`; 0: never. */
export function makeLowQuotaWatch(notifier: Notifier, clock: Clock, threshold: number): SpendWatch {
  return async (trx, userId, { before, after }) => {
    if (before < threshold || after >= threshold) return;
    await notifier.notify(trx, {
      userId,
      topic: 'quota.low',
      type: 'system',
      title: { en: 'Your quota is running low', 'zh-CN': '您的额度即将用尽' },
      content: { en: `${after} quota is left in your wallet.`, 'zh-CN': `钱包剩余额度：${after}。` },
      targetUrl: '/account/overview',
      onceKey: `quota.low:${dayOf(clock.now())}`,
    });
  };
}
