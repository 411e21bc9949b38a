import type { UsageByDayAndModel } from '../../data/account-queries.ts';

export interface ModelUsage {
  readonly model: string;
  readonly requests: number;
  readonly tokens: number;
  readonly quota: number;
}

/** Sums by model, the dearest first. */
export function sumUsageByModel(rows: readonly UsageByDayAndModel[]): ModelUsage[] {
  const sums = new Map<string, ModelUsage>();
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
