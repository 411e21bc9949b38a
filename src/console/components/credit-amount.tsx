import { Text, type TextProps } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import {
  type AmountUnit,
  amountUnitName,
  formatAmount,
  formatAmountNumber,
  roundingOf,
} from '../../contract/amounts.ts';
import { isBelowDecimals } from '../data/format-values.ts';
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

/** Difference between the displayed total of a charge and the sum of its displayed lines, in quota. */
export function useRounding(lines: readonly { readonly quota: number }[], total: number, precision?: 'exact'): number {
  const unit = useAmountUnit();
  return roundingOf(
    lines.map(({ quota }) => quota),
    total,
    unit,
    precision,
  );
}

/** Formats an amount without the word "credits", for charts and formulas. */
export function useFormatAmountNumber(precision?: 'exact'): (quota: number) => string {
  const unit = useAmountUnit();
  return (quota) => formatAmountNumber(quota, unit, currentLanguage(), precision);
}

/** Amount of a ledger entry. The sign is always shown, because colour alone would not be accessible. */
export function SignedAmount({ value }: { readonly value: number }) {
  const quota = useFormatCredits();
  return (
    <Text
      component="span"
      inherit
      c={value > 0 ? 'light-dark(var(--mantine-color-teal-9), var(--mantine-color-teal-4))' : undefined}
      style={{ fontVariantNumeric: 'tabular-nums', whiteSpace: 'nowrap' }}
    >
      {value > 0 ? '+' : value < 0 ? '−' : ''}
      {quota(Math.abs(value))}
    </Text>
  );
}

const MILLION = 1_000_000;

interface UnitPriceOptions {
  /** Without the word "credits", for formulas. */
  readonly plain?: boolean;
}

/**
 * Formats a price per unit. A price with more decimals than amounts have is shown per million units, because rounded it
 * would contradict the amount beside it: 243,000 × 0.000001 is not 0.15.
 */
export function useUnitPrice({ plain = false }: UnitPriceOptions = {}) {
  const { t } = useTranslation('requests');
  const { quotaPerCredit } = useAmountUnit();
  const price = useFormatPrice();
  const number = useFormatAmountNumber('exact');
  const format = plain ? number : price;
  return (quota: number, perMillion = isBelowDecimals(quota / quotaPerCredit)): string =>
    perMillion ? t('perMillion', { price: format(quota * MILLION) }) : format(quota);
}

/** Names a settlement by its ledger entry, which records the difference between the reservation and the charge. */
export function useSettlementName(): (change: number) => string {
  const { t } = useTranslation('requests');
  return (change) => t(`settlements.${change > 0 ? 'less' : change < 0 ? 'more' : 'same'}`);
}

interface LedgerAmounts {
  readonly amount: number;
  readonly plan_amount: number;
}

/** What a ledger entry changed: the wallet, and the plan's allowance where it paid. */
export function WalletAndPlanAmount({ amount, plan_amount: planAmount }: LedgerAmounts) {
  const { t } = useTranslation('admin');
  const ofPlan = (
    <>
      <SignedAmount value={planAmount} />{' '}
      <Text component="span" size="xs" c="dimmed" style={{ whiteSpace: 'nowrap' }}>
        {t('tasks.ofPlan')}
      </Text>
    </>
  );
  if (planAmount !== 0 && amount === 0) return ofPlan;
  return (
    <>
      <SignedAmount value={amount} />
      {planAmount === 0 ? null : (
        <Text size="xs" c="dimmed">
          {ofPlan}
        </Text>
      )}
    </>
  );
}
