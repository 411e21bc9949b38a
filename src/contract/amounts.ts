import { defined } from './objects.ts';

/** Display unit of amounts. */
export interface AmountUnit {
  /** Quota per credit. */
  readonly quotaPerCredit: number;
  /** Currency that one credit is one unit of (ISO 4217); empty: amounts are shown in credits. */
  readonly currency: string;
}

/** `rounded`: two decimals, four below 0.01. `exact`: up to six, so that unit prices keep every digit. */
export type AmountPrecision = 'rounded' | 'exact';

const isChinese = (language: string): boolean => language.toLowerCase().startsWith('zh');

/**
 * Unit shown next to a field or above a column: `CNY`, or the word for credits. @param language `en` or `zh-CN`, in any
 * case
 */
export const amountUnitName = ({ currency }: AmountUnit, language: string): string =>
  currency !== '' ? currency : isChinese(language) ? '积分' : 'credits';

/** Formats quota for display on pages, in the command line and in notices: `¥0.14`, `0.14 credits`. */
export function formatAmount(
  quota: number,
  unit: AmountUnit,
  language: string,
  precision: AmountPrecision = 'rounded',
): string {
  const number = formatAmountNumber(quota, unit, language, precision);
  return unit.currency === '' ? `${number} ${amountUnitName(unit, language)}` : number;
}

/** Like `formatAmount`, without the word for credits, for columns and formulas that already name the unit. */
export function formatAmountNumber(
  quota: number,
  { quotaPerCredit, currency }: AmountUnit,
  language: string,
  precision: AmountPrecision = 'rounded',
): string {
  const credits = quota / quotaPerCredit;
  return formatNumber(credits, currency, language, decimalsOf(credits, precision));
}

/** The quota a rounded amount displays, so that a sum of displayed amounts adds up: 999.43 − 0.15 = 999.28. */
export function toDisplayedQuota(quota: number, { quotaPerCredit }: AmountUnit): number {
  const credits = quota / quotaPerCredit;
  const decimals = decimalsOf(credits, 'rounded');
  return Math.sign(credits) * (roundShifted(credits, decimals) / 10 ** decimals) * quotaPerCredit;
}

/**
 * Difference between a displayed total and the sum of its displayed parts, in quota: every amount is rounded on its own,
 * and a charge is rounded up.
 */
export function roundingOf(
  parts: readonly number[],
  total: number,
  unit: AmountUnit,
  precision: AmountPrecision = 'rounded',
): number {
  const displayed = (quota: number): number => {
    const credits = quota / unit.quotaPerCredit;
    const decimals = decimalsOf(credits, precision);
    return Math.sign(credits) * roundShifted(credits, decimals) * 10 ** (EXACT_DECIMALS - decimals);
  };
  const rest = parts.reduce((left, part) => left - displayed(part), displayed(total));
  return (rest / 10 ** EXACT_DECIMALS) * unit.quotaPerCredit;
}

/** The absolute value times a power of ten, rounded by its decimal digits, as Intl rounds. */
function roundShifted(value: number, decimals: number): number {
  const digits = String(Math.abs(value));
  // Amounts below a millionth have an exponent of their own.
  return Math.round(digits.includes('e') ? Math.abs(value) * 10 ** decimals : Number(`${digits}e${decimals}`));
}

const EXACT_DECIMALS = 6;

const decimalsOf = (credits: number, precision: AmountPrecision): number =>
  precision === 'exact' ? EXACT_DECIMALS : credits !== 0 && Math.abs(credits) < 0.01 ? 4 : 2;

/** Price of a plan, stored in the unit of displayed amounts: `¥9.50`, `9.50 credits`. */
export const formatListPrice = (price: number, unit: AmountUnit, language: string): string =>
  formatAmount(price * unit.quotaPerCredit, unit, language);

/** Cached: constructing an Intl.NumberFormat takes a hundred times as long as using one. */
const numberFormats = new Map<string, Intl.NumberFormat>();

function formatNumber(value: number, currency: string, language: string, maximumFractionDigits: number): string {
  const plain = currency === '' ? formatPlainNumber(value, maximumFractionDigits) : undefined;
  if (plain !== undefined) return plain;
  const key = `${language} ${currency} ${maximumFractionDigits}`;
  const known = numberFormats.get(key);
  if (known !== undefined) return known.format(value);
  const format = new Intl.NumberFormat(language, {
    minimumFractionDigits: 2,
    maximumFractionDigits,
    style: currency === '' ? 'decimal' : 'currency',
    currencyDisplay: 'narrowSymbol',
    ...defined({ currency: currency === '' ? undefined : currency }),
  });
  numberFormats.set(key, format);
  return format.format(value);
}

/**
 * Formats with two or more decimals exactly as Intl does in English and Chinese. Avoids Intl because its first
 * formatter adds about 10 ms to a page's start, and most sites show amounts in credits.
 *
 * @returns undefined for values with an exponent or more digits than a number holds exactly
 */
function formatPlainNumber(value: number, maximumFractionDigits: number): string | undefined {
  const shifted = roundShifted(value, maximumFractionDigits);
  if (!Number.isSafeInteger(shifted)) return undefined;
  const digits = String(shifted).padStart(maximumFractionDigits + 1, '0');
  const whole = digits.slice(0, -maximumFractionDigits).replace(/\B(?=(\d{3})+$)/g, ',');
  const fraction = digits.slice(-maximumFractionDigits).replace(/0+$/, '').padEnd(2, '0');
  return `${value < 0 || Object.is(value, -0) ? '-' : ''}${whole}.${fraction}`;
}

// Apart from the schemas, so that the command line's help does not load them.

/** Periods of a spend limit: calendar days, weeks from Monday and months in the time zone of the site. */
export const SPEND_PERIODS = ['day', 'week', 'month'] as const;
export type SpendPeriod = (typeof SPEND_PERIODS)[number];

/** A hard limit: reservations count as soon as they are made. `amount`: quota. */
export interface SpendLimit {
  readonly amount: number;
  readonly period: SpendPeriod;
}

/** Remaining quota; a settlement beyond its reservation may exceed the limit. */
export const leftOf = ({ amount, spent }: { readonly amount: number; readonly spent: number }): number =>
  Math.max(0, amount - spent);
