import { type AmountUnit, formatAmount } from '../../contract/format-amounts.ts';
import type { Localized } from '../../contract/localized-messages/format-message.ts';
import { defined } from '../../contract/omit-undefined.ts';
import { AppError } from '../platform/app-error.ts';

interface Shortage {
  /** Quota. */
  readonly needed: number;
  /** Quota that is left. */
  readonly available: number;
  /** Of the API key whose own limit is reached, in quota; absent: the account has too little. */
  readonly limit?: number;
}

/** `quota_not_enough` with amounts as people read them: clients show its message to who uses them. */
export const notEnoughError = ({ needed, available, limit }: Shortage, unit: AmountUnit): AppError =>
  new AppError(
    'quota_not_enough',
    defined({
      messageKey: limit === undefined ? undefined : ('token_limit_reached' as const),
      params: defined({
        needed: localizeAmount(needed, unit),
        available: localizeAmount(available, unit),
        limit: limit === undefined ? undefined : localizeAmount(limit, unit),
      }),
    }),
  );

/** Formatted only in the language that is read: a busy caller without credits is refused many times a second. */
const localizeAmount = (quota: number, unit: AmountUnit): Localized => ({
  get en() {
    return formatAmount(quota, unit, 'en', 'exact');
  },
  get 'zh-CN'() {
    return formatAmount(quota, unit, 'zh-CN', 'exact');
  },
});
