import { isReasoningModel } from '../output-limit.ts';
import type { DroppedFields } from './dropped-fields.ts';
import type { Reasoning } from './neutral-form.ts';
import type { UpstreamRequestParameters } from './upstream-model-and-limit-type.ts';

/** The largest budget of thinking tokens that each effort stands for. */
const EFFORTS: readonly (readonly [limit: number, effort: string])[] = [
  [4_095, 'low'],
  [16_383, 'medium'],
  [Number.POSITIVE_INFINITY, 'high'],
];

/** Models without thinking refuse an effort, and some models with thinking cannot switch it off. */
export function toOpenAiReasoningEffort(
  reasoning: Reasoning | undefined,
  target: UpstreamRequestParameters,
  notes: DroppedFields,
): string | undefined {
  if (reasoning === undefined) return undefined;
  const { mode, effort, budget, path } = reasoning;
  const canThink = isReasoningModel(target.model);
  if (mode === 'off' && !canThink) return undefined;
  if (mode === 'off' || !canThink) {
    notes.drop(path);
    return undefined;
  }
  if (effort !== undefined) return effort === 'max' ? 'xhigh' : effort;
  if (budget === undefined) return undefined;
  notes.drop(`${path}.budget_tokens`);
  return EFFORTS.find(([limit]) => budget <= limit)?.[1];
}
