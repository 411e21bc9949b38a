import type { IncomingHttpHeaders } from 'node:http';
import { asObject, type UntrustedObject } from '../../contract/is-object.ts';
import { AppError, invalidRequest } from '../platform/app-error.ts';
import { memoizeByObject } from '../platform/cache.ts';
import { validatorFor } from '../platform/http/schema-validation.ts';
import { requestScanner } from '../platform/json-scanner.ts';
import { toRequestBytes } from '../platform/request-bytes.ts';
import { checkUrlsAndCountMedia, type MediaAndReferenceCounts } from './check-urls-and-count-media.ts';
import type { Dialect } from './dialect.ts';
import { findProperties, removeProperty, setProperty } from './edit-json-bytes.ts';
import {
  canonicalName,
  findGovernedOptions,
  type GovernedOption,
  toolsOf,
} from './refuse-or-charge-request-options.ts';

/** A model call as its caller made it. */
export interface ChatRequest {
  readonly dialect: Dialect;
  /** As it came, without a byte order mark, which few readers accept. */
  readonly rawBody: Buffer;
  readonly body: UntrustedObject;
  readonly model: string;
  readonly stream: boolean;
  /** The caller asked for the usage event of a stream, in OpenAI's words or in OpenRouter's. */
  readonly wantsUsage: boolean;
  /** Number of choices requested in one call. */
  readonly choiceCount: number;
  /** The caller's own limit for one choice, in tokens; 0: none. */
  readonly requestedLimit: number;
  /** Requested budget of reasoning tokens; 0: none. */
  readonly thinkingBudget: number;
  /** Maximum tokens of the response, all choices together; the dialect's default if the caller sets no limit. */
  readonly maxOutputTokens: number;
  /** Tokens the prompt has at most, pictures by a usual size. */
  readonly estimatedPromptTokens: number;
  /** The caller's headers that an upstream of the same dialect gets as they are. */
  readonly forwardedHeaders: Readonly<Record<string, string>> | undefined;
  /** Options the table of `refuse-or-charge-request-options.ts` has a rule for. */
  readonly governedOptions: readonly GovernedOption[];
}

/** No tokenizer makes more tokens of a text than it has bytes. */
const MAX_TOKENS_PER_BYTE = 1;
const TOKENS_PER_IMAGE = 1_500;
/** For text the upstream keeps and reads again: an item named by its id, and a whole conversation. */
const TOKENS_PER_ITEM_REFERENCE = 4_096;
const TOKENS_PER_STORED_CONVERSATION = 128_000;

/** What a request says outside of its body. */
export interface RequestFacts {
  readonly headers?: IncomingHttpHeaders;
  /** In the path, as some dialects have them. */
  readonly model?: string | undefined;
  readonly stream?: boolean | undefined;
  /** How many members the body was written with, where that was counted: as many as it has, and none is given twice. */
  readonly rootMembers?: number | undefined;
  /** How many values the body was written with, where that was counted: members, elements and the body itself. */
  readonly values?: number | undefined;
}

