import type { Notifier } from '../notifications/notifier.ts';
import type { Clock } from '../platform/clock.ts';
import { dayOf } from './amount-rules.ts';
import type { SpendListener } from './ledger.ts';

/** A listener that notifies an account, at most once a day, when its wallet falls below `lowQuota()`; 0: never. */
export function notifyLowBalance(
  notifier: Notifier,
  clock: Clock,
  lowQuota: () => number,
  quotaPerUnit: number,
): SpendListener {
  const credits = (quota: number): string => (quota / quotaPerUnit).toFixed(2);
  return async (trx, userId, { before, after }) => {
    const threshold = lowQuota();
    if (before < threshold || after >= threshold) return;
    await notifier.notify(trx, {
      userId,
      topic: 'quota.low',
      type: 'system',
      title: { en: 'Your balance is running low', 'zh-CN': '您的余额即将用尽' },
      content: { en: `${credits(after)} credits are left.`, 'zh-CN': `剩余 ${credits(after)} 额度。` },
      targetUrl: '/account/overview',
      deduplicationKey: `quota.low:${dayOf(clock.now())}`,
      event: { type: 'wallet.low', subject: `wallet:${userId}`, data: { quota: after, threshold } },
    });
  };
}
