import type { Channel } from '../channels/directory.ts';
import type { ChatRequest, OutputLimit } from './chat-request.ts';
import type { Dialect } from './dialect.ts';

/** OpenAI's reasoning models: they accept only `max_completion_tokens`, and their reasoning tokens count against it. */
const REASONING_MODEL = /^(?:.*\/)?(?:o[1-9]|gpt-[5-9]|codex)/i;
const REASONING_LIMIT = 32_768;

export const isReasoningModel = (model: string): boolean => REASONING_MODEL.test(model);

/**
 * What is reserved is also what is sent: without a limit in the request an upstream could generate more than the caller's
 * balance pays for. A channel sets its own by the options `max_output_tokens` (tokens) and `max_tokens_key` (name of the member).
 *
 * @returns undefined where the caller named a limit, or nothing is generated as text
 */
export function outputLimitFor(
  { dialect, requestedLimit }: ChatRequest,
  model: string,
  channel: Channel,
): OutputLimit | undefined {
  const [usualKey] = dialect.maxTokensKeys;
  if (requestedLimit > 0 || usualKey === undefined) return undefined;
  return {
    key: outputLimitKey(dialect, model, channel),
    tokens: ownOutputLimit(channel) ?? (isReasoningModel(model) ? REASONING_LIMIT : dialect.defaultMaxTokens),
  };
}

/** Tokens a channel allows for one response; undefined: it says nothing. */
export function ownOutputLimit({ options: { max_output_tokens: own } }: Channel): number | undefined {
  return Number.isSafeInteger(own) && Number(own) > 0 ? Number(own) : undefined;
}

/** The member of a request in a dialect by which an upstream takes the limit. */
export function outputLimitKey({ maxTokensKeys }: Dialect, model: string, channel: Channel): string {
  const { max_tokens_key: own } = channel.options;
  return typeof own === 'string' && maxTokensKeys.includes(own) ? own : keyFor(maxTokensKeys, isReasoningModel(model));
}

/** `max_tokens` is understood by every upstream but those models; the new name by fewer. */
const keyFor = (keys: readonly string[], isReasoning: boolean): string =>
  !isReasoning && keys.includes('max_tokens') ? 'max_tokens' : (keys[0] ?? 'max_tokens');

/** Output tokens to reserve, all choices together, enough for any channel that may serve the call. */
export function reservedOutputTokens(request: ChatRequest, model: string, candidates: readonly Channel[]): number {
  const thinking = request.thinkingBudget * request.choiceCount;
  if (request.requestedLimit > 0 || request.dialect.maxTokensKeys.length === 0)
    return request.maxOutputTokens + thinking;
  let most = 0;
  for (const channel of candidates) most = Math.max(most, outputLimitFor(request, model, channel)?.tokens ?? 0);
  return most * request.choiceCount + thinking;
}
