import { DAY_MS } from '../../contract/time-units.ts';
import type { MonthDays } from './budget-store.ts';

export interface Month extends MonthDays {
  /** Months since January 1970. */
  readonly index: number;
  /** `2026-11` */
  readonly name: string;
}

/** The calendar month of UTC. @param now Unix milliseconds */
export function monthOf(now: number): Month {
  const date = new Date(now);
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()];
  return {
    index: (year - 1970) * 12 + month,
    name: date.toISOString().slice(0, 7),
    fromDay: Date.UTC(year, month, 1) / DAY_MS,
    toDay: Date.UTC(year, month + 1, 1) / DAY_MS,
  };
}
