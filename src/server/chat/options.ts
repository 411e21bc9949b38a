import { asObject, defined, type UntrustedObject } from '../../contract/objects.ts';
import type { Channel } from '../channels/directory.ts';
import { type AppError, invalidRequest } from '../platform/app-error.ts';
import { assertPublicUrl } from '../platform/outbound/guard.ts';
import type { Dialect } from './dialects.ts';
import { isMedia, isToolArguments, walkStrings } from './usage.ts';

/**
 * The rule for an option of a model call. This file has the only table of options that reach other hosts, cost extra,
 * use data others stored with the upstream, or change the model that serves the call. Of options that are not in it,
 * names with a word that refers to another host, credentials, searches or another model are refused as well; all others
 * are sent as they were written.
 *
 * `refuse`: HTTP 400 that names the option. `drop`: removed from the request, and named in the response header
 * `x-reelgate-dropped`. `pass`: sent. `{per_call}`: sent, and this much quota is added to the price of the call. A
 * channel overrides single rules by its option `chat_options`, such as `{"service_tier": "pass", "web_search":
 * {"per_call": 5000}}`; `"*"` there is the rule for unknown top-level options.
 */
type OptionRule = 'pass' | 'refuse' | 'drop' | { readonly per_call: number };

interface OptionDefinition {
  readonly rule: OptionRule;
  /** The reason for the entry, for the message "service_tier <why>." */
  readonly why: string;
  /** Values that request nothing, besides null, false and empty values. */
  readonly harmless?: (value: unknown, dialect: Dialect) => boolean;
}

const refuse = (why: string, harmless?: OptionDefinition['harmless']): OptionDefinition => ({
  rule: 'refuse',
  why,
  harmless,
});

const OTHER_MODEL = 'would ask for other models than the one that is paid';
const OTHER_HOST = 'would have the request sent elsewhere or with other credentials';
const STORED = 'names something stored under the account all callers share';
const BILLED_APART = 'is billed apart from the tokens of the call';
const OTHER_LIMIT = 'would bound the answer in a way that is not the one it is paid by';
const MORE_ANSWERS = 'would make more answers than are paid';
const UNATTENDED = 'would have the answer made after the call, where it could be neither fetched nor charged';

const atMostOne = (value: unknown): boolean => typeof value === 'number' && value <= 1;
const isText = (value: unknown): boolean => typeof value === 'string';
const isEmptyObject = (value: unknown): boolean => Object.keys(asObject(value) ?? { none: 0 }).length === 0;
const STANDARD_TIERS: ReadonlySet<unknown> = new Set(['auto', 'default', 'standard', 'standard_only', 'flex']);

const namesOf = (names: string, definition: OptionDefinition): [string, OptionDefinition][] =>
  names.split(' ').map((name) => [name, definition]);

/** Top-level members by name. */
const OPTIONS: Readonly<Record<string, OptionDefinition>> = Object.fromEntries([
  ...namesOf(
    'models fallbacks fallback fallback_model fallback_models route provider preset engine deployment deployment_id custom_llm_provider routing_config model_selection_config',
    refuse(OTHER_MODEL, isEmptyObject),
  ),
  ...namesOf(
    'api_base base_url api_key api_version api_type organization extra_body extra_headers extra_query headers proxy webhook webhook_url callback callbacks callback_url notify_url mock_response',
    refuse(OTHER_HOST, isEmptyObject),
  ),
  ...namesOf('previous_response_id conversation conversation_id thread_id cached_content', refuse(STORED)),
  // Stored under that account, and of use only by its id, which is refused.
  ['store', { rule: 'pass', why: 'would be stored under the account all callers share' }],
  // The background of an image is a colour.
  ['background', refuse(UNATTENDED, (_, { promptKey }) => promptKey === 'prompt')],
  // An image's prompt is text; a stored prompt of the Responses API is an object with an id.
  ['prompt', refuse(STORED, isText)],
  ...namesOf(
    'web_search web_search_options enable_search enable_web_search search search_options search_parameters code_interpreter enable_code_interpreter file_search tool_resources plugins mcp_servers container',
    refuse(BILLED_APART),
  ),
  // Anthropic's faster and regional inference cost a multiple of the tokens.
  ['speed', refuse(BILLED_APART, (value) => value === 'standard')],
  ['inference_geo', refuse(BILLED_APART, (value) => value === 'global' || value === 'not_available')],
  ['service_tier', refuse(BILLED_APART, (value) => STANDARD_TIERS.has(value))],
  ...namesOf('best_of num_return_sequences candidate_count num_completions', refuse(MORE_ANSWERS, atMostOne)),
  // Texts of embeddings may be processed in batches.
  ...namesOf(
    'batch_size num_images num_outputs image_count max_images',
    refuse(MORE_ANSWERS, (value, { promptKey }) => promptKey === 'input' || atMostOne(value)),
  ),
  // A model that may generate a series decides on the number of its images.
  ['sequential_image_generation', refuse(MORE_ANSWERS, (value) => value === 'disabled')],
  ...namesOf(
    'max_tokens max_completion_tokens max_output_tokens max_new_tokens max_tokens_to_sample max_length num_predict',
    refuse(OTHER_LIMIT),
  ),
]);

