import { currentLanguage } from '../strings/language.ts';

const DEFAULT_QUOTA_PER_CREDIT = 500_000;

/** A price per unit, which is multiplied: shown with all its decimals, at most six, so that the product is what one expects. */
export const formatPrice = (quota: number, perUnit: number = DEFAULT_QUOTA_PER_CREDIT): string =>
  new Intl.NumberFormat(currentLanguage(), { minimumFractionDigits: 2, maximumFractionDigits: 6 }).format(
    quota / perUnit,
  );

/** Quota in credits: two decimals, four where the amount is below a hundredth. */
export function formatQuota(quota: number, perUnit: number = DEFAULT_QUOTA_PER_CREDIT): string {
  const credits = quota / perUnit;
  const decimals = credits !== 0 && Math.abs(credits) < 0.01 ? 4 : 2;
  return new Intl.NumberFormat(currentLanguage(), { minimumFractionDigits: 2, maximumFractionDigits: decimals }).format(
    credits,
  );
}

/** Credits as entered in a form → quota. */
export const creditsToQuota = (credits: number, perUnit: number = DEFAULT_QUOTA_PER_CREDIT): number =>
  Math.round(credits * perUnit);
