import type { IncomingHttpHeaders } from 'node:http';
import { asObject, type UntrustedObject } from '../../contract/is-object.ts';
import { AppError, invalidRequest } from '../platform/app-error.ts';
import { validatorFor } from '../platform/http/schema-validation.ts';
import { memoizeByObject } from '../platform/memoize-by-object.ts';
import { checkUrlsAndCountMedia, type MediaAndReferenceCounts } from './check-urls-and-count-media.ts';
import type { Dialect } from './dialect.ts';
import { findProperties, insertProperty, removeProperty, setProperty } from './edit-json-bytes.ts';
import { findGovernedOptions, type GovernedOption } from './refuse-or-charge-request-options.ts';

/** A model call as its caller made it. */
export interface ChatRequest {
  readonly dialect: Dialect;
  /** As it came, without a byte order mark, which few readers accept. */
  readonly rawBody: Buffer;
  readonly body: UntrustedObject;
  readonly model: string;
  readonly stream: boolean;
  /** The caller asked for the usage event of a stream. */
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
}

/** @throws AppError `invalid_request` */
export function parseChatRequest(
  dialect: Dialect,
  bytes: Buffer,
  value: unknown,
  { headers = {}, model, stream, rootMembers }: RequestFacts = {},
): ChatRequest {
  const checked = validatorFor(dialect.body)(value);
  if ('error' in checked) throw checked.error;
  const body = value as UntrustedObject;
  assertUnambiguousMembers(bytes, body, decisiveMembers(dialect), rootMembers);
  const contents = checkUrlsAndCountMedia(body);
  const governedOptions = findGovernedOptions(dialect, body, contents);
  const requestedLimit = findRequestedLimit(dialect, body);
  const choiceCount = dialect.hasChoiceCount && typeof body.n === 'number' ? body.n : 1;
  return {
    dialect,
    rawBody: bytes.subarray(hasByteOrderMark(bytes) ? 3 : 0),
    body,
    model: model ?? String(body.model),
    stream: stream ?? body.stream === true,
    wantsUsage: asObject(body.stream_options)?.include_usage === true,
    choiceCount,
    requestedLimit,
    thinkingBudget: findThinkingBudget(body),
    maxOutputTokens: (requestedLimit > 0 ? requestedLimit : dialect.defaultMaxTokens) * choiceCount,
    estimatedPromptTokens: boundPromptTokens(bytes.length, contents, governedOptions),
    forwardedHeaders: pickHeaders(dialect.forwardedHeaders, headers),
    governedOptions,
  };
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
  return [promptKey, 'model', 'stream', ...limits, 'n', 'size', 'quality', 'background'];
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
const hasByteOrderMark = (bytes: Buffer): boolean => bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;

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

/** The caller's budget of reasoning tokens, which some upstreams do not count against the limit of the response. */
function findThinkingBudget({
  thinking_budget: budget,
  thinking,
  reasoning,
  generationConfig,
}: UntrustedObject): number {
  const gemini = asObject(asObject(generationConfig)?.thinkingConfig)?.thinkingBudget;
  const named = budget ?? gemini ?? asObject(thinking)?.budget_tokens ?? asObject(reasoning)?.max_tokens;
  return typeof named === 'number' && Number.isSafeInteger(named) && named > 0
    ? Math.min(named, MAX_THINKING_BUDGET)
    : 0;
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
  let { rawBody: bytes } = request;
  const { limitContainer, upstreamPath } = request.dialect;
  if (model !== request.model && upstreamPath === undefined) bytes = setProperty(bytes, 'model', JSON.stringify(model));
  // A limit that is written twice in there is not seen by the check of the members.
  const repeats = (key: string): boolean => bytes.indexOf(`"${key}"`) !== bytes.lastIndexOf(`"${key}"`);
  if (limitContainer !== undefined && limit === undefined && request.dialect.maxTokensKeys.some(repeats))
    bytes = setProperty(bytes, limitContainer, JSON.stringify(limitsOf(request.body, limitContainer)));
  if (limit !== undefined && limitContainer !== undefined) {
    const config = { ...limitsOf(request.body, limitContainer), [limit.key]: limit.tokens };
    bytes = setProperty(bytes, limitContainer, JSON.stringify(config));
  } else if (limit !== undefined) {
    const value = String(limit.tokens);
    bytes = Object.hasOwn(request.body, limit.key)
      ? setProperty(bytes, limit.key, value)
      : insertProperty(bytes, limit.key, value);
  }
  if (request.stream && request.dialect.streamUsageIsOptIn && !request.wantsUsage) {
    const options = JSON.stringify({ ...asObject(request.body.stream_options), include_usage: true });
    bytes = Object.hasOwn(request.body, 'stream_options')
      ? setProperty(bytes, 'stream_options', options)
      : insertProperty(bytes, 'stream_options', options);
  }
  if (droppedTools.length > 0 && Array.isArray(request.body.tools)) {
    const tools = request.body.tools.filter((_, index) => !droppedTools.includes(index));
    bytes =
      tools.length === 0
        ? removeProperty(removeProperty(bytes, 'tools'), 'tool_choice')
        : setProperty(bytes, 'tools', JSON.stringify(tools));
  }
  return bytes;
}

export const wrongModelKind = (model: string, kind: string): AppError =>
  new AppError('invalid_request', {
    params: { detail: `${model} is a model of kind ${kind} and cannot be called at this address.` },
    param: 'model',
  });
