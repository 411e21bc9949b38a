import { hash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { LRUCache } from 'lru-cache';
import { asObject, type UntrustedObject } from '../../contract/objects.ts';
import type { Channel } from '../channels/directory.ts';
import { AppError, invalidRequest } from '../platform/app-error.ts';
import { validatorFor } from '../platform/http/schema-validation.ts';
import { countValues, JsonBoundsScanner } from '../platform/json.ts';
import { concatRequestBytes, toRequestBytes } from '../platform/request-bytes.ts';
import { CHAT_DIALECT, type Dialect, listOf, RESPONSES_DIALECT, textOf } from './dialects.ts';
import {
  findGovernedOptions,
  type GovernedOption,
  inspectMedia,
  lettersOf,
  type MediaCounts,
  toolsOf,
} from './options.ts';
import { findResponsesChanges } from './responses-body.ts';
import type { Usage } from './usage.ts';

/** A model call as received from its caller. */
export interface ChatRequest {
  readonly dialect: Dialect;
  /** Dialect in which the caller reads the response; another one than the request's for Cursor alone. */
  readonly responseDialect: Dialect;
  /** The received body without a byte order mark, which few parsers accept. */
  readonly rawBody: Buffer;
  readonly body: UntrustedObject;
  readonly model: string;
  readonly stream: boolean;
  /** The caller requested the usage event of a stream, in OpenAI's format or in OpenRouter's. */
  readonly wantsUsage: boolean;
  /** The usage of a stream is not requested, because an upstream refused the option for it. */
  readonly omitsUsage?: boolean;
  /** Number of choices requested in one call. */
  readonly choiceCount: number;
  /** The caller's own limit for one choice, in tokens; 0: none. */
  readonly requestedLimit: number;
  /** Requested budget of reasoning tokens; 0: none. */
  readonly thinkingBudget: number;
  /** Maximum tokens of the response, all choices together; the dialect's default if the caller sets no limit. */
  readonly maxOutputTokens: number;
  /** Upper bound of the prompt's tokens, with images counted at a usual size. */
  readonly estimatedPromptTokens: number;
  /** Caller headers forwarded unchanged to an upstream of the same dialect. */
  readonly forwardedHeaders: Readonly<Record<string, string>> | undefined;
  /** Options that `options.ts` has a rule for. */
  readonly governedOptions: readonly GovernedOption[];
}

/** No tokenizer produces more tokens than a text has bytes. */
const MAX_TOKENS_PER_BYTE = 1;
const TOKENS_PER_IMAGE = 1_500;
/** Estimate for text the upstream stores and reads again: an item referenced by its id, or a whole conversation. */
const TOKENS_PER_ITEM_REFERENCE = 4_096;
const TOKENS_PER_STORED_CONVERSATION = 128_000;

/** Facts about a request that are not in its body. */
export interface RequestFacts {
  readonly headers?: IncomingHttpHeaders;
  /** From the path, in dialects that have the model and streaming there. */
  readonly model?: string;
  readonly stream?: boolean;
  /**
   * Number of members in the body as written, where it was
   * counted. Equal to the number parsed unless a name is repeated.
   */
  readonly rootMembers?: number;
  /** Number of values in the body as written, where it was counted: members, elements and the body itself. */
  readonly values?: number;
}

/**
 * Parses and validates a request.
 * @param dialect of the path; the body decides if it is one of the Responses API
 * @throws AppError `invalid_request`
 */
export function parseChatRequest(
  dialect: Dialect,
  bytes: Buffer,
  value: unknown,
  facts: RequestFacts = {},
): ChatRequest {
  const changes = dialect === CHAT_DIALECT ? findResponsesChanges(asObject(value) ?? {}) : undefined;
  if (changes === undefined) return parseBody(dialect, bytes, value, facts);
  const request = parseBody(RESPONSES_DIALECT, bytes, value, facts);
  return {
    ...request,
    responseDialect: dialect,
    rawBody: changeMembers(request.rawBody, changes),
    body: { ...request.body, ...changes },
  };
}

function parseBody(
  dialect: Dialect,
  bytes: Buffer,
  value: unknown,
  { headers = {}, model, stream, rootMembers, values = countWrittenValues(bytes) }: RequestFacts,
): ChatRequest {
  const given = dialect.normalize?.(value as UntrustedObject) ?? (value as UntrustedObject);
  const numbers = findNumbersAsText(dialect, given);
  const body = numbers.length === 0 ? given : withNumbers(dialect, given, numbers);
  const checked = validatorFor(dialect.body)(body);
  if ('error' in checked) throw checked.error;
  assertUnambiguousMembers(bytes, body, decisiveMembers(dialect), rootMembers);
  const contents = inspectMedia(body);
  const governedOptions = findGovernedOptions(dialect, body, contents);
  const requestedLimit = findRequestedLimit(dialect, body);
  const choiceCount = dialect.hasChoiceCount && typeof body.n === 'number' ? body.n : 1;
  // Parsers differ in whether the first or the last of a repeated name counts, so the upstream is sent the value that
  // was checked here.
  const written = hasRepeatedNames(bytes, value, values)
    ? toRequestBytes(JSON.stringify(value))
    : withoutByteOrderMark(bytes);
  return {
    dialect,
    responseDialect: dialect,
    rawBody:
      dialect.limitContainer === undefined
        ? numbers.reduce((changed, [key, number]) => setProperty(changed, key, String(number)), written)
        : written,
    body,
    model: model ?? String(body.model),
    stream: stream ?? body.stream === true,
    wantsUsage: asksForUsage(body) || asObject(body.usage)?.include === true,
    choiceCount,
    requestedLimit,
    thinkingBudget: findThinkingBudget(dialect, body),
    maxOutputTokens: (requestedLimit > 0 ? requestedLimit : dialect.defaultMaxTokens) * choiceCount,
    estimatedPromptTokens: boundPromptTokens(bytes.length, contents, governedOptions),
    forwardedHeaders: pickHeaders(dialect.forwardedHeaders, headers),
    governedOptions,
  };
}

const NUMERIC_TEXT = /^(?:-1|\d{1,8})$/;

/** Limits and numbers of choices that a client wrote as text, which Google's parsers accept, and no other. */
function findNumbersAsText(
  { maxTokensKeys, limitContainer, hasChoiceCount }: Dialect,
  body: UntrustedObject,
): readonly (readonly [key: string, number: number])[] {
  const place = limitContainer === undefined ? (asObject(body) ?? {}) : limitsOf(body, limitContainer);
  const found: [string, number][] = [];
  const read = (key: string): void => {
    const value = place[key];
    if (typeof value === 'string' && NUMERIC_TEXT.test(value)) found.push([key, Number(value)]);
  };
  for (const key of maxTokensKeys) read(key);
  if (hasChoiceCount) read('n');
  return found;
}

function withNumbers(
  { limitContainer }: Dialect,
  body: UntrustedObject,
  numbers: readonly (readonly [key: string, number: number])[],
): UntrustedObject {
  const changed = Object.fromEntries(numbers);
  if (limitContainer === undefined) return { ...body, ...changed };
  return { ...body, [limitContainer]: { ...limitsOf(body, limitContainer), ...changed } };
}

const asksForUsage = (body: UntrustedObject): boolean => asObject(body.stream_options)?.include_usage === true;

function countWrittenValues(bytes: Buffer): number {
  const scanner = new JsonBoundsScanner(Number.POSITIVE_INFINITY);
  scanner.push(bytes);
  return scanner.values;
}

/** Whether a name is repeated within one object; removing nulls from a value also reduces its number of members. */
const hasRepeatedNames = (bytes: Buffer, value: unknown, written: number): boolean =>
  written !== countValues(value) && written !== countValues(JSON.parse(withoutByteOrderMark(bytes).toString('utf8')));

/** Undefined where no header is forwarded. */
function pickHeaders(
  names: readonly string[],
  headers: IncomingHttpHeaders,
): Readonly<Record<string, string>> | undefined {
  if (names.length === 0) return undefined;
  const given = names.map((name) => [name, headers[name]] as const).filter(([, value]) => value !== undefined);
  return Object.fromEntries(given.map(([name, value]) => [name, String(value)]));
}

/** Members that decide the price. */
function decisiveMembers({ limitContainer, maxTokensKeys, promptKey }: Dialect): readonly string[] {
  const limits = limitContainer === undefined ? maxTokensKeys : [limitContainer];
  return [promptKey, 'model', 'tools', 'stream', ...limits, 'n', 'size', 'quality', 'background'];
}

/**
 * Refuses ambiguous spellings of members that decide the price, because every
 * parser must read them alike. Of a repeated name some parsers take the first
 * and some the last, and some (Go's encoding/json) accept `Model` for `model`.
 */
function assertUnambiguousMembers(
  bytes: Buffer,
  body: UntrustedObject,
  names: readonly string[],
  rootMembers: number | undefined,
): void {
  const keys = Object.keys(body);
  for (const key of keys) {
    if (names.includes(key)) continue;
    // Upper-cased first because some parsers also match the long s with s.
    const name = key.toUpperCase().toLowerCase();
    if (name !== key && names.includes(name)) throw invalidRequest(`${key} must be written ${name}.`, key);
  }
  if (keys.length === rootMembers) return;
  for (const name of names) {
    if (!Object.hasOwn(body, name)) continue;
    const quoted = `"${name}"`;
    const at = bytes.indexOf(quoted);
    const mayBeDuplicate = at !== bytes.lastIndexOf(quoted) || bytes.includes(ESCAPED_LETTER_PREFIX);
    if (mayBeDuplicate && findProperties(bytes, name).length > 1) throw invalidRequest(`${name} is given twice.`, name);
  }
}

/** Letters of names are U+005F to U+0078; the only reason to escape them is to evade the checks. */
const ESCAPED_LETTER_PREFIX = '\\u00';
const withoutByteOrderMark = (bytes: Buffer): Buffer =>
  bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? bytes.subarray(3) : bytes;

function boundPromptTokens(
  size: number,
  { mediaLength, imageCount, itemReferences }: MediaCounts,
  options: readonly GovernedOption[],
): number {
  const stored = options.some(({ name }) => name === 'previous_response_id' || name === 'conversation') ? 1 : 0;
  return (
    Math.max(0, size - mediaLength) * MAX_TOKENS_PER_BYTE +
    estimateImageTokens(imageCount) +
    itemReferences * TOKENS_PER_ITEM_REFERENCE +
    stored * TOKENS_PER_STORED_CONVERSATION
  );
}

/**
 * The largest limit the caller sets, as upstreams differ in
 * which key they use. 0: none, as upstreams treat 0 as no limit.
 */
function findRequestedLimit({ maxTokensKeys, limitContainer }: Dialect, body: UntrustedObject): number {
  const place = limitContainer === undefined ? body : limitsOf(body, limitContainer);
  let limit = 0;
  for (const key of maxTokensKeys) {
    const value = place[key];
    if (typeof value === 'number' && value > limit) limit = value;
  }
  return limit;
}

/** The object that holds the limits of a request, where that is not the body itself. */
const limitsOf = (body: UntrustedObject, container: string): UntrustedObject =>
  asObject(asObject(body)?.[container]) ?? {};

/** Names of a budget of reasoning tokens in all dialects, reduced to their letters. */
const BUDGET_NAMES: ReadonlySet<string> = new Set(['thinkingbudget', 'budgettokens', 'reasoningbudget']);
/** Depth of nested objects in which options are searched. */
const OPTION_DEPTH = 3;

/**
 * The largest reasoning budget the caller sets, in tokens; some
 * upstreams do not count it against the limit of the response.
 */
function findThinkingBudget({ promptKey }: Dialect, body: UntrustedObject): number {
  let largest = toCount(asObject(body.reasoning)?.max_tokens);
  const visit = (members: UntrustedObject, depth: number): void => {
    for (const key of Object.keys(members)) {
      const value = members[key];
      if (typeof value === 'number' || typeof value === 'string') {
        if (BUDGET_NAMES.has(lettersOf(key))) largest = Math.max(largest, toCount(value));
      } else if (depth < OPTION_DEPTH && key !== promptKey && !Array.isArray(value)) {
        const inner = asObject(value);
        if (inner !== undefined) visit(inner, depth + 1);
      }
    }
  };
  visit(body, 1);
  return Math.min(largest, MAX_THINKING_BUDGET);
}

/** A number of tokens, which Google's parsers also accept as text; 0 if the value is not a number. */
function toCount(value: unknown): number {
  const count = typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : value;
  return typeof count === 'number' && Number.isFinite(count) && count > 0 ? Math.ceil(count) : 0;
}

const MAX_THINKING_BUDGET = 1_000_000;

/** Whether a call may involve audio: every way to request it, as content or as an output, contains the word. */
export const mayUseAudio = ({ rawBody }: Pick<ChatRequest, 'rawBody'>): boolean =>
  rawBody.includes('audio') || rawBody.includes(ESCAPED_LETTER_PREFIX);

/** Upper estimate of the tokens of a number of images. */
export const estimateImageTokens = (imageCount: number): number => imageCount * TOKENS_PER_IMAGE;

/** A limit of generated tokens, added to a request whose caller set none. */
export interface OutputLimit {
  /** The member of the body that holds it. */
  readonly key: string;
  /** Tokens of one choice. */
  readonly tokens: number;
}

/**
 * A request without the option for the usage of a stream, after an upstream refused it for that; its tokens are counted.
 * @returns undefined if it was refused for something else, or the caller requested usage
 */
export const withoutUsageOption = (request: ChatRequest, refusal: string): ChatRequest | undefined =>
  request.stream && !request.wantsUsage && /\bstream_options\b/.test(refusal)
    ? { ...request, omitsUsage: true }
    : undefined;

/** Changes to a request for one upstream; everything else is sent as the caller wrote it. */
interface UpstreamChanges {
  /** Name of the model that an alias stands for. */
  readonly model: string;
  /** The limit that was reserved, where the caller set none. */
  readonly limit: OutputLimit | undefined;
  /** Indexes of the tools to drop. */
  readonly droppedTools: readonly number[];
}

/** The bytes to send to the upstream. Usage of a stream is requested even if the caller did not request it. */
export function toUpstreamBody(request: ChatRequest, { model, limit, droppedTools }: UpstreamChanges): Buffer {
  const { body, dialect, rawBody } = request;
  let bytes = rawBody;
  if (model !== request.model && dialect.upstreamPath === undefined)
    bytes = setProperty(bytes, 'model', JSON.stringify(model));
  if (limit !== undefined) bytes = setLimit(bytes, request, limit);
  if (request.stream && dialect.streamUsageIsOptIn && !asksForUsage(body))
    bytes = setProperty(
      bytes,
      'stream_options',
      JSON.stringify({ ...asObject(body.stream_options), include_usage: true }),
    );
  if (droppedTools.length > 0) {
    const tools = toolsOf(body).filter((_, index) => !droppedTools.includes(index));
    bytes =
      tools.length === 0
        ? removeProperty(removeProperty(bytes, 'tools'), 'tool_choice')
        : setProperty(bytes, 'tools', JSON.stringify(tools));
  }
  return bytes;
}

/** Sets a limit and removes the members that set no limit; all other members keep their bytes. */
function setLimit(
  bytes: Buffer,
  { dialect: { limitContainer, maxTokensKeys } }: ChatRequest,
  { key, tokens }: OutputLimit,
): Buffer {
  const value = String(tokens);
  if (limitContainer === undefined) {
    // Such as `max_tokens: -1`, which only some upstreams accept as no limit.
    const others = maxTokensKeys.filter((other) => other !== key);
    return setProperty(others.reduce(removeProperty, bytes), key, value);
  }
  const container = [limitContainer, toSnakeCase(limitContainer)].find(
    (name) => findProperties(bytes, name).length > 0,
  );
  const [span] = findProperties(bytes, container ?? limitContainer);
  const written = span === undefined ? Buffer.alloc(0) : bytes.subarray(span.start, span.end);
  const members = written[0] === OPEN_OBJECT ? written : Buffer.from('{}');
  const limited = setProperty(removeProperty(members, toSnakeCase(key)), key, value);
  return setProperty(bytes, container ?? limitContainer, limited.toString('utf8'));
}

const OPEN_OBJECT = 0x7b;

const toSnakeCase = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** The error for a model that exists but does not serve this kind of call. */
export const wrongModelKind = (model: string, kind: string): AppError =>
  new AppError('invalid_request', {
    params: { detail: `${model} is a model of kind ${kind} and cannot be called at this address.` },
    param: 'model',
  });

/** No vendor caches a smaller request: 1,024 prompt tokens at 4 bytes each. */
const MIN_CACHED_BYTES = 4_096;
/** Number of leading characters that identify a prompt. */
const PREFIX_LENGTH = 4_096;
/**
 * Claude Code puts this note for Anthropic's billing at the start of the system prompt; it differs from call to call.
 */
const BILLING_NOTE = 'x-anthropic-billing-header:';
/** Members that come first in a prompt, in all dialects. */
const SYSTEM_KEYS = ['instructions', 'system', 'systemInstruction', 'system_instruction'];
/** Cache markers move with each turn, so they are not part of the prefix. */
const MARKER_KEY = 'cache_control';

/**
 * Returns a key shared by calls with the same cached prompt prefix. They should use the same channel because a vendor's
 * cache is separate for each account. The key is the caller's own grouping (OpenAI's `prompt_cache_key`), or else the
 * start of the prompt in the order in which vendors cache it: the tools' names, the system prompt, the first messages.
 * No state is kept, so all processes compute the same key.
 *
 * @returns undefined where nothing is cached, so that any channel will do
 */
export function cacheAffinityKey({ dialect, body, rawBody, model }: ChatRequest): string | undefined {
  if (dialect.maxTokensKeys.length === 0) return undefined;
  const own = textOf(body.prompt_cache_key);
  if (own !== '') return toKey(`${model}\n${own}`);
  if (rawBody.length < MIN_CACHED_BYTES) return undefined;
  const prefix = new Prefix();
  for (const name of listOf(body.tools)) prefix.addName(name);
  for (const key of SYSTEM_KEYS) prefix.add(body[key]);
  prefix.add(body[dialect.promptKey]);
  return toKey(`${model}\n${prefix.text}`);
}

const toKey = (text: string): string => hash('sha256', text, 'base64');

/** Collects the texts of a prompt in order, up to a maximum length. */
class Prefix {
  text = '';

  /** Adds the name of a tool, wherever its dialect keeps it. */
  addName(tool: unknown): void {
    const { name, function: nested, functionDeclarations: list } = asObject(tool) ?? {};
    this.#append(textOf(name) || textOf(asObject(nested)?.name));
    for (const each of listOf(list)) this.#append(textOf(asObject(each)?.name));
  }

  /** Adds a text, or all texts of a value. */
  add(value: unknown): void {
    if (this.text.length >= PREFIX_LENGTH) return;
    if (typeof value === 'string') {
      if (!value.startsWith(BILLING_NOTE)) this.#append(value);
    } else if (Array.isArray(value)) for (const each of value) this.add(each);
    else if (typeof value === 'object' && value !== null) this.#addMembers(value as UntrustedObject);
  }

  #addMembers(object: UntrustedObject): void {
    for (const key of Object.keys(object)) if (key !== MARKER_KEY) this.add(object[key]);
  }

  #append(text: string): void {
    this.text += `${text.slice(0, Math.max(0, PREFIX_LENGTH - this.text.length))}\n`;
  }
}

