import { setImmediate as nextTurn } from 'node:timers/promises';
import { asObject, type UntrustedObject } from '../../contract/objects.ts';
import type { TokenFacts, TokenPart } from '../../contract/pricing.ts';
import { tryParse } from '../platform/json.ts';

/** Usage of a call, in tokens. */
export interface Usage extends TokenFacts {
  /** Reasoning tokens among the completion tokens, as far as the upstream reports them. */
  readonly reasoningTokens: number;
}

/** Figures of an upstream, each 0 where it reports none. */
interface Figures {
  /** All input tokens; undefined: absent, negative, malformed or implausible. */
  readonly input: number | undefined;
  readonly output: number | undefined;
  /** Input and output together; 0: not reported. */
  readonly total: number;
  readonly cached: number;
  readonly cacheWrite: number;
  readonly cacheWrite1h: number;
  readonly audioInput: number;
  readonly imageInput: number;
  /** Audio and images among the cached input, where the upstream reports them. */
  readonly cachedAudio: number;
  readonly cachedImages: number;
  readonly audioOutput: number;
  readonly imageOutput: number;
  readonly reasoning: number;
}

/** No model reads or writes this many tokens in one call; a larger figure is a defect and is ignored. */
const MAX_CREDIBLE_TOKENS = 10_000_000;

const COUNT_TEXT = /^\d{1,9}(?:\.0+)?$/;

/** A number of tokens, which some gateways write as text; undefined for any other value. */
export function toCount(value: unknown): number | undefined {
  const count = typeof value === 'string' && COUNT_TEXT.test(value) ? Number(value) : value;
  if (typeof count !== 'number' || !Number.isInteger(count)) return undefined;
  return count >= 0 && count <= MAX_CREDIBLE_TOKENS ? count : undefined;
}

/**
 * The largest of several spellings of one figure: an upstream that sends several means the same by them, although some
 * of them stay 0.
 */
function largest(...values: readonly unknown[]): number {
  let most = 0;
  for (const value of values) {
    const count = value === undefined ? 0 : (toCount(value) ?? 0);
    if (count > most) most = count;
  }
  return most;
}

/**
 * Reads an upstream's usage, whatever its API. Undefined when a total is absent, negative, malformed or implausible:
 * tokens are then counted locally.
 */
export function parseUsage(value: unknown): Usage | undefined {
  const usage = asObject(value);
  if (usage === undefined) return undefined;
  if (usage.promptTokenCount !== undefined) return toUsage(readGemini(usage));
  return toUsage(isAnthropic(usage) ? readAnthropic(usage) : readOpenAi(usage));
}

/**
 * Reads the usage of OpenAI's chat, responses, embeddings and
 * images, and of compatible APIs. The input includes cached tokens.
 *
 * - DeepSeek: `prompt_cache_hit_tokens`. Moonshot: `cached_tokens`. OpenRouter: `cache_write_tokens` among the details.
 * - DashScope: `cache_creation` among the details. vLLM, Volcengine: OpenAI's names; details may be null.
 * - Mistral: `num_cached_tokens`, and details whose name has no plural.
 * - Gateways in front of Anthropic: its `cache_…_input_tokens` next to OpenAI's totals; new-api: names of its own.
 */
