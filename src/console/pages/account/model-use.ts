import type { UsageRow } from '../../data/account.ts';

export interface ModelUse {
  readonly model: string;
  readonly requests: number;
  readonly tokens: number;
  readonly quota: number;
}

/** Sums by model, the dearest first. */
export function toModels(rows: readonly UsageRow[]): ModelUse[] {
  const sums = new Map<string, ModelUse>();
  for (const { model = '', requests, quota, prompt_tokens, completion_tokens } of rows) {
    const known = sums.get(model) ?? { model, requests: 0, tokens: 0, quota: 0 };
    sums.set(model, {
      model,
      requests: known.requests + requests,
      tokens: known.tokens + prompt_tokens + completion_tokens,
      quota: known.quota + quota,
    });
  }
  return [...sums.values()].toSorted((a, b) => b.quota - a.quota);
}

const SHOWN = 5;
const DAY_MS = 86_400_000;

/** One entry per day with what each of the dearest models cost; the rest under `others`. Days without use are there too. */
export function toDays(
  rows: readonly UsageRow[],
  days: number,
  perUnit: number,
  nowMs: number = Date.now(),
): { readonly series: readonly string[]; readonly data: Record<string, string | number>[] } {
  const dearest = toModels(rows)
    .slice(0, SHOWN)
    .map(({ model }) => model);
  const hasOthers = rows.some(({ model = '' }) => !dearest.includes(model));
  const series = [...dearest, ...(hasOthers ? ['others'] : [])];
  const byDay = new Map<string, Record<string, string | number>>();
  for (let back = days - 1; back >= 0; back -= 1) {
    const day = new Date(nowMs - back * DAY_MS).toISOString().slice(0, 10);
    byDay.set(day, { day, ...Object.fromEntries(series.map((name) => [name, 0])) });
  }
  for (const { day = '', model = '', quota } of rows) {
    const entry = byDay.get(day);
    const name = dearest.includes(model) ? model : 'others';
    if (entry !== undefined) entry[name] = Number(entry[name] ?? 0) + quota / perUnit;
  }
  return { series, data: [...byDay.values()] };
}
