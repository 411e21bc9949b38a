import { DAY_MS } from '../../contract/time-units.ts';
/** Figures of one day and model, as the usage endpoints return them. */
export interface UsagePoint {
  readonly day?: string;
  readonly model?: string;
  readonly requests: number;
  readonly quota: number;
}
export type UsageMeasure = 'requests' | 'quota';
export interface ChartSeries {
  /** Largest first; those beyond `most` are one, under `others`. */
  readonly models: readonly string[];
  /** One for every day, empty ones too: a gap in a plot must be a day without use. */
  readonly days: readonly Readonly<Record<string, string | number>>[];
}

const toIsoDay = (ms: number): string => new Date(ms).toISOString().slice(0, 10);

/** Rows by day and model → one record a day with a number for each model. */
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

/** Some of the labels of an axis, at equal distances and the last one among them. @param most How many there is room for */
export function evenlySpacedTicks(labels: readonly string[], most = 7): string[] {
  const step = Math.max(1, Math.ceil(labels.length / most));
  return labels.filter((_, index) => (labels.length - 1 - index) % step === 0);
}
