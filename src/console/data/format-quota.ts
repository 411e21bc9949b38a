import { defined } from '../../contract/defined.ts';
import { currentLanguage } from '../strings/language.ts';

const DEFAULT_QUOTA_PER_CREDIT = 500_000;

const format = (credits: number, currency: string | undefined, maximumFractionDigits: number): string =>
  new Intl.NumberFormat(currentLanguage(), {
    minimumFractionDigits: 2,
    maximumFractionDigits,
    style: currency === undefined ? 'decimal' : 'currency',
    ...defined({ currency }),
    currencyDisplay: 'narrowSymbol',
  }).format(credits);

/**
 * A price per unit, which is multiplied: shown with all its decimals, at most six, so that the product is what one expects.
 *
 * @param currency of one credit, by ISO 4217; undefined: the number alone
 */
export const formatPrice = (quota: number, perUnit: number = DEFAULT_QUOTA_PER_CREDIT, currency?: string): string =>
  format(quota / perUnit, currency, 6);

/** Quota in credits: two decimals, four where the amount is below a hundredth. */
export function formatQuota(quota: number, perUnit: number = DEFAULT_QUOTA_PER_CREDIT, currency?: string): string {
  const credits = quota / perUnit;
  return format(credits, currency, credits !== 0 && Math.abs(credits) < 0.01 ? 4 : 2);
}

/** Credits as entered in a form → quota. */
export const creditsToQuota = (credits: number, perUnit: number = DEFAULT_QUOTA_PER_CREDIT): number =>
  Math.round(credits * perUnit);
