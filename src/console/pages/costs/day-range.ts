import { DAY_MS } from '../../../contract/time-units.ts';
import type { DayRange } from '../../data/costs.ts';

const DAY = /^\d{4}-\d{2}-\d{2}$/;
/** Lengths of the preset ranges, in days. */
export const PRESET_DAYS = ['7', '30', '90'] as const;
const DEFAULT_DAYS = 30;
/** Longest range the service accepts. */
const MAX_DAYS = 366;

/** Converts `2026-11-30` to days since 1970; undefined for anything else. */
function parseDay(text: string | undefined): number | undefined {
  const ms = DAY.test(text ?? '') ? Date.parse(`${text}T00:00:00Z`) : Number.NaN;
  return Number.isFinite(ms) ? ms / DAY_MS : undefined;
}
/** Formats days since 1970 as `2026-11-30`. */
export const formatDay = (day: number): string => new Date(day * DAY_MS).toISOString().slice(0, 10);

interface RangeText {
  readonly days?: string;
  readonly from?: string;
  readonly to?: string;
}

/** The range in a URL: two days, or the last N days. */
export function toDayRange({ days, from, to }: RangeText, nowMs: number): DayRange {
  const today = Math.floor(nowMs / DAY_MS);
  const toDay = Math.min(today, parseDay(to) ?? today);
  const preset = Number(PRESET_DAYS.find((each) => each === days) ?? DEFAULT_DAYS);
  const fromDay = parseDay(from) ?? toDay - preset + 1;
  return { fromDay: Math.min(toDay, Math.max(fromDay, toDay - MAX_DAYS + 1)), toDay };
}

/** Number of days in a range, both ends included. */
export const dayCountOf = ({ fromDay, toDay }: DayRange): number => toDay - fromDay + 1;

/** The preceding range of the same length. */
export const rangeBefore = (range: DayRange): DayRange => ({
  fromDay: range.fromDay - dayCountOf(range),
  toDay: range.fromDay - 1,
});
