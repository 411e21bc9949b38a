import { currentLanguage } from '../strings/language.ts';

const DEFAULT_PER_UNIT = 500_000;

/** Quota in units of the display currency, with as many decimals as the amount needs to say something. */
export function toUnits(quota: number, perUnit: number = DEFAULT_PER_UNIT): string {
  const units = quota / perUnit;
  const decimals = units !== 0 && Math.abs(units) < 0.01 ? 4 : 2;
  return new Intl.NumberFormat(currentLanguage(), { minimumFractionDigits: 2, maximumFractionDigits: decimals }).format(
    units,
  );
}

/** Units as typed into a form → quota. */
export const toQuota = (units: number, perUnit: number = DEFAULT_PER_UNIT): number => Math.round(units * perUnit);
