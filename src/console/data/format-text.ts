import { currentLanguage } from '../strings/language.ts';

/** Cached: constructing a formatter takes a hundred times as long as using one. */
const formats = new Map<string, Intl.NumberFormat>();

function formatOf(options: Intl.NumberFormatOptions): Intl.NumberFormat {
  const key = currentLanguage() + JSON.stringify(options);
  const format = formats.get(key) ?? new Intl.NumberFormat(currentLanguage(), options);
  formats.set(key, format);
  return format;
}

/** A number with its thousands separators, in the language of the page: `12,345`. */
export const formatCount = (count: number): string => formatOf({}).format(count);

/** A number with at most so many decimals: `1.4`. */
export const formatDecimal = (value: number, maximumFractionDigits: number): string =>
  formatOf({ maximumFractionDigits }).format(value);

/** A share of 1: `99.5%`. */
export const formatPercent = (share: number): string =>
  formatOf({ style: 'percent', maximumFractionDigits: 1 }).format(share);

/** A relative change with its sign: `+12%`. */
export const formatPercentChange = (change: number): string =>
  formatOf({ style: 'percent', maximumFractionDigits: 0, signDisplay: 'exceptZero' }).format(change);

/*
 * Punctuation between texts that pages join, in the form of their language: Chinese has full-width signs without
 * spaces.
 */

const isChinese = (): boolean => currentLanguage() === 'zh-cn';

/** The sign between a label and its value: `: `, in Chinese `：`. */
export const formatColon = (): string => (isChinese() ? '：' : ': ');

/** A label and its value: `Length: 5 s`, `时长：5 秒`. */
export const formatLabelled = (label: string, value: string): string => `${label}${formatColon()}${value}`;

/** A text and what explains it: `Note (optional)`, `备注（选填）`. */
export const formatAside = (text: string, aside: string): string =>
  isChinese() ? `${text}（${aside}）` : `${text} (${aside})`;

/** Names in a row: `a, b`, `a、b`. */
export const formatNames = (names: readonly string[]): string => names.join(isChinese() ? '、' : ', ');
