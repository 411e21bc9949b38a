import { type AmountUnit, amountUnitName, formatAmount, formatAmountNumber } from '../../contract/amounts.ts';
import { useStatus } from '../data/signed-in-user-and-site-queries.ts';
import { currentLanguage } from '../strings/init-and-change-language.ts';

/** What the site writes amounts in. */
export function useAmountUnit(): AmountUnit {
  const { quota_per_unit: quotaPerCredit = 500_000, currency = '' } = useStatus().data ?? {};
  return { quotaPerCredit, currency };
}

/** Its name, as it stands beside a field. */
export const useAmountUnitName = (): string => amountUnitName(useAmountUnit(), currentLanguage());

export function useFormatCredits(): (quota: number) => string {
  const unit = useAmountUnit();
  return (quota) => formatAmount(quota, unit, currentLanguage());
}

/** The same for a price per unit, with all its decimals. */
export function useFormatPrice(): (quota: number) => string {
  const unit = useAmountUnit();
  return (quota) => formatAmount(quota, unit, currentLanguage(), 'exact');
}

/** Without the word for credits: in charts and formulas. */
export function useFormatAmountNumber(precision?: 'exact'): (quota: number) => string {
  const unit = useAmountUnit();
  return (quota) => formatAmountNumber(quota, unit, currentLanguage(), precision);
}