/**
 * Names that contain one of these words, for options that are not in the table: future ones, and those of gateways with
 * their prefixes.
 */
const FAMILIES: readonly (readonly [RegExp, OptionDefinition])[] = [
  [/^(aws|azure|vertex|litellm)_/, refuse(OTHER_HOST)],
  [wordPattern('models? fallbacks? provider providers router? deployment'), refuse(OTHER_MODEL)],
  [
    wordPattern(
      'ur[il]s? hosts? hostname endpoints? servers? webhooks? callbacks? proxy proxies keys? secrets? credentials? auth authorization headers?',
    ),
    refuse(OTHER_HOST),
  ],
  [
    wordPattern(
      'search browse browser browsing crawl fetch retrieval research interpreter sandbox plugins? mcp connectors? tier priority',
    ),
    refuse(BILLED_APART),
  ],
  [wordPattern('conversations? thread vector_stores? assistants?'), refuse(STORED)],
];

/** Builds a pattern for canonical names that contain one of the words. */
function wordPattern(words: string): RegExp {
  return new RegExp(`(?:^|_)(?:${words.replaceAll(' ', '|')})(?:_|$)`);
}

/**
 * Tools by type, without a vendor prefix or version date. Tools that run on the caller's side are free; every type that
 * is not listed is refused.
 */
const TOOLS: Readonly<Record<string, OptionRule>> = {
  function: 'pass',
  function_declarations: 'pass',
  custom: 'pass',
  bash: 'pass',
  text_editor: 'pass',
  memory: 'pass',
  apply_patch: 'pass',
  local_shell: 'pass',
  shell: 'pass',
  computer: 'pass',
  computer_use_preview: 'pass',
  namespace: 'pass',
  tool_search: 'pass',
  tool_search_tool_regex: 'pass',
  tool_search_tool_bm25: 'pass',
  // Agents list it in every call, whether they use it or not.
  web_search: 'drop',
  web_search_preview: 'drop',
  web_fetch: 'drop',
  code_execution: 'drop',
  google_search: 'drop',
  google_search_retrieval: 'drop',
  url_context: 'drop',
  // Recognised anywhere in a request, not only among tools.
  mcp: 'refuse',
  mcp_toolset: 'refuse',
  mcp_servers: 'refuse',
  code_interpreter: 'refuse',
  file_search: 'refuse',
  image_generation: 'refuse',
  advisor: 'refuse',
  retrieval: 'refuse',
  builtin_function: 'refuse',
  google_maps: 'refuse',
  enterprise_web_search: 'refuse',
  web_search_premium: 'refuse',
};
const TOOL_WHY = 'is run and billed by the upstream, apart from the tokens of the call';
/** Containers in which the upstream runs a shell; the caller's own environment is `local`. */
const HOSTED_ENVIRONMENTS: ReadonlySet<string> = new Set(['container_auto', 'container_reference']);

