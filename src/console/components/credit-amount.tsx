import { Text, type TextProps } from '@mantine/core';
import { type AmountUnit, amountUnitName, formatAmount, formatAmountNumber } from '../../contract/amounts.ts';
import { useStatus } from '../data/self.ts';
import { currentLanguage } from '../strings/language.ts';

interface CreditAmountProps extends TextProps {
  readonly value: number;
  /** Whether the unit may wrap onto its own line if there is little space. */
  readonly wraps?: boolean;
}

/** An amount of quota, in the currency of the site, or in credits where it has none. */
export function CreditAmount({ value, wraps = false, ...text }: CreditAmountProps) {
  const format = useFormatCredits();
  return (
    <Text
      component="span"
      inherit
      {...text}
      style={{ fontVariantNumeric: 'tabular-nums', whiteSpace: wraps ? 'normal' : 'nowrap' }}
    >
      {format(value)}
    </Text>
  );
}

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
