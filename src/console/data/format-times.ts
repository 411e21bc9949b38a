import { currentLanguage } from '../strings/language.ts';
import { toDurationText } from './duration-text.ts';
import { formatRecentPast, spaceNumber } from './format-recent-past.ts';

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
