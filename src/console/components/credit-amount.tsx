import { Text, type TextProps } from '@mantine/core';
import { type AmountUnit, amountUnitName, formatAmount, formatAmountNumber } from '../../contract/amounts.ts';
import { useStatus } from '../data/self.ts';
import { currentLanguage } from '../strings/language.ts';

interface CreditAmountProps extends TextProps {
  readonly value: number;
  /** Lets the unit wrap onto its own line where space is tight. */
  readonly wraps?: boolean;
}

/** An amount of quota in the site's currency, or in credits if the site has none. */
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

/** The unit in which the site shows amounts. */
export function useAmountUnit(): AmountUnit {
  const { quota_per_unit: quotaPerCredit = 500_000, currency = '' } = useStatus().data ?? {};
  return { quotaPerCredit, currency };
}

/** Name of the site's unit, as shown in field labels. */
export const useAmountUnitName = (): string => amountUnitName(useAmountUnit(), currentLanguage());

/** Formats an amount of quota with the site's unit. */
export function useFormatCredits(): (quota: number) => string {
  const unit = useAmountUnit();
  return (quota) => formatAmount(quota, unit, currentLanguage());
}

/** Formats a price per unit, with all its decimals. */
export function useFormatPrice(): (quota: number) => string {
  const unit = useAmountUnit();
  return (quota) => formatAmount(quota, unit, currentLanguage(), 'exact');
}

/** Formats an amount without the word "credits", for charts and formulas. */
export function useFormatAmountNumber(precision?: 'exact'): (quota: number) => string {
  const unit = useAmountUnit();
  return (quota) => formatAmountNumber(quota, unit, currentLanguage(), precision);
}
