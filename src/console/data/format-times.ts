import { currentLanguage } from '../strings/language.ts';
import { toDurationText } from './duration-text.ts';
import { formatRecentPast, spaceNumber } from './format-recent-past.ts';

/** Month, day and time of the day; the same in every time of the console. */
const MINUTE = { month: 'short', day: 'numeric', hour: '2-digit', minute: '2-digit', hourCycle: 'h23' } as const;

/** Date and minute: `Nov 28, 2026, 04:29`. @param seconds Unix seconds */
export function formatDateTime(seconds: number): string {
  return new Intl.DateTimeFormat(currentLanguage(), { year: 'numeric', ...MINUTE }).format(seconds * 1000);
}

/** Time to the second, without the year, for lists of recent events. @param seconds Unix seconds */
export function formatMoment(seconds: number): string {
  return new Intl.DateTimeFormat(currentLanguage(), { ...MINUTE, second: '2-digit' }).format(seconds * 1000);
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