/** @throws AppError `invalid_request` */
export function parseChatRequest(
  dialect: Dialect,
  bytes: Buffer,
  value: unknown,
  { headers = {}, model, stream, rootMembers, values = countWrittenValues(bytes) }: RequestFacts = {},
): ChatRequest {
  const body = dialect.normalize?.(value as UntrustedObject) ?? (value as UntrustedObject);
  const checked = validatorFor(dialect.body)(body);
  if ('error' in checked) throw checked.error;
  assertUnambiguousMembers(bytes, body, decisiveMembers(dialect), rootMembers);
  const contents = checkUrlsAndCountMedia(body);
  const governedOptions = findGovernedOptions(dialect, body, contents);
  const requestedLimit = findRequestedLimit(dialect, body);
  const choiceCount = dialect.hasChoiceCount && typeof body.n === 'number' ? body.n : 1;
  return {
    dialect,
    // Of a name written twice some readers take the first and some the last: all are sent what was checked here.
    rawBody: hasRepeatedNames(bytes, value, values)
      ? toRequestBytes(JSON.stringify(value))
      : withoutByteOrderMark(bytes),
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

const asksForUsage = (body: UntrustedObject): boolean => asObject(body.stream_options)?.include_usage === true;

function countWrittenValues(bytes: Buffer): number {
  const scanner = requestScanner(Number.POSITIVE_INFINITY);
  scanner.push(bytes);
  return scanner.values;
}

/** Whether some name was written twice in one object; a value whose nulls were taken out has fewer members for that alone. */
const hasRepeatedNames = (bytes: Buffer, value: unknown, written: number): boolean =>
  written !== countValues(value) && written !== countValues(JSON.parse(withoutByteOrderMark(bytes).toString('utf8')));

/** Values of a document that was parsed, itself included; its depth is bounded. */
function countValues(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 1;
  let count = 1;
  for (const inner of Array.isArray(value) ? value : Object.values(value)) count += countValues(inner);
  return count;
}

/** Undefined where nothing passes. */
function pickHeaders(
  names: readonly string[],
  headers: IncomingHttpHeaders,
): Readonly<Record<string, string>> | undefined {
  if (names.length === 0) return undefined;
  const given = names.map((name) => [name, headers[name]] as const).filter(([, value]) => value !== undefined);
  return Object.fromEntries(given.map(([name, value]) => [name, String(value)]));
}

/** Members that decide the price. */
const decisiveMembers = memoizeByObject(({ limitContainer, maxTokensKeys, promptKey }: Dialect): readonly string[] => {
  const limits = limitContainer === undefined ? maxTokensKeys : [limitContainer];
  return [promptKey, 'model', 'tools', 'stream', ...limits, 'n', 'size', 'quality', 'background'];
});

/**
 * What decides the price must mean the same to every reader. Of a name written twice some take the first and some the last,
 * and some (Go's encoding/json) take `Model` for `model`.
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
    // By way of capitals, as to some readers the long s is one too.
    const name = key.toUpperCase().toLowerCase();
    if (name !== key && names.includes(name)) throw invalidRequest(`${key} is to be written ${name}.`, key);
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
  { mediaLength, imageCount, itemReferences }: MediaAndReferenceCounts,
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

/** The largest limit the caller sets, as upstreams differ in which key they use. 0: none, as upstreams treat 0 as no limit. */
function findRequestedLimit({ maxTokensKeys, limitContainer }: Dialect, body: UntrustedObject): number {
  const place = limitContainer === undefined ? body : limitsOf(body, limitContainer);
  let limit = 0;
  for (const key of maxTokensKeys) {
    const value = place[key];
    if (typeof value === 'number' && value > limit) limit = value;
  }
  return limit;
}

/** The object that holds the limits of a request, where it is not the body. */
const limitsOf = (body: UntrustedObject, container: string): UntrustedObject => asObject(body[container]) ?? {};

/** Names of a budget of reasoning tokens in all dialects and their spellings, as `canonicalName` writes them. */
const BUDGET_NAMES: ReadonlySet<string> = new Set(['thinking_budget', 'budget_tokens', 'reasoning_budget']);
/** Levels of objects in which options stand. */
const OPTION_DEPTH = 3;

/** The caller's budget of reasoning tokens, which some upstreams do not count against the limit of the response; the largest that is named. */
function findThinkingBudget({ promptKey }: Dialect, body: UntrustedObject): number {
  let largest = toCount(asObject(body.reasoning)?.max_tokens);
  const visit = (members: UntrustedObject, depth: number): void => {
    for (const key of Object.keys(members)) {
      const value = members[key];
      if (typeof value === 'number' || typeof value === 'string') {
        if (BUDGET_NAMES.has(canonicalName(key))) largest = Math.max(largest, toCount(value));
      } else if (depth < OPTION_DEPTH && key !== promptKey && !Array.isArray(value)) {
        const inner = asObject(value);
        if (inner !== undefined) visit(inner, depth + 1);
      }
    }
  };
  visit(body, 1);
  return Math.min(largest, MAX_THINKING_BUDGET);
}

/** A number of tokens, which Google's readers take as text too; 0 for what is none. */
function toCount(value: unknown): number {
  const count = typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : value;
  return typeof count === 'number' && Number.isFinite(count) && count > 0 ? Math.ceil(count) : 0;
}

const MAX_THINKING_BUDGET = 1_000_000;

/** Whether audio may be part of a call: every way to name it, as content or as an output, has the word. */
export const mayUseAudio = ({ rawBody }: Pick<ChatRequest, 'rawBody'>): boolean =>
  rawBody.includes('audio') || rawBody.includes(ESCAPED_LETTER_PREFIX);

export const estimateImageTokens = (imageCount: number): number => imageCount * TOKENS_PER_IMAGE;

/** A limit of generated tokens that is added to a request whose caller named none. */
export interface OutputLimit {
  /** The member of the body that holds it. */
  readonly key: string;
  /** Tokens of one choice. */
  readonly tokens: number;
}

/** What is changed in a request for one upstream; everything else is sent as the caller wrote it. */
export interface UpstreamChanges {
  /** Name of the model behind an alias. */
  readonly model: string;
  /** The limit that was reserved, where the caller named none. */
  readonly limit: OutputLimit | undefined;
  /** Tools to leave out, by index. */
  readonly droppedTools: readonly number[];
}

/** The bytes to send to the upstream. Usage of a stream is requested even if the caller did not request it. */
export function toUpstreamBody(request: ChatRequest, { model, limit, droppedTools }: UpstreamChanges): Buffer {
  const { body, dialect, rawBody } = request;
  let bytes = rawBody;
  if (model !== request.model && dialect.upstreamPath === undefined)
    bytes = setProperty(bytes, 'model', JSON.stringify(model));
  if (limit !== undefined) bytes = setLimit(bytes, dialect, limit);
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

/** The bytes with a limit in place of those that limit nothing; all other members keep the form they were written in. */
function setLimit(bytes: Buffer, { limitContainer, maxTokensKeys }: Dialect, { key, tokens }: OutputLimit): Buffer {
  const value = String(tokens);
  if (limitContainer === undefined) {
    // Such as `max_tokens: -1`, which only some upstreams take for no limit.
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

export const wrongModelKind = (model: string, kind: string): AppError =>
  new AppError('invalid_request', {
    params: { detail: `${model} is a model of kind ${kind} and cannot be called at this address.` },
    param: 'model',
  });
