import { type AmountUnit, formatAmount } from '../../contract/format-amounts.ts';
import type { Notifier } from '../notifications/notifier-types.ts';
import type { Clock } from '../platform/clock.ts';
import type { SpendListener } from './reservation-and-ledger-types.ts';
import { dayOf } from './utc-days.ts';

/** A listener that notifies an account, at most once a day, when its wallet falls below `lowQuota()`; 0: never. */
export function notifyLowBalance(
  notifier: Notifier,
  clock: Clock,
  lowQuota: () => number,
  amountUnit: () => AmountUnit,
): SpendListener {
  return async (trx, userId, { before, after }) => {
    const threshold = lowQuota();
    if (before < threshold || after >= threshold) return;
    const left = (language: string): string => formatAmount(after, amountUnit(), language);
    await notifier.notify(trx, {
      userId,
      topic: 'quota.low',
      type: 'system',
      title: { en: 'Your balance is running low', 'zh-CN': '您的余额即将用尽' },
      content: { en: `${left('en')} left.`, 'zh-CN': `剩余 ${left('zh-CN')}。` },
      targetUrl: '/account/overview',
      deduplicationKey: `quota.low:${dayOf(clock.now())}`,
      event: { type: 'wallet.low', subject: `wallet:${userId}`, data: { quota: after, threshold } },
    });
  };
}
