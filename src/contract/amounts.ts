import { defined } from './objects.ts';

/** What amounts are written in. */
export interface AmountUnit {
  /** Quota of one credit. */
  readonly quotaPerCredit: number;
  /** What one credit is one unit of, by ISO 4217; empty: amounts are written in credits. */
  readonly currency: string;
}

/** `rounded`: two decimals, four below a hundredth. `exact`: at most six, so that a price and what it is multiplied by fit. */
export type AmountPrecision = 'rounded' | 'exact';

const isChinese = (language: string): boolean => language.toLowerCase().startsWith('zh');

/** The unit beside a field or above a column: `CNY`, or the word for credits. @param language `en` or `zh-CN`, in any case */
export const amountUnitName = ({ currency }: AmountUnit, language: string): string =>
  currency !== '' ? currency : isChinese(language) ? '积分' : 'credits';

/** `¥0.14`, `0.14 credits`: an amount of quota as people read it, on the pages, in the command line and in notices. */
export function formatAmount(
  quota: number,
  unit: AmountUnit,
  language: string,
  precision: AmountPrecision = 'rounded',
): string {
  const number = formatAmountNumber(quota, unit, language, precision);
  return unit.currency === '' ? `${number} ${amountUnitName(unit, language)}` : number;
}

/** The same without the word for credits, where a heading or the sum of a formula has it. */
export function formatAmountNumber(
  quota: number,
  { quotaPerCredit, currency }: AmountUnit,
  language: string,
  precision: AmountPrecision = 'rounded',
): string {
  const credits = quota / quotaPerCredit;
  const isSmall = credits !== 0 && Math.abs(credits) < 0.01;
  return formatNumber(credits, currency, language, precision === 'exact' ? 6 : isSmall ? 4 : 2);
}

/** The price of a plan, which is stored in the currency itself. Without one it is a number of what the site sells plans for. */
export const formatListPrice = (price: number, { currency }: AmountUnit, language: string): string =>
  currency === ''
    ? new Intl.NumberFormat(language, { maximumFractionDigits: 2 }).format(price)
    : formatNumber(price, currency, language, 2);

/** Kept, since making one takes a hundred times as long as using it. */
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
 * Two decimals or more, as Intl writes them in English and in Chinese. The first formatter of Intl costs a page some 10 ms of its
 * start, and most sites write amounts in credits.
 *
 * @returns undefined for what has an exponent or more digits than a number holds exactly
 */
function formatPlainNumber(value: number, maximumFractionDigits: number): string | undefined {
  const shifted = Math.round(Number(`${Math.abs(value)}e${maximumFractionDigits}`));
  if (!Number.isSafeInteger(shifted)) return undefined;
  const digits = String(shifted).padStart(maximumFractionDigits + 1, '0');
  const whole = digits.slice(0, -maximumFractionDigits).replace(/\B(?=(\d{3})+$)/g, ',');
  const fraction = digits.slice(-maximumFractionDigits).replace(/0+$/, '').padEnd(2, '0');
  return `${value < 0 || Object.is(value, -0) ? '-' : ''}${whole}.${fraction}`;
}