function readOpenAi(usage: UntrustedObject): Figures {
  const { prompt_tokens_details, prompt_token_details, input_tokens_details } = usage;
  const inputs =
    asObject(prompt_tokens_details) ?? asObject(prompt_token_details) ?? asObject(input_tokens_details) ?? {};
  const outputs = asObject(usage.completion_tokens_details) ?? asObject(usage.output_tokens_details) ?? {};
  const cachedParts = asObject(inputs.cached_tokens_details) ?? {};
  const cached = largest(
    inputs.cached_tokens,
    usage.cached_tokens,
    usage.num_cached_tokens,
    usage.prompt_cache_hit_tokens,
    usage.cache_read_input_tokens,
  );
  const writes = readCacheWrites(
    asObject(inputs.cache_creation) ??
      asObject(usage.cache_creation) ?? {
        ephemeral_5m_input_tokens: usage.claude_cache_creation_5_m_tokens,
        ephemeral_1h_input_tokens: usage.claude_cache_creation_1_h_tokens,
      },
    inputs.cache_write_tokens,
    inputs.cached_creation_tokens,
    inputs.cache_creation_input_tokens,
    usage.cache_creation_input_tokens,
  );
  const output = saidOf(usage.completion_tokens, usage.output_tokens ?? 0);
  const total = largest(usage.total_tokens);
  const said = saidOf(usage.prompt_tokens, usage.input_tokens);
  const reasoning = largest(outputs.reasoning_tokens);
  const beyond = total - (said ?? 0) - (output ?? 0);
  const written = writes.cacheWrite + writes.cacheWrite1h;
  // Anthropic's input excludes cached tokens, and one that included them would not be smaller than they are.
  const isSmaller = largest(usage.cache_read_input_tokens) > (said ?? 0);
  // Reasoning that the output leaves out has the same effect on the total.
  const excluded = isSmaller ? cached + written : beyond === reasoning ? 0 : excludedFromInput(beyond, cached, written);
  return {
    input: said === undefined ? undefined : said + excluded,
    output,
    total,
    cached,
    cacheWrite: writes.cacheWrite,
    cacheWrite1h: writes.cacheWrite1h,
    audioInput: largest(inputs.audio_tokens),
    imageInput: largest(inputs.image_tokens),
    cachedAudio: largest(cachedParts.audio_tokens),
    cachedImages: largest(cachedParts.image_tokens),
    audioOutput: largest(outputs.audio_tokens),
    imageOutput: largest(outputs.image_tokens),
    reasoning,
  };
}

/** The figure under the first of its names that says more than 0: some gateways write all names, and use one of them. */
const saidOf = (first: unknown, second: unknown): number | undefined =>
  toCount(first) === 0 && (toCount(second) ?? 0) > 0 ? toCount(second) : toCount(first ?? second);

/**
 * Tokens read from or written to a cache that the input leaves out, as it does in gateways in front of Bedrock: all of
 * them, or only those that were written. Only the total reveals it.
 *
 * @param beyond by how much the total exceeds input and output
 */
const excludedFromInput = (beyond: number, cached: number, written: number): number =>
  beyond > 0 && (beyond === cached + written || beyond === written) ? beyond : 0;

/**
 * Tokens written to a cache.
 * @param totals spellings of their sum; `details` splits them by how long they are kept
 */
function readCacheWrites(details: unknown, ...totals: readonly unknown[]) {
  const { ephemeral_5m_input_tokens: short, ephemeral_1h_input_tokens: long } = asObject(details) ?? {};
  const cacheWrite1h = largest(long);
  const all = largest(...totals, cacheWrite1h + largest(short));
  return { cacheWrite: Math.max(0, all - cacheWrite1h), cacheWrite1h };
}

/** Anthropic never reports a total, and OpenAI's responses always do. */
const isAnthropic = (usage: UntrustedObject): boolean =>
  usage.prompt_tokens === undefined &&
  usage.total_tokens === undefined &&
  (usage.cache_read_input_tokens !== undefined || usage.cache_creation_input_tokens !== undefined);

/**
 * Reads Anthropic's Messages usage: the input excludes tokens read from or written
 * to the cache (docs.claude.com, prompt caching), and the totals exclude context
 * compactions, which are billed like the rest (docs.claude.com, compaction).
 */
function readAnthropic(usage: UntrustedObject): Figures {
  const all = readAnthropicPart(usage);
  const iterations = Array.isArray(usage.iterations) ? usage.iterations.map(asObject) : [];
  return iterations
    .filter((each) => each !== undefined)
    .filter(({ type }) => type === 'compaction')
    .map(readAnthropicPart)
    .reduce(addFigures, all);
}

const sumOf = (a: number | undefined, b: number | undefined): number | undefined =>
  a === undefined || b === undefined ? undefined : a + b;

const addFigures = (a: Figures, b: Figures): Figures => ({
  ...a,
  input: sumOf(a.input, b.input),
  output: sumOf(a.output, b.output),
  cached: a.cached + b.cached,
  cacheWrite: a.cacheWrite + b.cacheWrite,
  cacheWrite1h: a.cacheWrite1h + b.cacheWrite1h,
});

