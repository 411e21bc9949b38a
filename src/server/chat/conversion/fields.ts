import { asObject, type UntrustedObject } from '../../../contract/objects.ts';
import { type AppError, invalidRequest } from '../../platform/app-error.ts';
import { parseDataUrl } from '../../platform/base64.ts';
import { tryParse } from '../../platform/json.ts';
import { detectMediaType, registeredType } from '../../platform/media.ts';
import { isBlank } from '../dialects.ts';
import { isReasoningModel } from '../request.ts';
import type { Conversation, MediaPart, Reasoning, Setting, UpstreamRequestParameters } from './neutral-form.ts';

/**
 * Members of a request that a conversion reads, and members it refuses because they would change the content of the
 * response. All others are dropped and named.
 */
interface FieldTable {
  readonly read: ReadonlySet<string>;
  readonly refused: ReadonlySet<string>;
}

/** Builds a table from lists of names separated by spaces. */
export const fieldTable = (read: string, refused = ''): FieldTable => ({
  read: new Set(read.split(' ')),
  refused: new Set(refused.split(' ')),
});

const isNothing = (value: unknown): boolean =>
  value === undefined ||
  value === null ||
  value === '' ||
  (Array.isArray(value) && value.length === 0) ||
  (typeof value === 'object' && Object.keys(value).length === 0);

/** Values with which options request nothing; some clients send every field. */
const NEUTRAL: ReadonlySet<unknown> = new Set([false, 0, 'auto', 'none', 'default']);

/**
 * Names unread members as dropped.
 * @throws AppError `invalid_request` for a member that changes the response and that no other dialect has
 */
export function checkMembers(
  object: UntrustedObject,
  { read, refused }: FieldTable,
  notes: DroppedFields,
  prefix = '',
): void {
  for (const key of Object.keys(object)) {
    if (read.has(key) || isNothing(object[key])) continue;
    if (!refused.has(key)) notes.drop(prefix + key);
    else if (!NEUTRAL.has(object[key])) throw notExpressibleError(prefix + key);
  }
}

/** Builds a set from a list of names separated by spaces. */
export const fieldSet = (names: string): ReadonlySet<string> => new Set(names.split(' '));

/** Names all members of a part that are not read. */
export function dropOthers(
  object: UntrustedObject,
  read: ReadonlySet<string>,
  notes: DroppedFields,
  prefix: string,
): void {
  for (const key of Object.keys(object)) if (!read.has(key) && !isNothing(object[key])) notes.drop(`${prefix}.${key}`);
}

const NUMERIC_TEXT = /^-?\d{1,15}(?:\.\d{1,15})?$/;

/** A number; Google's parsers, and some gateways, also accept it as text. */
export function numberAt(object: UntrustedObject, key: string, prefix = ''): Setting<number> | undefined {
  const given = object[key];
  const value = typeof given === 'string' && NUMERIC_TEXT.test(given) ? Number(given) : given;
  if (value === undefined || value === null) return undefined;
  if (typeof value !== 'number' || !Number.isFinite(value))
    throw invalidRequest(`${prefix}${key} must be a number.`, prefix + key);
  return { value, path: prefix + key };
}

/** A text or a list of texts. */
export function textsAt(object: UntrustedObject, key: string, prefix = ''): Setting<readonly string[]> | undefined {
  const value = object[key];
  if (isNothing(value)) return undefined;
  const list: readonly unknown[] = Array.isArray(value) ? value : [value];
  if (!list.every((each) => typeof each === 'string'))
    throw invalidRequest(`${prefix}${key} must be texts.`, prefix + key);
  return { value: list, path: prefix + key };
}

/**
 * A member that must be an object.
 * @throws AppError `invalid_request`
 */
export function objectAt(value: unknown, path: string): UntrustedObject {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw invalidRequest(`${path} must be an object.`, path);
  return value as UntrustedObject;
}

/**
 * A member that must be a list.
 * @throws AppError `invalid_request`
 */
export function listAt(value: unknown, path: string): readonly unknown[] {
  if (!Array.isArray(value)) throw invalidRequest(`${path} must be a list.`, path);
  return value;
}

/**
 * A member that must be a text.
 * @throws AppError `invalid_request`
 */
export function textAt(value: unknown, path: string): string {
  if (typeof value !== 'string') throw invalidRequest(`${path} must be a text.`, path);
  return value;
}

/** The arguments of a call as JSON text; some clients send the object itself, or whatever the model wrote instead. */
export const toArguments = (value: unknown): string =>
  value === undefined || value === null ? '{}' : typeof value === 'string' ? value : JSON.stringify(value);

