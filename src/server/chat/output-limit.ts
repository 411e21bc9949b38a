import { LRUCache } from 'lru-cache';
import type { Channel } from '../channels/directory.ts';
import type { Dialect } from './dialects.ts';
import type { ChatRequest, OutputLimit } from './request.ts';
import type { Usage } from './usage.ts';

/** OpenAI's reasoning models: they accept only `max_completion_tokens`, and their reasoning tokens count against it. */
const REASONING_MODEL = /^(?:.*\/)?(?:o[1-9]|gpt-[5-9]|codex)/i;
const REASONING_LIMIT = 32_768;

/** Whether a model is one of OpenAI's reasoning models. */
export const isReasoningModel = (model: string): boolean => REASONING_MODEL.test(model);

/**
 * The output limit to add to a request, equal to the reserved tokens: without it an upstream could generate more than
 * the caller's balance pays for. A channel overrides it by the options `max_output_tokens` (tokens) and
 * `max_tokens_key` (name of the member).
 *
 * @returns undefined where the caller set a limit, or no text is generated
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

/** Tokens a channel allows for one response; undefined: no limit of its own. */
export function ownOutputLimit({ options: { max_output_tokens: own } }: Channel): number | undefined {
  return Number.isSafeInteger(own) && Number(own) > 0 ? Number(own) : undefined;
}

/** The member in which an upstream of this dialect expects the limit. */
export function outputLimitKey({ maxTokensKeys }: Dialect, model: string, channel: Channel): string {
  const { max_tokens_key: own } = channel.options;
  return typeof own === 'string' && maxTokensKeys.includes(own) ? own : keyFor(maxTokensKeys, isReasoningModel(model));
}

/** Every upstream except those models accepts `max_tokens`; fewer accept the new name. */
const keyFor = (keys: readonly string[], isReasoning: boolean): string =>
  !isReasoning && keys.includes('max_tokens') ? 'max_tokens' : (keys[0] ?? 'max_tokens');

/** Output tokens to reserve for all choices together, enough for any channel that may serve the call. */
export function reservedOutputTokens(request: ChatRequest, model: string, candidates: readonly Channel[]): number {
  const thinking = request.thinkingBudget * request.choiceCount;
  if (request.requestedLimit > 0 || request.dialect.maxTokensKeys.length === 0)
    return request.maxOutputTokens + thinking;
  let most = 0;
  for (const channel of candidates) most = Math.max(most, outputLimitFor(request, model, channel)?.tokens ?? 0);
  return most * request.choiceCount + thinking;
}

interface OutputRate {
  /** Exponential average over complete responses. */
  tokensPerSecond: number;
  /** Whether the newest response had more tokens than its text accounts for (hidden reasoning). */
  hidesTokens: boolean;
}

const MAX_MODELS = 1_000;
/** Weight of the newest response in the average. */
const NEWEST_WEIGHT = 0.2;
/** An event of a stream has more bytes than this for every token of visible text. */
const MIN_SHOWN_BYTES_PER_TOKEN = 2;
/** Assumed for a reasoning model that was not measured yet: the slow end of the speeds vendors publish. */
const UNMEASURED_TOKENS_PER_SECOND = 30;

/**
 * Measures how fast models generate and which of them hide their reasoning, within this process. A caller who
 * disconnects before the upstream reports its figures is charged by this estimate; otherwise reasoning would be free
 * for callers who disconnect in time.
 */
export class OutputSpeedsAndHiddenReasoning {
  readonly #rates = new LRUCache<string, OutputRate>({ max: MAX_MODELS });

  /**
   * Records a complete response.
   * @param shownBytes size of the response as received
   * @param seconds time since the request
   */
  record(model: string, { completionTokens, reasoningTokens }: Usage, shownBytes: number, seconds: number): void {
    if (completionTokens === 0 || seconds <= 0) return;
    const hidesTokens = reasoningTokens > 0 || completionTokens * MIN_SHOWN_BYTES_PER_TOKEN > shownBytes;
    const newest = completionTokens / seconds;
    const known = this.#rates.get(model);
    if (known === undefined) this.#rates.set(model, { tokensPerSecond: newest, hidesTokens });
    else {
      known.tokensPerSecond += (newest - known.tokensPerSecond) * NEWEST_WEIGHT;
      known.hidesTokens = hidesTokens;
    }
  }

  /**
   * Whether a response may have more generated tokens than its text shows. Undefined: this model was not measured yet.
   */
  mayHideTokens(model: string, request: ChatRequest): boolean | undefined {
    if (declaresThinking(request) || isReasoningModel(model)) return true;
    return this.#rates.get(model)?.hidesTokens;
  }

  /**
   * Tokens generated in a number of seconds, visible or not; 0 for a model that hides none, or that was not measured.
   */
  estimate(model: string, request: ChatRequest, seconds: number): number {
    if (this.mayHideTokens(model, request) !== true) return 0;
    const rate = this.#rates.get(model)?.tokensPerSecond ?? UNMEASURED_TOKENS_PER_SECOND;
    return Math.ceil(Math.max(0, seconds) * rate * request.choiceCount);
  }
}

const NO_EFFORT: ReadonlySet<unknown> = new Set([undefined, null, false, 'none', 'disabled']);

/** Whether the caller requests reasoning by any of the option names upstreams use for it. */
function declaresThinking({ body, thinkingBudget }: ChatRequest): boolean {
  if (thinkingBudget > 0) return true;
  const { reasoning_effort: effort, reasoning, thinking, enable_thinking: enabled } = body;
  if (enabled === true || !NO_EFFORT.has(effort)) return true;
  const named = [reasoning, thinking].find((each) => typeof each === 'object' && each !== null);
  const { effort: inner, type } = (named ?? {}) as { readonly effort?: unknown; readonly type?: unknown };
  return !NO_EFFORT.has(inner) || type === 'enabled' || type === 'adaptive';
}
