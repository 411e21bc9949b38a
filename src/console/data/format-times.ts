import { currentLanguage } from '../strings/language.ts';
import { formatRecentPast } from './format-recent-past.ts';

/** Date and minute. @param seconds Unix seconds */
export function formatDateTime(seconds: number): string {
  return new Intl.DateTimeFormat(currentLanguage(), { dateStyle: 'medium', timeStyle: 'short' }).format(seconds * 1000);
}

/** Time to the second, without the year, for lists of recent events. @param seconds Unix seconds */
export function formatMoment(seconds: number): string {
  return new Intl.DateTimeFormat(currentLanguage(), {
    month: 'short',
    day: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
    hour12: false,
  }).format(seconds * 1000);
}

/** `840 ms`, `1.24 s`, `3 min`. */
export function formatMilliseconds(ms: number): string {
  const [unit, value] =
    ms < 1_000
      ? (['millisecond', ms] as const)
      : ms < 90_000
        ? (['second', ms / 1_000] as const)
        : (['minute', ms / 60_000] as const);
  return new Intl.NumberFormat(currentLanguage(), {
    style: 'unit',
    unit,
    unitDisplay: 'short',
    maximumFractionDigits: unit === 'second' && value < 10 ? 2 : 0,
  }).format(value);
}

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
    new Intl.RelativeTimeFormat(currentLanguage(), { numeric: 'auto' }).format(count, unit)
  );
}

/** `1:05` */
export function formatElapsed(seconds: number): string {
  const whole = Math.max(0, Math.floor(seconds));
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, '0')}`;
}

/** "45 sec", "2 min", in the language of the page; minutes are rounded up. */
export function formatSeconds(seconds: number): string {
  const [unit, value] = seconds < 90 ? (['second', seconds] as const) : (['minute', Math.ceil(seconds / 60)] as const);
  return new Intl.NumberFormat(currentLanguage(), { style: 'unit', unit, unitDisplay: 'short' }).format(value);
}