/** An option of a request that the table has a rule for. */
export interface GovernedOption {
  /** Key of the rule, such as `service_tier` or `tools.mcp`. */
  readonly name: string;
  /** The caller's spelling, such as `tools.2`. */
  readonly path: string;
  readonly rule: OptionRule;
  readonly why: string;
  /** Index in `tools`, if the option is a tool. */
  readonly toolIndex?: number;
}

/** Members of the APIs that have no rule, although the names of some contain a word of `FAMILIES`. */
const ORDINARY: ReadonlySet<string> = new Set(
  (
    'model messages input stream stream_options temperature top_p top_k min_p n stop seed user tool_choice parallel_tool_calls ' +
    'response_format frequency_penalty presence_penalty repetition_penalty logit_bias logprobs top_logprobs metadata ' +
    'reasoning reasoning_effort thinking modalities audio prediction verbosity functions function_call instructions text ' +
    'contents systemInstruction generationConfig safetySettings toolConfig system stop_sequences output_config context_management cache_control include truncation prompt_cache_key safety_identifier size quality style output_format ' +
    'encoding_format dimensions'
  ).split(' '),
);

/**
 * Maps all spellings that a JSON parser may treat as equal to one name: some (Go's encoding/json) ignore case, some of
 * these also match the long s (U+017F) with s, and others treat `apiBase` as `api_base`.
 */
const canonicalName = (key: string): string =>
  key
    .replace(/([a-z])([A-Z])/g, '$1_$2')
    .toUpperCase()
    .toLowerCase()
    .replace(/[-. ]/g, '_');

/**
 * Reduces a name to its letters: parsers that ignore case accept
 * `mOdels` for `models`, where the capital starts no word.
 */
export const lettersOf = (name: string): string => canonicalName(name).replaceAll('_', '');

/** Finds a table's spelling of a name by its letters. */
function namesByLetters(table: object): (name: string) => string | undefined {
  const names = new Map(Object.keys(table).map((name) => [lettersOf(name), name]));
  return (name) => names.get(lettersOf(name));
}

const optionNamed = namesByLetters(OPTIONS);
const toolNamed = namesByLetters(TOOLS);

/** Matches a name in lower case, and split into the words that its capitals start. */
const isInFamily = (family: RegExp, key: string): boolean =>
  family.test(canonicalName(key)) || family.test(canonicalName(key.toLowerCase()));

const asksForNothing = (value: unknown): boolean =>
  value === undefined ||
  value === null ||
  value === false ||
  value === '' ||
  (Array.isArray(value) && value.length === 0);

/** Finds the options of a body that the table has a rule for. */
export function findGovernedOptions(
  dialect: Dialect,
  body: UntrustedObject,
  contents: MediaCounts,
): readonly GovernedOption[] {
  const found = [...findMembers(dialect, body, ''), ...new ToolFinder(dialect, body).find()];
  const { limitContainer } = dialect;
  const limits = limitContainer === undefined ? undefined : asObject(body[limitContainer]);
  if (limits !== undefined) found.push(...findMembers(dialect, limits, `${limitContainer}.`));
  if (contents.fileIds > 0) found.push({ name: 'file_id', path: 'file_id', rule: 'refuse', why: STORED });
  return found;
}

/** @param prefix path of the members; empty for the body itself, whose unknown members have the rule `*` */
function findMembers(dialect: Dialect, members: UntrustedObject, prefix: string): GovernedOption[] {
  const found: GovernedOption[] = [];
  for (const key of Object.keys(members)) {
    if (ORDINARY.has(key) || key === 'tools') continue;
    const value = members[key];
    const name = optionNamed(key) ?? canonicalName(key);
    // Keys that limit the response in this dialect are read, reserved and sent; no rule applies to them.
    if (dialect.maxTokensKeys.includes(key) || asksForNothing(value)) continue;
    const definition = Object.hasOwn(OPTIONS, name)
      ? OPTIONS[name]
      : FAMILIES.find(([family]) => isInFamily(family, key))?.[1];
    const path = prefix + key;
    if (definition !== undefined) {
      if (definition.harmless?.(value, dialect) !== true)
        found.push({ name, path, rule: definition.rule, why: definition.why });
    } else if (prefix === '') found.push({ name: '*', path, rule: 'pass', why: 'is not known here' });
  }
  return found;
}

