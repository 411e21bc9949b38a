import { USAGE_COLUMNS } from '../../../contract/ledger.ts';
import { DAY_MS } from '../../../contract/time-units.ts';
import type { CostGroup, CostRow, DayRange } from '../../data/costs.ts';

/** Cost of one model, key, user or channel in a range and in the preceding one. */
export interface GroupCost {
  /** Model name, or id. */
  readonly key: string;
  readonly requests: number;
  readonly tokens: number;
  readonly quota: number;
  readonly quotaBefore: number;
  /** Share of all costs in the range, 0 to 1. */
  readonly share: number;
  /** Relative change from the preceding range; null if that had no cost. */
  readonly change: number | null;
}

/** The group of a row: a model name or an id. */
export const keyOf = (row: Partial<CostRow>, by: CostGroup): string => String(row[USAGE_COLUMNS[by]] ?? '');

/** Relative change, for example 0.5 for an increase by half; null without a previous value. */
export const relativeChange = (now: number, before: number): number | null =>
  before === 0 ? null : (now - before) / before;

/** Sums by group, most expensive first, including groups with costs only in the preceding range. */
export function toGroupCosts(rows: readonly CostRow[], before: readonly CostRow[], by: CostGroup): GroupCost[] {
  const groups = new Map<string, { requests: number; tokens: number; quota: number; quotaBefore: number }>();
  const groupOf = (row: CostRow) => {
    const key = keyOf(row, by);
    const known = groups.get(key) ?? { requests: 0, tokens: 0, quota: 0, quotaBefore: 0 };
    groups.set(key, known);
    return known;
  };
  for (const row of rows) {
    const group = groupOf(row);
    group.requests += row.requests;
    group.tokens += row.prompt_tokens + row.completion_tokens;
    group.quota += row.quota;
  }
  for (const row of before) groupOf(row).quotaBefore += row.quota;
  const total = rows.reduce((sum, { quota }) => sum + quota, 0);
  return [...groups]
    .map(([key, group]) => ({
      key,
      ...group,
      share: total === 0 ? 0 : group.quota / total,
      change: relativeChange(group.quota, group.quotaBefore),
    }))
    .sort((one, other) => other.quota - one.quota || other.requests - one.requests);
}

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