/**
 * Parses the arguments of a call as an object. If a model once wrote arguments that are not a JSON object, its client
 * repeats them in every turn: they become `{}`, and are named as dropped.
 */
export function parseArguments(args: string, path: string, notes: DroppedFields): object {
  if (args.trim() === '') return {};
  const value = asObject(tryParse(args));
  if (value !== undefined) return value;
  notes.drop(path);
  return {};
}

/** Stop sequences without those an upstream refuses; undefined if none is left. */
export function stopsFor(
  stop: Setting<readonly string[]> | undefined,
  notes: DroppedFields,
  isTaken: (text: string) => boolean = (text) => text !== '',
): Setting<readonly string[]> | undefined {
  const value = stop?.value.filter(isTaken) ?? [];
  if (stop !== undefined && value.length < stop.value.length) notes.drop(stop.path);
  return stop === undefined || value.length === 0 ? undefined : { value, path: stop.path };
}

/** Whether a tool requires arguments that follow its schema exactly. */
export const strictAt = ({ strict }: UntrustedObject, prefix: string): Setting<boolean> | undefined =>
  typeof strict === 'boolean' ? { value: strict, path: `${prefix}.strict` } : undefined;

/** Members of a schema that hold schemas by name, and those that hold one or a list of them. */
const SCHEMAS_BY_NAME = ['properties', '$defs', 'definitions'] as const;
const INNER_SCHEMAS = ['items', 'anyOf', 'oneOf', 'allOf'] as const;
const MAX_SCHEMA_DEPTH = 32;

/**
 * The schema of a function as OpenAI accepts it: an object with `properties`, in which every list has `items`. Without
 * them, which tools of MCP servers leave out, the whole request would be refused.
 */
export function toOpenAiParameters(schema: object): object {
  const whole = mapSchemas(schema, withItems, 0) as UntrustedObject;
  const { type, properties } = whole;
  if (type === 'object' && asObject(properties) !== undefined) return whole;
  return { ...whole, type: 'object', properties: asObject(properties) ?? {} };
}

/** The schema of a response as Anthropic accepts it: its objects have no other properties. */
export const toClosedSchema = (schema: unknown): unknown => mapSchemas(schema, withoutOthers, 0);

/** Changes a schema and all schemas inside it. */
function mapSchemas(value: unknown, change: (schema: UntrustedObject) => UntrustedObject, depth: number): unknown {
  if (Array.isArray(value)) return value.map((each) => mapSchemas(each, change, depth));
  const schema = asObject(value);
  if (schema === undefined || depth > MAX_SCHEMA_DEPTH) return value;
  const changed: Record<string, unknown> = { ...schema };
  for (const key of SCHEMAS_BY_NAME) {
    const named = asObject(schema[key]);
    if (named !== undefined)
      changed[key] = Object.fromEntries(
        Object.entries(named).map(([name, inner]) => [name, mapSchemas(inner, change, depth + 1)]),
      );
  }
  for (const key of INNER_SCHEMAS)
    if (schema[key] !== undefined) changed[key] = mapSchemas(schema[key], change, depth + 1);
  return change(changed);
}

const isOfType = ({ type }: UntrustedObject, name: string): boolean =>
  type === name || (Array.isArray(type) && type.includes(name));

const withItems = (schema: UntrustedObject): UntrustedObject =>
  isOfType(schema, 'array') && schema.items === undefined && schema.prefixItems === undefined
    ? { ...schema, items: {} }
    : schema;

const withoutOthers = (schema: UntrustedObject): UntrustedObject =>
  isOfType(schema, 'object') && schema.additionalProperties === undefined
    ? { ...schema, additionalProperties: false }
    : schema;

/** The level of detail at which an image is processed; `auto` is the default of upstreams. */
export const detailAt = ({ detail }: UntrustedObject, prefix: string): Setting<string> | undefined =>
  typeof detail === 'string' && detail !== 'auto' ? { value: detail, path: `${prefix}.detail` } : undefined;

/** Start of a PDF in Base64. */
const PDF = /^JVBERi0/;
/** The type of a file that its sender does not know. */
const UNKNOWN_TYPE = 'application/octet-stream';

const detectType = (base64: string): string | undefined =>
  PDF.test(base64) ? 'application/pdf' : detectMediaType(base64);

