import { useTranslation } from 'react-i18next';
import { isBelowDecimals } from '../data/format-values.ts';
import { useAmountUnit, useFormatAmountNumber, useFormatPrice } from './credit-amount.tsx';

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