/**
 * Tools of a request as a list: Google's parsers, and those of some gateways, accept a single tool instead of a list.
 */
export const toolsOf = ({ tools }: UntrustedObject): readonly unknown[] =>
  Array.isArray(tools) ? tools : tools === undefined || tools === null || tools === '' ? [] : [tools];

/** Members that hold schemas or a caller's own data, in which no upstream searches for tools. */
const DATA_MEMBERS: ReadonlySet<string> = new Set(
  'input_schema parameters_json_schema schema json_schema response_schema response_json_schema tool_choice arguments'.split(
    ' ',
  ),
);

/** The type of a tool by its name in the table. */
function toKind(type: string): string {
  const kind = canonicalName(type)
    .replace(/^.*:/, '')
    .replace(/_\d[\d_]*$/, '');
  return toolNamed(kind) ?? kind;
}

/** Whether a member has a name in any spelling; the first letter rules out nearly all. */
const isNamed = (key: string, name: string): boolean =>
  key === name ||
  (key[0]?.toLowerCase() === name[0] && key.length <= name.length && lettersOf(key) === lettersOf(name));

/**
 * Finds the governed tools of a request. Tools are defined in lists named `tools` at any depth (OpenAI's namespaces,
 * results of its tool search and its items that add tools); one that the table names is recognised anywhere else in the
 * request as well.
 */
class ToolFinder {
  readonly #isGemini: boolean;
  readonly #body: UntrustedObject;
  readonly #found: GovernedOption[] = [];
  /** Members and indexes from the body to the visited value. */
  readonly #path: string[] = [];

  constructor({ promptKey }: Dialect, body: UntrustedObject) {
    this.#isGemini = promptKey === 'contents';
    this.#body = body;
  }

  find(): readonly GovernedOption[] {
    this.#visitMembers(this.#body, false);
    return this.#found;
  }

  #visit(value: unknown, isTool: boolean): void {
    if (Array.isArray(value)) {
      for (let index = 0; index < value.length; index++)
        if (isTool || typeof value[index] === 'object') this.#descend(String(index), value[index], isTool);
      return;
    }
    if (isTool && typeof value === 'string' && value !== '') this.#add([toKind(value)], value);
    const object = asObject(value);
    if (object === undefined) return;
    const kinds = isTool ? this.#kindsOf(object) : this.#typesOf(object).filter(isGoverned);
    this.#add(kinds, object);
    this.#visitMembers(object, kinds.includes('shell'));
  }

  #visitMembers(object: UntrustedObject, isShell: boolean): void {
    for (const key of Object.keys(object)) {
      const value = object[key];
      const isTools = isNamed(key, 'tools');
      if (typeof value !== 'object' && !isTools) continue;
      if (object !== this.#body && isCallersData(key, object)) continue;
      if (object === this.#body && isNamed(key, 'tool_choice')) continue;
      // Checked together with the shell it belongs to.
      if (isShell && isNamed(key, 'environment')) continue;
      this.#descend(key, value, isTools);
    }
  }

  #descend(key: string, value: unknown, isTool: boolean): void {
    if (typeof value !== 'object' && !isTool) return;
    this.#path.push(key);
    this.#visit(value, isTool);
    this.#path.pop();
  }

  /**
   * Kinds of a tool: Google's tools are members of an object, and
   * functions are one of them; those of the others have a type.
   */
  #kindsOf(tool: UntrustedObject): readonly string[] {
    const members = Object.keys(tool)
      .filter((key) => tool[key] !== null && tool[key] !== undefined)
      .map((key) => toolNamed(key) ?? canonicalName(key));
    if (this.#isGemini) return members;
    const path = this.#path.join('.');
    if (Object.keys(tool).some((key) => key !== 'type' && isNamed(key, 'type')))
      throw invalidRequest(`${path}.type must be in lower case.`, path);
    const type = typeof tool.type === 'string' ? toKind(tool.type) : 'function';
    if (type === 'shell' && !isLocal(tool)) return ['shell', HOSTED_SHELL];
    return [type, ...members.filter((name) => name !== type && isGoverned(name))];
  }

  #typesOf(object: UntrustedObject): readonly string[] {
    return Object.keys(object).flatMap((key) => {
      const value = object[key];
      if (typeof value !== 'string' || !isNamed(key, 'type')) return [];
      const kind = toKind(value);
      return HOSTED_ENVIRONMENTS.has(kind) ? [HOSTED_SHELL] : [kind];
    });
  }

  #add(kinds: readonly string[], tool: UntrustedObject | string): void {
    for (const kind of kinds) {
      const rule = kind === HOSTED_SHELL || !Object.hasOwn(TOOLS, kind) ? 'refuse' : (TOOLS[kind] ?? 'refuse');
      if (rule === 'pass') continue;
      const path = this.#path.join('.');
      const name = `tools.${kind === HOSTED_SHELL ? 'shell' : kind}`;
      const droppable = kinds.length === 1 && !isForcedTool(tool, this.#body);
      const toolIndex = droppable ? this.#toolIndex() : undefined;
      this.#found.push(defined({ name, path, rule, why: TOOL_WHY, toolIndex }));
    }
  }

  /**
   * Undefined for tools nested in those of the request, because tools inside a namespace or a result cannot be dropped.
   */
  #toolIndex(): number | undefined {
    const [first, second = '0', ...rest] = this.#path;
    return first === 'tools' && rest.length === 0 ? Number(second) : undefined;
  }
}

