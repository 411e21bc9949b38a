import { DAY_MS } from '../../contract/time-units.ts';
/** Figures of one day and model, as returned by the usage endpoints. */
export interface UsagePoint {
  readonly day?: string;
  readonly model?: string;
  readonly requests: number;
  readonly quota: number;
}
/** Figure shown by the chart: number of calls, or quota. */
export type UsageMeasure = 'requests' | 'quota';
/** Data of a stacked chart: one record per day, one series per model. */
export interface ChartSeries {
  /** Largest first; models beyond `most` are combined under `others`. */
  readonly models: readonly string[];
  /** One record per day, including empty days: a gap in the chart must mean a day without use. */
  readonly days: readonly Readonly<Record<string, string | number>>[];
}

const toIsoDay = (ms: number): string => new Date(ms).toISOString().slice(0, 10);

/** Converts rows by day and model to one record per day with a number for each model. */
export function toChartSeries(
  rows: readonly UsagePoint[],
  measure: UsageMeasure,
  options: { readonly days: number; readonly nowMs: number; readonly others: string; readonly maxModels?: number },
): ChartSeries {
  const { days, nowMs, others, maxModels = 6 } = options;
  const sums = new Map<string, number>();
  for (const { model = '', ...row } of rows) sums.set(model, (sums.get(model) ?? 0) + row[measure]);
  const ranked = [...sums].sort((one, two) => two[1] - one[1]).map(([model]) => model);
  const shown = new Set(ranked.length > maxModels ? ranked.slice(0, maxModels - 1) : ranked);
  const models = ranked.length > maxModels ? [...shown, others] : ranked;
  const byDay = new Map<string, Record<string, string | number>>();
  for (let back = days - 1; back >= 0; back -= 1) {
    const day = toIsoDay(nowMs - back * DAY_MS);
    byDay.set(day, { day, ...Object.fromEntries(models.map((model) => [model, 0])) });
  }
  for (const { day = '', model = '', ...row } of rows) {
    const record = byDay.get(day);
    const name = shown.has(model) ? model : others;
    if (record !== undefined) record[name] = Number(record[name] ?? 0) + row[measure];
  }
  return { models, days: [...byDay.values()] };
}

/** Evenly spaced labels of an axis, always with the last one. @param most number of labels that fit */
export function evenlySpacedTicks(labels: readonly string[], most = 7): string[] {
  const step = Math.max(1, Math.ceil(labels.length / most));
  return labels.filter((_, index) => (labels.length - 1 - index) % step === 0);
}
