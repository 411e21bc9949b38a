import { isReasoningModel } from '../output-limit.ts';
import type { Reasoning } from './conversation.ts';
import type { ConversionNotes } from './notes.ts';
import type { RequestTarget } from './target.ts';

/** Tokens of a budget up to which an effort is meant. */
const EFFORTS: readonly (readonly [limit: number, effort: string])[] = [
  [4_095, 'low'],
  [16_383, 'medium'],
  [Number.POSITIVE_INFINITY, 'high'],
];

/** Models that do not think refuse an effort. */
export function toOpenAiEffort(
  reasoning: Reasoning | undefined,
  target: RequestTarget,
  notes: ConversionNotes,
): string | undefined {
  if (reasoning === undefined || reasoning.mode === 'off') return undefined;
  const { effort, budget, path } = reasoning;
  if (!isReasoningModel(target.model)) {
    notes.drop(path);
    return undefined;
  }
  if (effort !== undefined) return effort === 'max' ? 'xhigh' : effort;
  if (budget === undefined) return undefined;
  notes.drop(`${path}.budget_tokens`);
  return EFFORTS.find(([limit]) => budget <= limit)?.[1];
}