/** Splits a data URL into media type and Base64; also takes bare Base64 of a known format. Returns other URLs as they are. */
export function sourceOf(url: string): MediaPart['source'] {
  const found = parseDataUrl(url);
  if (found === undefined) {
    const mediaType = detectType(url);
    return mediaType === undefined ? { url } : { mediaType, data: url };
  }
  const type = registeredType(found.mediaType);
  const isKnown = type !== '' && type !== UNKNOWN_TYPE;
  return { mediaType: isKnown ? type : (detectType(found.base64) ?? UNKNOWN_TYPE), data: found.base64 };
}

/** The content of a file: a data URL, the URL itself, or bare Base64 of any format. */
export function fileSourceOf(text: string): MediaPart['source'] {
  const source = sourceOf(text);
  return 'url' in source && !/^[a-z][a-z\d+.-]*:/i.test(text) ? { mediaType: UNKNOWN_TYPE, data: text } : source;
}

/** The kind of media by their type, because clients send PDFs as images and images as files. */
export function mediaKind(source: MediaPart['source'], otherwise: MediaPart['type']): MediaPart['type'] {
  if ('url' in source || source.mediaType === UNKNOWN_TYPE) return otherwise;
  const [kind] = source.mediaType.split('/', 1);
  return kind === 'image' || kind === 'audio' ? kind : 'document';
}

/** Builds a data URL. */
export const toDataUrl = ({ mediaType, data }: { mediaType: string; data: string }): string =>
  `data:${mediaType};base64,${data}`;

/** Maximum number of named paths, and characters of each, because the header of a response has limits. */
const MAX_PATHS = 40;
const MAX_PATH_LENGTH = 100;

/** Names come from the caller; characters that a header cannot hold are percent-encoded. */
const toHeaderText = (path: string): string =>
  path
    .slice(0, MAX_PATH_LENGTH)
    .toWellFormed()
    .replace(/[^\w.$-]/gu, encodeURIComponent);

/** The dropped members of a request: those that its upstream's dialect cannot express. */
export class DroppedFields {
  readonly #dropped = new Set<string>();

