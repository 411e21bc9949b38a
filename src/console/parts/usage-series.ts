/** Figures of one day and model, as the usage lines answer them. */
export interface UsageRow {
  readonly day?: string;
  readonly model?: string;
  readonly requests: number;
  readonly quota: number;
}
export type Figure = 'requests' | 'quota';
export interface Series {
  /** Largest first; those beyond `most` are one, under `others`. */
  readonly models: readonly string[];
  /** One for every day, empty ones too: a gap in a plot must be a day without use. */
  readonly days: readonly Readonly<Record<string, string | number>>[];
}

const DAY_MS = 86_400_000;
const toDay = (ms: number): string => new Date(ms).toISOString().slice(0, 10);

/** Rows by day and model → one record a day with a number for each model. */
export function toSeries(
  rows: readonly UsageRow[],
  figure: Figure,
  span: { readonly days: number; readonly nowMs: number; readonly others: string; readonly most?: number },
): Series {
  const { days, nowMs, others, most = 6 } = span;
  const sums = new Map<string, number>();
  for (const { model = '', ...row } of rows) sums.set(model, (sums.get(model) ?? 0) + row[figure]);
  const ranked = [...sums].sort((one, two) => two[1] - one[1]).map(([model]) => model);
  const shown = new Set(ranked.length > most ? ranked.slice(0, most - 1) : ranked);
  const models = ranked.length > most ? [...shown, others] : ranked;
  const byDay = new Map<string, Record<string, string | number>>();
  for (let back = days - 1; back >= 0; back -= 1) {
    const day = toDay(nowMs - back * DAY_MS);
    byDay.set(day, { day, ...Object.fromEntries(models.map((model) => [model, 0])) });
  }
  for (const { day = '', model = '', ...row } of rows) {
    const record = byDay.get(day);
    const name = shown.has(model) ? model : others;
    if (record !== undefined) record[name] = Number(record[name] ?? 0) + row[figure];
  }
  return { models, days: [...byDay.values()] };
}