/** Position of a member's value in the bytes of an object. */
interface Span {
  /** Index of the opening quote of its name. */
  readonly nameStart: number;
  readonly start: number;
  readonly end: number;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const isBlank = (byte: number | undefined): boolean => byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;

/** Index after the string that starts at `at`. */
function endOfString(bytes: Buffer, at: number): number {
  for (let quote = bytes.indexOf(QUOTE, at + 1); quote !== -1; quote = bytes.indexOf(QUOTE, quote + 1)) {
    let first = quote;
    while (bytes[first - 1] === BACKSLASH) first--;
    if ((quote - first) % 2 === 0) return quote + 1;
  }
  return bytes.length;
}

/** Index after the value that starts at `at`, which is the comma or bracket that ends it. */
function endOfValue(bytes: Buffer, at: number): number {
  let depth = 0;
  for (let i = at; i < bytes.length; i++) {
    const byte = bytes[i];
    if (byte === QUOTE) i = endOfString(bytes, i) - 1;
    else if (byte === 0x7b || byte === 0x5b) depth++;
    else if (byte === 0x7d || byte === 0x5d) {
      if (depth === 0) return i;
      depth--;
    } else if (byte === 0x2c && depth === 0) return i;
  }
  return bytes.length;
}

/**
 * Finds the top-level members of a name in bytes known to be one valid JSON object. Returns every one of them, because
 * of duplicate names some parsers take the first and some the last.
 */
function findProperties(bytes: Buffer, name: string): Span[] {
  const found: Span[] = [];
  if (!bytes.includes(`"${name}"`) && !bytes.includes(ESCAPED_LETTER_PREFIX)) return found;
  let at = bytes.indexOf(0x7b) + 1;
  while (at > 0 && at < bytes.length) {
    const quote = bytes.indexOf(QUOTE, at);
    if (quote === -1) break;
    const keyEnd = endOfString(bytes, quote);
    let start = bytes.indexOf(0x3a, keyEnd) + 1;
    if (start === 0) break;
    while (isBlank(bytes[start])) start++;
    const end = endOfValue(bytes, start);
    if (JSON.parse(bytes.toString('utf8', quote, keyEnd)) === name) found.push({ nameStart: quote, start, end });
    at = end + 1;
    if (bytes[end] !== 0x2c) break;
  }
  return found;
}

/** Sets a top-level member; all other bytes stay as they were written. */
export function setProperty(bytes: Buffer, name: string, value: string): Buffer {
  const spans = findProperties(bytes, name);
  if (spans.length === 0) return insertProperty(bytes, name, value);
  const parts: Buffer[] = [];
  let from = 0;
  for (const { start, end } of spans) {
    parts.push(bytes.subarray(from, start), Buffer.from(value));
    from = end;
  }
  return concatRequestBytes([...parts, bytes.subarray(from)]);
}

/** Sets top-level members, and removes those whose value is undefined. */
export const changeMembers = (bytes: Buffer, changes: UntrustedObject): Buffer =>
  Object.entries(changes).reduce(
    (written, [name, value]) =>
      value === undefined ? removeProperty(written, name) : setProperty(written, name, JSON.stringify(value)),
    bytes,
  );

/** Adds a member that is known to be absent. */
function insertProperty(bytes: Buffer, name: string, value: string): Buffer {
  const open = bytes.indexOf(0x7b) + 1;
  const member = `"${name}":${value}${isEmptyObjectAt(bytes, open) ? '' : ','}`;
  return concatRequestBytes([bytes.subarray(0, open), Buffer.from(member), bytes.subarray(open)]);
}

/** Removes a top-level member with its comma. */
export function removeProperty(bytes: Buffer, name: string): Buffer {
  const [span] = findProperties(bytes, name);
  if (span === undefined) return bytes;
  let end = span.end;
  let start = span.nameStart;
  if (bytes[end] === 0x2c) end++;
  else {
    // The last member: its comma is before it.
    let at = start - 1;
    while (isBlank(bytes[at])) at--;
    if (bytes[at] === 0x2c) start = at;
  }
  return removeProperty(concatRequestBytes([bytes.subarray(0, start), bytes.subarray(end)]), name);
}

function isEmptyObjectAt(bytes: Buffer, open: number): boolean {
  let at = open;
  while (isBlank(bytes[at])) at++;
  return bytes[at] === 0x7d;
}

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

/** The smallest limit that OpenAI's Responses API accepts; converted requests with a smaller one, such as probes, get it. */
export const MIN_RESPONSES_TOKENS = 16;

/** Output tokens to reserve for all choices together, enough for any channel that may serve the call. */
export function reservedOutputTokens(request: ChatRequest, model: string, candidates: readonly Channel[]): number {
  const thinking = request.thinkingBudget * request.choiceCount;
  if (request.requestedLimit > 0 || request.dialect.maxTokensKeys.length === 0) {
    const isRaised =
      request.requestedLimit > 0 &&
      request.dialect !== RESPONSES_DIALECT &&
      candidates.some(({ options }) => options.responses === 'only');
    return Math.max(request.maxOutputTokens, isRaised ? MIN_RESPONSES_TOKENS : 0) + thinking;
  }
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
export class OutputProfiles {
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
   * Tokens generated in a number of seconds, visible or not; 0 for a stream of a model that hides none, or that was not
   * measured. A response that is not streamed shows nothing before it is complete.
   */
  estimate(model: string, request: ChatRequest, seconds: number): number {
    const isShown = request.stream && this.mayHideTokens(model, request) !== true;
    if (isShown || request.dialect.maxTokensKeys.length === 0) return 0;
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
