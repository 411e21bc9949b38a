import { DAY_MS } from '../../../contract/time-units.ts';
import { exceedsTolerance } from '../../../contract/vendor-billing-reconciliation.ts';
import type { ReconciliationRow } from './reconciliation-store.ts';

type Reading = Pick<ReconciliationRow, 'from_time' | 'to_time' | 'settled_units' | 'billed_units'>;

/** What a vendor took in a time, against what can have been settled for it. Units in millionths. */
export interface BilledComparison {
  /** Unix milliseconds. */
  readonly from: number;
  readonly to: number;
  readonly billed: number;
  /** Settled in that time. */
  readonly settled: number;
  /** By how much `billed` is outside of what the settled videos explain; 0 where they do. */
  readonly unexplained: number;
}

const MICRO = 1_000_000;

/**
 * Judges about a day of one channel's readings. A vendor counts up to `skewMs` before a video ends (it takes units when a job begins) or
 * after (it counts late), so what it took in a time is compared with the least that was settled well inside of it and the most
 * that was settled around it; the time ends `skewMs` ago, since what ends later is not known yet.
 *
 * @returns undefined while no reading of that time has a figure
 */
export function compareVendorBilledWithSettled(
  readings: readonly Reading[],
  nowMs: number,
  skewMs: number,
): BilledComparison | undefined {
  const [end, begin] = [nowMs - skewMs, nowMs - DAY_MS - 5 * skewMs];
  const judged = readings.filter(({ to_time: to, billed_units: billed }) => billed !== null && to > begin && to <= end);
  if (judged.length === 0) return undefined;
  const from = Math.min(...judged.map((row) => row.from_time ?? row.to_time));
  const to = Math.max(...judged.map((row) => row.to_time));
  const settledOf = (rows: readonly Reading[], fits: (first: number, last: number) => boolean): number =>
    rows.reduce((sum, row) => (fits(row.from_time ?? row.to_time, row.to_time) ? sum + row.settled_units : sum), 0);
  const most = settledOf(readings, (first, last) => last > from - skewMs && first < to + skewMs);
  // What was taken before an account was topped up is not known, so its videos need not show.
  const least = settledOf(judged, (first, last) => first >= from + skewMs && last <= to - skewMs);
  const billed = judged.reduce((sum, row) => sum + (row.billed_units ?? 0), 0);
  const explained = Math.min(Math.max(billed, least), most);
  const unexplained = exceedsTolerance(billed / MICRO, explained / MICRO) ? billed - explained : 0;
  const settled = judged.reduce((sum, row) => sum + row.settled_units, 0);
  return { from, to, billed, settled, unexplained };
}