function readAnthropicPart(usage: UntrustedObject): Figures {
  const cached = largest(usage.cache_read_input_tokens);
  const writes = readCacheWrites(usage.cache_creation, usage.cache_creation_input_tokens);
  const uncached = toCount(usage.input_tokens);
  return {
    ...NO_FIGURES,
    input: uncached === undefined ? undefined : uncached + cached + writes.cacheWrite + writes.cacheWrite1h,
    output: toCount(usage.output_tokens ?? 0),
    cached,
    cacheWrite: writes.cacheWrite,
    cacheWrite1h: writes.cacheWrite1h,
    reasoning: largest(asObject(usage.output_tokens_details)?.thinking_tokens),
  };
}

/**
 * Reads Gemini's `usageMetadata`: thinking is separate from the candidates, tool results from the prompt
 * (ai.google.dev, GenerateContentResponse). Some endpoints count thinking among the candidates, which the total reveals.
 */
function readGemini(usage: UntrustedObject): Figures {
  const prompt = toCount(usage.promptTokenCount);
  const candidates = toCount(usage.candidatesTokenCount ?? 0);
  const thoughts = largest(usage.thoughtsTokenCount);
  const input = prompt === undefined ? undefined : prompt + largest(usage.toolUsePromptTokenCount);
  const total = largest(usage.totalTokenCount);
  const isIncluded = candidates !== undefined && candidates >= thoughts && total === (input ?? 0) + candidates;
  return {
    ...NO_FIGURES,
    input,
    output: candidates === undefined || isIncluded ? candidates : candidates + thoughts,
    total,
    cached: largest(usage.cachedContentTokenCount),
    audioInput: ofModality(usage.promptTokensDetails, 'AUDIO') + ofModality(usage.toolUsePromptTokensDetails, 'AUDIO'),
    imageInput: ofModality(usage.promptTokensDetails, 'IMAGE') + ofModality(usage.toolUsePromptTokensDetails, 'IMAGE'),
    cachedAudio: ofModality(usage.cacheTokensDetails, 'AUDIO'),
    cachedImages: ofModality(usage.cacheTokensDetails, 'IMAGE'),
    audioOutput: ofModality(usage.candidatesTokensDetails, 'AUDIO'),
    imageOutput: ofModality(usage.candidatesTokensDetails, 'IMAGE'),
    reasoning: thoughts,
  };
}

function ofModality(details: unknown, modality: string): number {
  if (!Array.isArray(details)) return 0;
  const named = details.map(asObject).find((each) => each?.modality === modality);
  return largest(named?.tokenCount);
}

const NO_FIGURES: Figures = {
  input: 0,
  output: 0,
  total: 0,
  cached: 0,
  cacheWrite: 0,
  cacheWrite1h: 0,
  audioInput: 0,
  imageInput: 0,
  cachedAudio: 0,
  cachedImages: 0,
  audioOutput: 0,
  imageOutput: 0,
  reasoning: 0,
};

/**
 * Converts figures to totals and parts that do not overlap. Gemini and xAI, in OpenAI's format, leave reasoning out of
 * `completion_tokens` but bill it as output: only the total includes it, or without a total, more reasoning than output
 * reveals it. Cached media count as cached; where an upstream does not say which input was cached, text is assumed to
 * be cached first.
 */
function toUsage(figures: Figures): Usage | undefined {
  const { input, output, total } = figures;
  if (input === undefined || output === undefined) return undefined;
  const beyondInput = Math.max(0, total - input);
  let left = input;
  const take = (count: number): number => {
    const taken = Math.max(0, Math.min(count, left));
    left -= taken;
    return taken;
  };
  const isExcluded = total === 0 && figures.reasoning > output;
  const completionTokens = Math.max(output + (isExcluded ? figures.reasoning : 0), beyondInput);
  const audioOutput = Math.min(figures.audioOutput, completionTokens);
  const imageOutput = Math.min(figures.imageOutput, completionTokens - audioOutput);
  const parts: Record<TokenPart, number> = {
    cached_input: take(figures.cached),
    cache_write_1h: take(figures.cacheWrite1h),
    cache_write: take(figures.cacheWrite),
    audio_input: take(figures.audioInput - figures.cachedAudio),
    image_input: take(figures.imageInput - figures.cachedImages),
    audio_output: audioOutput,
    image_output: imageOutput,
  };
  const hasParts = left < input || audioOutput + imageOutput > 0;
  const reasoningTokens = Math.min(Math.max(figures.reasoning, beyondInput - output), completionTokens);
  const totals = { promptTokens: input, completionTokens, reasoningTokens };
  return hasParts ? { ...totals, parts } : totals;
}

