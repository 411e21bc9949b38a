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