/** A shell in a container of the upstream; a channel's rule for `shell` applies to it. */
const HOSTED_SHELL = 'hosted shell';

const isGoverned = (kind: string): boolean =>
  kind === HOSTED_SHELL || (Object.hasOwn(TOOLS, kind) && TOOLS[kind] !== 'pass');

function isLocal(shell: UntrustedObject): boolean {
  const environments = Object.keys(shell).filter((key) => isNamed(key, 'environment'));
  return environments.every((key) => {
    const environment = shell[key];
    return environment === null || (key === 'environment' && asObject(environment)?.type === 'local');
  });
}

const isCallersData = (key: string, object: UntrustedObject): boolean =>
  key === 'parameters' || DATA_MEMBERS.has(canonicalName(key)) || isToolArguments(key, object);

/**
 * Whether a request forces the use of this tool: by its type, by its name (Anthropic), in a list, or as the only one of
 * the tools of which one is required.
 */
function isForcedTool(tool: UntrustedObject | string, body: UntrustedObject): boolean {
  const { tool_choice: choice } = body;
  const { type: ownType, name: ownName } = typeof tool === 'string' ? { type: tool, name: undefined } : tool;
  const { type, name, tools } = asObject(choice) ?? {};
  if (type === 'tool') return name === ownName;
  const isListed =
    Array.isArray(tools) && tools.some((each) => ownType !== undefined && asObject(each)?.type === ownType);
  const isOnly = toolsOf(body).length === 1 && (choice === 'required' || choice === 'any' || type === 'any');
  return isListed || isOnly || (type !== undefined && type === ownType);
}

/** Result of one channel's rules for a request's options. */
interface OptionVerdict {
  /** The first refused option. */
  readonly refused: GovernedOption | undefined;
  /** Indexes of the tools to drop. */
  readonly droppedTools: readonly number[];
  /** Whole quota added to the price of the call. */
  readonly surcharge: number;
}

/** The verdict for a request without governed options. */
export const NO_VERDICT: OptionVerdict = { refused: undefined, droppedTools: [], surcharge: 0 };