const OUTPUT_PARTS = ['audio_output', 'image_output'] as const;
const INPUT_PARTS = ['cached_input', 'cache_write_1h', 'cache_write', 'audio_input', 'image_input'] as const;

/** Limits parts to their totals, in order of precedence, as `toUsage` takes them. */
function withinTotals(usage: Usage): Usage {
  const { promptTokens, completionTokens, parts } = usage;
  if (parts === undefined) return usage;
  const fitted: Partial<Record<TokenPart, number>> = {};
  const fit = (names: readonly TokenPart[], total: number): void => {
    let left = total;
    for (const part of names) {
      const tokens = Math.min(parts[part] ?? 0, left);
      left -= tokens;
      fitted[part] = tokens;
    }
  };
  fit(INPUT_PARTS, promptTokens);
  fit(OUTPUT_PARTS, completionTokens);
  return { ...usage, parts: fitted };
}

/** The larger of each figure that two events of one stream report. */
function largerUsage(a: Usage, b: Usage): Usage {
  const totals = {
    promptTokens: Math.max(a.promptTokens, b.promptTokens),
    completionTokens: Math.max(a.completionTokens, b.completionTokens),
    reasoningTokens: Math.max(a.reasoningTokens, b.reasoningTokens),
  };
  if (a.parts === undefined && b.parts === undefined) return totals;
  const parts: Partial<Record<TokenPart, number>> = {};
  for (const part of [...INPUT_PARTS, ...OUTPUT_PARTS])
    parts[part] = Math.max(a.parts?.[part] ?? 0, b.parts?.[part] ?? 0);
  return withinTotals({ ...totals, parts });
}

/** Upper bounds of a call's usage. */
export interface UsageBounds {
  readonly promptTokens: number;
  readonly completionTokens: number;
}

/** Caps a usage at the maximum the call can have cost, whatever the upstream reports. */
export function boundUsage(usage: Usage, bounds: UsageBounds): Usage {
  if (usage.promptTokens <= bounds.promptTokens && usage.completionTokens <= bounds.completionTokens) return usage;
  const completionTokens = Math.min(usage.completionTokens, bounds.completionTokens);
  return withinTotals({
    ...usage,
    promptTokens: Math.min(usage.promptTokens, bounds.promptTokens),
    completionTokens,
    reasoningTokens: Math.min(usage.reasoningTokens, completionTokens),
  });
}

/**
 * Figures of one stream, which upstreams report once, repeatedly, or in parts. They are cumulative: figures that a
 * later event omits, nulls or resets to zero keep their value, and no total ever decreases, unless a later event says
 * that cached input was reported twice.
 */
export class UsageTotals {
  #figures: UntrustedObject | undefined;
  #usage: Usage | undefined;

