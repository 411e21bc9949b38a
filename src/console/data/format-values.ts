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
export const formatCount = (count: number): string => formatWhole(count) ?? formatOf({}).format(count);

/**
 * Formats whole numbers exactly as Intl does in English and Chinese. Avoids Intl, because its first formatter delays the
 * studio by up to 50 ms.
 */
export const formatWhole = (count: number): string | undefined =>
  Number.isSafeInteger(count) && !Object.is(count, -0) ? String(count).replace(/\B(?=(\d{3})+$)/g, ',') : undefined;

/** Whether a price in credits changes by more than a thousandth when rounded to the six decimals of unit prices. */
export const isBelowDecimals = (credits: number): boolean =>
  Math.abs(Number(credits.toFixed(6)) - credits) > Math.abs(credits) / 1_000;

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

const DURATION_UNITS = {
  en: { ms: 'ms', s: 's', min: 'min', h: 'h' },
  'zh-cn': { ms: '毫秒', s: '秒', min: '分钟', h: '小时' },
} as const;

/** `840 ms`, `3.8 s`, `45 s`, `2 min 5 s`, `1 h 40 min`. */
export function toDurationText(seconds: number, language: 'en' | 'zh-cn'): string {
  const units = DURATION_UNITS[language];
  const ms = Math.max(0, seconds * 1_000);
  if (ms < 1_000 && ms > 0) return `${Math.max(1, Math.round(ms))} ${units.ms}`;
  if (ms < 9_950) return `${Number((ms / 1_000).toFixed(1))} ${units.s}`;
  const whole = Math.round(ms / 1_000);
  if (whole < 90) return `${whole} ${units.s}`;
  const [large, small, size] = whole < 3_600 ? (['min', 's', 60] as const) : (['h', 'min', 3_600] as const);
  const rest = Math.floor((whole % size) / (size / 60));
  const first = `${Math.floor(whole / size)} ${units[large]}`;
  return rest === 0 ? first : `${first} ${rest} ${units[small]}`;
}

/** For each unit: its name, the text for zero, and the smallest count without a name of its own ("yesterday"). */
const PAST_UNITS = {
  en: { minute: ['minute', 'just now', 1], hour: ['hour', undefined, 1], day: ['day', undefined, 2] },
  'zh-cn': { minute: ['分钟', '刚刚', 1], hour: ['小时', undefined, 1], day: ['天', undefined, 3] },
} as const;

/**
 * Relative time as `Intl.RelativeTimeFormat` writes it (in Chinese with a space after the number), for the most frequent cases: creating the first Intl formatter
 * costs a page about 10 ms at start.
 *
 * @returns undefined for cases that need Intl: future times, other units, times with a name of their own
 */
export function formatRecentPast(language: 'en' | 'zh-cn', unit: string, count: number): string | undefined {
  const [word, none, least] = PAST_UNITS[language][unit as 'minute'] ?? [];
  if (count === 0) return none;
  if (word === undefined || least === undefined || count < least) return undefined;
  if (language === 'zh-cn') return `${count} ${word}前`;
  return `${count} ${word}${count === 1 ? '' : 's'} ago`;
}

/** Separates a number from the Chinese word behind it, as all texts of the console do. */
export const spaceNumber = (text: string): string => text.replace(/(\d)(?=[\u4e00-\u9fff])/g, '$1 ');

/** Month, day and time of the day; the same in every time of the console. */
const MINUTE = { month: 'short', day: 'numeric', hour: '2-digit', minute: '2-digit', hourCycle: 'h23' } as const;

/**
 * When something happened, to the second; the year only of another year: `Nov 28, 04:29:33`, `Nov 28, 2025, 04:29:33`.
 * @param seconds Unix seconds
 */
export const formatDateTime = (seconds: number, nowMs: number = Date.now()): string =>
  formatInstant(seconds, nowMs, { ...MINUTE, second: '2-digit' });

/** When something begins or ends in the future: like `formatDateTime`, to the minute. @param seconds Unix seconds */
export const formatDeadline = (seconds: number, nowMs: number = Date.now()): string =>
  formatInstant(seconds, nowMs, MINUTE);

function formatInstant(seconds: number, nowMs: number, options: Intl.DateTimeFormatOptions): string {
  const date = new Date(seconds * 1000);
  const isThisYear = date.getFullYear() === new Date(nowMs).getFullYear();
  return new Intl.DateTimeFormat(currentLanguage(), isThisYear ? options : { year: 'numeric', ...options }).format(
    date,
  );
}

/** `3.8 s`, `2 min 5 s`: every duration of the console, in the language of the page. */
export const formatDuration = (seconds: number): string => toDurationText(seconds, currentLanguage());

/** A duration in milliseconds. */
export const formatMilliseconds = (ms: number): string => formatDuration(ms / 1_000);

/** An estimated duration: whole seconds, above 90 of them whole minutes, rounded up. */
export const formatEstimate = (seconds: number): string =>
  formatDuration(seconds < 90 ? Math.round(seconds) : Math.ceil(seconds / 60) * 60);

/** A date. @param seconds Unix seconds */
export function formatDate(seconds: number): string {
  return new Intl.DateTimeFormat(currentLanguage(), { dateStyle: 'medium' }).format(seconds * 1000);
}

/** A day of a chart, without its year: `Nov 28`. @param day in UTC, `2026-11-28` */
export const formatChartDay = (day: string): string =>
  new Intl.DateTimeFormat(currentLanguage(), { month: 'short', day: 'numeric', timeZone: 'UTC' }).format(
    new Date(`${day}T00:00:00Z`),
  );

const UNITS: readonly [Intl.RelativeTimeFormatUnit, number][] = [
  ['year', 31_536_000],
  ['month', 2_592_000],
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
];

/** "3 minutes ago", "in 2 days". @param seconds Unix seconds */
export function formatRelativeTime(seconds: number, nowMs: number = Date.now()): string {
  const delta = seconds - nowMs / 1000;
  const [unit, size] = UNITS.find(([, length]) => Math.abs(delta) >= length) ?? ['minute', 60];
  const count = Math.abs(delta) < 60 ? 0 : Math.round(delta / size);
  return (
    formatRecentPast(currentLanguage(), unit, -count) ??
    spaceNumber(new Intl.RelativeTimeFormat(currentLanguage(), { numeric: 'auto' }).format(count, unit))
  );
}