  /** Drops and names a member that changes neither the response nor its price. */
  drop(path: string): void {
    if (this.#dropped.size < MAX_PATHS) this.#dropped.add(toHeaderText(path));
  }

  get dropped(): readonly string[] {
    return [...this.#dropped];
  }
}

/**
 * The error for a member of a request that its upstream's dialect cannot express and that would change the response.
 */
export const notExpressibleError = (
  path: string,
  why = 'cannot be expressed for the upstream of this model',
): AppError => invalidRequest(`${path} ${why}.`, path);

/**
 * The largest budget to choose for an effort: reasoning counts against the limit of output tokens, and a fifth of that
 * is left for the answer, which would otherwise be empty.
 */
export const largestBudget = ({ maxTokens }: UpstreamRequestParameters): number => Math.floor(maxTokens * 0.8);

/** The largest reasoning budget, in tokens, that each effort represents. */
const EFFORTS: readonly (readonly [limit: number, effort: string])[] = [
  [4_095, 'low'],
  [16_383, 'medium'],
  [Number.POSITIVE_INFINITY, 'high'],
];

/**
 * Maps reasoning settings to an OpenAI effort. Models without reasoning refuse an effort, and some models with
 * reasoning cannot switch it off.
 */
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

/** Values of OpenAI's sampling settings, in its dialects' names. */
interface OpenAiSampling {
  readonly temperature?: number | undefined;
  readonly top_p?: number | undefined;
  readonly presence_penalty?: number | undefined;
  readonly frequency_penalty?: number | undefined;
}

/**
 * Writes the sampling settings that the model accepts: models with reasoning refuse all values but the defaults.
 * Dropped values are named.
 */
export function toOpenAiSampling(
  { temperature, topP, presencePenalty, frequencyPenalty }: Conversation['settings'],
  { model }: UpstreamRequestParameters,
  notes: DroppedFields,
): OpenAiSampling {
  const isFixed = isReasoningModel(model);
  const acceptedValue = (setting: Setting<number> | undefined, usual: number): number | undefined => {
    if (setting === undefined || !isFixed) return setting?.value;
    if (setting.value !== usual) notes.drop(setting.path);
    return undefined;
  };
  return {
    temperature: acceptedValue(temperature, 1),
    top_p: acceptedValue(topP, 1),
    presence_penalty: acceptedValue(presencePenalty, 0),
    frequency_penalty: acceptedValue(frequencyPenalty, 0),
  };
}

/**
 * Treatment of a member of a response: `used` if the caller gets it in its own dialect; `replaced` if the caller's
 * response has our equivalent, or only the upstream's own bookkeeping is lost; `refused` makes the response a failure.
 * All other members are dropped and named.
 */
export type MemberFate = 'used' | 'replaced' | 'refused';

type MemberTable = ReadonlyMap<string, MemberFate>;

function table(used: string, replaced = '', refused = ''): MemberTable {
  const rows = { used, replaced, refused };
  return new Map(
    Object.entries(rows).flatMap(([fate, names]) =>
      names.split(' ').flatMap((name) => (name === '' ? [] : [[name, fate as MemberFate] as const])),
    ),
  );
}

const FAILURES = 'error base_resp code';
const IMAGE =
  'image_url image url source inlineData inline_data b64_json data media_type mimeType mime_type fileUri file_uri';

/** Members of every object a reader opens, by dialect. */
export const RESPONSE_MEMBERS = {
  chat: {
    body: table(
      'id choices usage citations search_results',
      'object created model system_fingerprint service_tier provider obfuscation request_id x_groq timings message msg success status nvext kv_transfer_params prompt_filter_results',
      FAILURES,
    ),
    choice: table(
      'index delta message text finish_reason usage stop_reason matched_stop annotations',
      'native_finish_reason content_filter_results content_filter_offset seed token_ids routed_experts',
      'error',
    ),
    message: table(
      'content refusal reasoning_content reasoning reasoning_text thinking thought reasoning_details reasoning_opaque thinking_blocks extra_content tool_calls function_call images audio annotations',
      'role name id',
    ),
    part: table(`type text thinking reasoning refusal content ${IMAGE}`, 'index closed'),
    call: table(
      'index id function custom extra_content provider_specific_fields thought_signature name arguments input',
      'type',
    ),
    function: table('name arguments parameters', 'description'),
    custom: table('name input'),
  },
  responses: {
    body: table(
      'id output usage status incomplete_details',
      'object created_at completed_at model background instructions max_output_tokens max_tool_calls metadata parallel_tool_calls previous_response_id prompt_cache_key prompt_cache_retention reasoning safety_identifier service_tier store temperature text tool_choice tools top_logprobs top_p truncation user billing conversation prompt presence_penalty frequency_penalty output_text content_filters moderation',
      FAILURES,
    ),
    event: table(
      'type response item part delta text refusal arguments input item_id output_index content_index summary_index name call_id partial_image_b64 annotation',
      'sequence_number obfuscation logprobs annotation_index partial_image_index size quality background output_format',
      'error',
    ),
    item: table(
      'id type content summary encrypted_content call_id name arguments input result output_format',
      'role status size quality background action revised_prompt namespace created_by phase',
    ),
    part: table(`type text refusal annotations ${IMAGE}`, 'logprobs index'),
  },
  messages: {
    body: table(
      'id content usage stop_reason stop_sequence',
      'type role model container context_management stop_details diagnostics',
      FAILURES,
    ),
    event: table('type message index content_block delta usage', 'context_management request_id', 'error'),
    block: table('type text citations thinking signature data id name input source', 'caller'),
    delta: table(
      'type text citation thinking signature partial_json stop_reason stop_sequence',
      'container stop_details estimated_tokens',
    ),
  },
  gemini: {
    body: table(
      'candidates promptFeedback usageMetadata responseId usage_metadata',
      'modelVersion createTime modelStatus sdkHttpResponse model_version response_id prompt_feedback',
      FAILURES,
    ),
    candidate: table(
      'index content finishReason finish_reason groundingMetadata grounding_metadata citationMetadata citation_metadata',
      'finishMessage safetyRatings tokenCount avgLogprobs safety_ratings',
    ),
    part: table(
      'text thought thoughtSignature functionCall inlineData fileData thought_signature function_call inline_data file_data',
      'videoMetadata mediaResolution partMetadata',
    ),
    functionCall: table('id name args'),
    grounding: table(
      'groundingChunks grounding_chunks groundingSupports grounding_supports',
      // Scores of the retrieval.
      'retrievalMetadata retrieval_metadata',
    ),
    media: table('mimeType mime_type data fileUri file_uri', 'displayName'),
  },
} as const satisfies Readonly<Record<string, Readonly<Record<string, MemberTable>>>>;

/** Names that are safe in a header. */
const PLAIN_NAME = /^[\w$.-]{1,64}$/;

/** Names the non-empty members of an object that its table does not list. */
export function nameDropped(object: UntrustedObject, members: MemberTable, dropped: DroppedFields, path: string): void {
  for (const key in object)
    if (!members.has(key) && !isBlank(object[key])) dropped.drop(`${path}.${PLAIN_NAME.test(key) ? key : 'unnamed'}`);
}