/** Applies a channel's rules to the governed options of a request. */
export function applyOptionRules(options: readonly GovernedOption[], channel: Channel): OptionVerdict {
  if (options.length === 0) return NO_VERDICT;
  const own = asObject(channel.options.chat_options) ?? {};
  let surcharge = 0;
  const droppedTools: number[] = [];
  for (const option of options) {
    const rule = parseRule(own[option.name] ?? own[option.name.replace(/^tools\./, '')]) ?? option.rule;
    if (rule === 'refuse') return { refused: option, droppedTools: [], surcharge: 0 };
    if (rule === 'drop') {
      if (option.toolIndex === undefined) return { refused: option, droppedTools: [], surcharge: 0 };
      droppedTools.push(option.toolIndex);
    } else if (rule !== 'pass') surcharge += rule.per_call;
  }
  return { refused: undefined, droppedTools, surcharge };
}

/**
 * Parses a rule an administrator wrote into a channel; undefined if it is invalid, so that the safe default applies.
 */
function parseRule(value: unknown): OptionRule | undefined {
  if (value === 'pass' || value === 'refuse' || value === 'drop') return value;
  const perCall = asObject(value)?.per_call;
  return Number.isSafeInteger(perCall) && Number(perCall) >= 0 ? { per_call: Number(perCall) } : undefined;
}

/** The error for a refused option. */
export const refusedOption = ({ path, why }: GovernedOption): AppError => invalidRequest(`${path} ${why}.`, path);

/** Members that hold text of users or models, which may start with a URL. Compared by exact spelling. */
const PROSE_KEYS: ReadonlySet<string> = new Set([
  'content',
  'text',
  'prompt',
  'input',
  'instructions',
  'system',
  'arguments',
  'output',
  'refusal',
  'reasoning_content',
  'reasoning',
  'thinking',
  'summary',
  'description',
  'title',
  'default',
  'const',
  'enum',
  'examples',
  'pattern',
  'stop',
]);

/** An image or document that the upstream fetches by its URL, in Anthropic's form. */
const isLinkedMedia = ({ type, source }: UntrustedObject): boolean =>
  (type === 'image' || type === 'document') && asObject(source)?.type === 'url';

/** A file in the storage of the account, which all callers share, or one that Google fetches. */
const namesGoogleFile = ({ fileUri, file_uri: uri }: UntrustedObject): boolean =>
  typeof fileUri === 'string' || typeof uri === 'string';

const NO_KEYS: ReadonlySet<string> = new Set();

/** Content of a body besides text. */
export interface MediaCounts {
  /** Characters of inline media and of URLs of media. */
  readonly mediaLength: number;
  readonly imageCount: number;
  /** Items that refer to text stored by the upstream (`{type: "item_reference"}`). */
  readonly itemReferences: number;
  /** Files stored by the upstream that are referenced by their id. */
  readonly fileIds: number;
}

/**
 * Checks every URL of a body and measures its media, in one pass. URLs are passed on without being fetched here, and an
 * upstream inside our own network could reach hosts the caller cannot.
 *
 * @throws AppError `invalid_request` for a URL of this machine or of a private network, in any member except prose
 */
export function inspectMedia(body: UntrustedObject): MediaCounts {
  let mediaLength = 0;
  let imageCount = 0;
  let itemReferences = 0;
  let fileIds = 0;
  walkStrings(
    body,
    (key, text, isMediaPart) => {
      if (isMedia(key, text)) {
        mediaLength += text.length;
        imageCount++;
      }
      const isProse = isMediaPart ? key === 'text' : PROSE_KEYS.has(key);
      if (!isProse && mayBeUrl(text)) assertPublicUrl(key, text);
    },
    (object) => {
      if (object.type === 'item_reference') itemReferences++;
      if (isLinkedMedia(object)) imageCount++;
      if (typeof object.file_id === 'string' || Array.isArray(object.file_ids) || namesGoogleFile(object)) fileIds++;
    },
    NO_KEYS,
  );
  return { mediaLength, imageCount, itemReferences, fileIds };
}

/** Every URL has one of these; a body with tools has hundreds of other strings. */
const mayBeUrl = (text: string): boolean => text.includes(':') || text.includes('//') || text.includes('\\');