  add(figures: UntrustedObject | undefined): void {
    if (figures === undefined) return;
    const whole = wholeInputOf(figures);
    // Kimi and Qwen first report the whole input, some gateways beside what of it was cached, and its parts last.
    if (whole !== undefined && whole === toCount(this.#figures?.input_tokens)) this.#usage = undefined;
    // Beside cached input, a zero is no reset.
    const earlier = whole === undefined ? this.#figures : { ...this.#figures, input_tokens: undefined };
    this.#figures = earlier === undefined ? figures : mergeFigures(earlier, figures);
    const usage = parseUsage(this.#figures);
    if (usage !== undefined) this.#usage = this.#usage === undefined ? usage : largerUsage(this.#usage, usage);
  }

  /** Undefined until the figures suffice for a charge. */
  get usage(): Usage | undefined {
    return this.#usage;
  }
}

/** All input of Anthropic's figures, if they say which of it was cached; undefined otherwise. */
function wholeInputOf(figures: UntrustedObject): number | undefined {
  if (figures.input_tokens === undefined || figures.total_tokens !== undefined) return undefined;
  const { input, cached, cacheWrite, cacheWrite1h } = readAnthropicPart(figures);
  return cached + cacheWrite + cacheWrite1h > 0 ? input : undefined;
}

/** Adds the later figures to the earlier ones. */
function mergeFigures(earlier: UntrustedObject, later: UntrustedObject): UntrustedObject {
  const merged: Record<string, unknown> = { ...earlier };
  for (const [key, value] of Object.entries(later)) {
    const known = asObject(merged[key]);
    const inner = asObject(value);
    if (inner !== undefined) merged[key] = known === undefined ? inner : mergeFigures(known, inner);
    else if (!saysNothing(value) || merged[key] === undefined || merged[key] === null) merged[key] = value;
  }
  return merged;
}

const saysNothing = (figure: unknown): boolean =>
  figure === null ||
  figure === undefined ||
  figure === 0 ||
  figure === '0' ||
  (Array.isArray(figure) && figure.length === 0);

const USAGE_KEY = '"usage"';

/** Finds the last usage object in a JSON text without parsing the rest. Inside strings the key's quotes are escaped. */
export function findUsageInText(text: string): Usage | undefined {
  for (let at = text.lastIndexOf(USAGE_KEY); at !== -1; at = at === 0 ? -1 : text.lastIndexOf(USAGE_KEY, at - 1)) {
    const open = /^\s*:\s*\{/.exec(text.slice(at + USAGE_KEY.length, at + USAGE_KEY.length + 16));
    if (open === null) continue;
    const start = at + USAGE_KEY.length + open[0].length - 1;
    const usage = parseUsage(parseObjectAt(text, start));
    if (usage !== undefined) return usage;
  }
  return undefined;
}

const MAX_USAGE_LENGTH = 4_096;

/**
 * Parses the object that starts at `start`; usage objects
 * contain numbers and objects of numbers, no text with brackets.
 */
function parseObjectAt(text: string, start: number): unknown {
  let depth = 0;
  for (let at = start; at < text.length && at < start + MAX_USAGE_LENGTH; at++) {
    const character = text[at];
    if (character === '{') depth++;
    else if (character === '}' && --depth === 0) return tryParse(text.slice(start, at + 1));
  }
  return undefined;
}

/** Allowance for the few tokens that frame each message of a conversation. */
export const TOKENS_PER_MESSAGE = 8;

/** Longer texts are counted by sampling, in characters. */
const MAX_COUNTED_LENGTH = 64_000;
/** Characters counted at a time: rare letters take up to 7 ms, prose a fraction of one. */
const SLICE_LENGTH = 500;
/** Other work runs after the slice that exceeds this time. */
const TURN_MS = 4;

type Count = (text: string, options: { disallowedSpecial: Set<string> }) => number;

let loading: Promise<Count> | undefined;

/** Names of control tokens inside a user's text are plain text. */
const NO_SPECIAL_TOKENS = { disallowedSpecial: new Set<string>() };

/**
 * Counts tokens as OpenAI's models since GPT-4o do (o200k_base), for upstreams that do not report usage. Other vendors'
 * tokenizers differ by a few percent. The table is loaded at the first call, because most processes never need it and
 * its memory.
 */
export async function countTokens(text: string): Promise<number> {
  if (text === '') return 0;
  loading ??= import('gpt-tokenizer/encoding/o200k_base').then((module) => module.countTokens as Count);
  const count = await loading;
  const counted = Math.min(text.length, MAX_COUNTED_LENGTH);
  let tokens = 0;
  let turnEndsAt = performance.now() + TURN_MS;
  for (let at = 0; at < counted; ) {
    const end = endOfSlice(text, at, counted);
    tokens += countSlice(count, text.slice(at, end));
    at = end;
    if (at >= counted || performance.now() < turnEndsAt) continue;
    await nextTurn();
    turnEndsAt = performance.now() + TURN_MS;
  }
  return Math.ceil((tokens * text.length) / counted);
}

/** Splits before a space where possible, because tokens start there. */
function endOfSlice(text: string, from: number, limit: number): number {
  const end = from + SLICE_LENGTH;
  if (end >= limit) return limit;
  const blank = text.lastIndexOf(' ', end);
  return blank > from ? blank : end;
}

/** A run without a boundary is one piece to the tokenizer, whose time is quadratic in its length. */
const LONG_RUN = /\S{64}(?=\S)|\s{64}(?=\s)/g;

function countSlice(count: Count, slice: string): number {
  let insertedBreaks = 0;
  const withBreaks = slice.replace(LONG_RUN, (run) => {
    insertedBreaks++;
    return run + (run.trim() === '' ? 'x' : '\n');
  });
  return Math.max(1, count(withBreaks, NO_SPECIAL_TOKENS) - insertedBreaks);
}

/** Members of a body that are not part of the prompt. */
const NON_PROMPT_KEYS: ReadonlySet<string> = new Set([
  'model',
  'role',
  'type',
  'detail',
  'format',
  'id',
  'tool_call_id',
  'call_id',
  'tool_use_id',
  'media_type',
  'signature',
]);

/** The content of a body that a model reads. */
interface PromptContent {
  /** The text without images. */
  readonly text: string;
  readonly imageCount: number;
  /** Texts that are given as token ids, which embeddings accept. */
  readonly tokenIdCount: number;
}

/** Extracts the texts of a request that a model reads. */
export function extractPrompt(body: UntrustedObject): PromptContent {
  const texts: string[] = [];
  let imageCount = 0;
  walkStrings(
    body,
    (key, text) => {
      if (isMedia(key, text)) imageCount++;
      else texts.push(text);
    },
    () => {},
    NON_PROMPT_KEYS,
  );
  const input = Array.isArray(body.input) ? body.input.flat() : [];
  return { text: texts.join('\n'), imageCount, tokenIdCount: input.filter((each) => typeof each === 'number').length };
}

/** Members that hold media; the same characters in any other member are text to a model. */
const MEDIA_KEY = /^((image|video|audio|file)_url|file_data|data|image|images|video|audio|b64_json)$/;
const VISUAL_URL_KEY = /^(image|video)_url$/;
/** Types of message parts whose members are media, whatever their names are; only their `text` is prose. */
const MEDIA_PART = /image|video|audio|file|media|document/i;

/** Whether a text is a data URL, Base64 without a space, or the URL of an image or video. */
export const isMedia = (key: string, text: string): boolean =>
  (VISUAL_URL_KEY.test(key) && /^https?:/i.test(text)) ||
  (MEDIA_KEY.test(key) && (/^data:/i.test(text) || (text.length > 1_024 && /^[A-Za-z0-9+/]{1024}/.test(text))));

/**
 * Visits every string of a value, without recursion, because the sender chooses the depth, and without an allocation
 * per element, because the sender also chooses the width. `key` is the member that holds a string; `url` of an object
 * gets the name of that object.
 */
export function walkStrings(
  root: unknown,
  onString: (key: string, text: string, isMediaPart: boolean) => void,
  onObject: (object: UntrustedObject) => void,
  skippedKeys: ReadonlySet<string>,
): void {
  const keys = [''];
  const values = [root];
  while (values.length > 0) {
    const value = values.pop();
    const key = keys.pop() ?? '';
    if (Array.isArray(value)) {
      for (const inner of value) {
        if (typeof inner === 'string') onString(key, inner, false);
        else if (typeof inner === 'object' && inner !== null) {
          keys.push(key);
          values.push(inner);
        }
      }
    } else if (typeof value === 'object' && value !== null) {
      const object = value as UntrustedObject;
      onObject(object);
      const isMediaPart = typeof object.type === 'string' && MEDIA_PART.test(object.type);
      for (const name of Object.keys(object)) {
        if (skippedKeys.has(name)) continue;
        const inner = object[name];
        const innerKey =
          key === OPAQUE_KEY || (object !== root && isToolArguments(name, object))
            ? OPAQUE_KEY
            : name === 'url'
              ? key
              : name;
        if (typeof inner === 'string') onString(innerKey, inner, isMediaPart);
        else if (typeof inner === 'object' && inner !== null) {
          keys.push(innerKey);
          values.push(inner);
        }
      }
    }
  }
}

/**
 * Key reported for members below a caller's own data, such as the arguments of a tool call: these may hold URLs of the
 * caller's machine and are text to a model.
 */
const OPAQUE_KEY = 'arguments';

/** Whether a member holds the arguments of a tool call. */
export const isToolArguments = (name: string, { type, name: func }: UntrustedObject): boolean =>
  (name === 'input' && (type === 'tool_use' || type === 'server_tool_use')) ||
  ((name === 'args' || name === 'response') && type === undefined && typeof func === 'string');
