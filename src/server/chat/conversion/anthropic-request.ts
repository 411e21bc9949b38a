import { asObject, type UntrustedObject } from '../../../contract/objects.ts';
import { registeredType } from '../../platform/media.ts';
import { listOf } from '../dialects.ts';
import {
  checkMembers,
  type DroppedFields,
  dropOthers,
  fieldSet,
  fieldTable,
  largestBudget,
  listAt,
  notExpressibleError,
  numberAt,
  objectAt,
  parseArguments,
  stopsFor,
  strictAt,
  textAt,
  textsAt,
  toArguments,
  toClosedSchema,
} from './fields.ts';
import {
  type CacheMarker,
  type Conversation,
  type FunctionTool,
  type MediaPart,
  type Message,
  type OutputFormat,
  type Part,
  type Reasoning,
  readSignature,
  type TextPart,
  type ToolChoice,
  type UpstreamRequestParameters,
  uniqueTools,
} from './neutral-form.ts';

const MEMBERS = fieldTable(
  'model messages max_tokens stream system temperature top_p top_k stop_sequences tools tool_choice thinking output_config cache_control',
  // Claude Code repeats the request without the check and makes it itself.
  'safeguards',
);
const TOOL_MEMBERS = fieldTable('type name description input_schema strict cache_control');
const MESSAGE_MEMBERS = fieldSet('role content');
const CONFIG_MEMBERS = fieldSet('effort format');
const THINKING_MEMBERS = fieldSet('type budget_tokens');
const NO_MEMBERS: ReadonlySet<string> = new Set();
/** Members of a block that are read, by its type; non-empty citations are named as dropped. */
const BLOCK_MEMBERS: Readonly<Record<string, ReadonlySet<string>>> = {
  text: fieldSet('type text cache_control citations'),
  image: fieldSet('type source cache_control'),
  document: fieldSet('type source title citations cache_control'),
  tool_use: fieldSet('type id name input cache_control'),
  tool_result: fieldSet('type tool_use_id content is_error cache_control'),
  thinking: fieldSet('type thinking signature'),
  redacted_thinking: fieldSet('type data'),
};
/**
 * Claude Code's note for Anthropic's billing, which differs from
 * call to call and would defeat the prompt caches of others.
 */
const BILLING_NOTE = 'x-anthropic-billing-header:';

/**
 * Reads a request of Anthropic's Messages (docs.claude.com/en/api/messages).
 * @throws AppError `invalid_request`
 */
export function readAnthropicRequest(body: UntrustedObject, notes: DroppedFields): Conversation {
  checkMembers(body, MEMBERS, notes);
  const choice = asObject(body.tool_choice);
  const single = choice?.disable_parallel_tool_use;
  // A top-level marker requests caching up to the last block.
  if (asObject(body.cache_control) !== undefined) notes.drop('cache_control');
  return {
    system: readSystem(body.system, notes),
    messages: listAt(body.messages, 'messages').map((message, index) =>
      readMessage(message, `messages.${index}`, notes),
    ),
    paths: { system: 'system', turns: 'messages' },
    tools: uniqueTools(
      (Array.isArray(body.tools) ? body.tools : []).map((tool, index) =>
        readToolDeclaration(tool, `tools.${index}`, notes),
      ),
    ),
    toolChoice: readChoice(choice),
    parallelCalls: single === true ? { value: false, path: 'tool_choice.disable_parallel_tool_use' } : undefined,
    format: readFormat(asObject(body.output_config)?.format),
    reasoning: readReasoning(body, notes),
    settings: {
      temperature: numberAt(body, 'temperature'),
      topP: numberAt(body, 'top_p'),
      topK: numberAt(body, 'top_k'),
      stop: textsAt(body, 'stop_sequences'),
    },
  };
}

function readSystem(system: unknown, notes: DroppedFields): TextPart[] {
  if (system === undefined || system === null) return [];
  if (typeof system === 'string') return system === '' ? [] : [{ type: 'text', text: system }];
  const parts = listAt(system, 'system').map((part, index) =>
    readTextPart(objectAt(part, `system.${index}`), `system.${index}`),
  );
  const kept = parts.filter(({ text }) => !text.startsWith(BILLING_NOTE));
  if (kept.length < parts.length) notes.drop('system.0');
  return kept;
}

function readMessage(value: unknown, path: string, notes: DroppedFields): Message {
  const message = objectAt(value, path);
  dropOthers(message, MESSAGE_MEMBERS, notes, path);
  const { role, content } = message;
  if (role !== 'user' && role !== 'assistant' && role !== 'system') throw notExpressibleError(`${path}.role`);
  if (typeof content === 'string')
    return { role, path, parts: content === '' ? [] : [{ type: 'text', text: content }] };
  const parts = listAt(content, `${path}.content`).map((part, index) =>
    readBlock(part, `${path}.content.${index}`, notes),
  );
  return { role, path, parts };
}

const readCache = (block: UntrustedObject, path: string): CacheMarker | undefined => {
  const marker = asObject(block.cache_control);
  if (marker === undefined) return undefined;
  return { ttl: marker.ttl === '1h' ? '1h' : marker.ttl === '5m' ? '5m' : undefined, path: `${path}.cache_control` };
};

const readTextPart = (block: UntrustedObject, path: string): TextPart => ({
  type: 'text',
  text: textAt(block.text, `${path}.text`),
  cache: readCache(block, path),
});

/** Reads a block of a message's content. @throws AppError `invalid_request` */
export function readBlock(value: unknown, path: string, notes: DroppedFields): Part {
  const block = objectAt(value, path);
  if (typeof block.type === 'string' && Object.hasOwn(BLOCK_MEMBERS, block.type))
    dropOthers(block, BLOCK_MEMBERS[block.type] ?? NO_MEMBERS, notes, path);
  const cache = readCache(block, path);
  switch (block.type) {
    case 'text':
      if (Array.isArray(block.citations) && block.citations.length > 0) notes.drop(`${path}.citations`);
      return readTextPart(block, path);
    case 'image':
    case 'document':
      return readMedia(block, path, notes);
    case 'tool_use':
      return {
        type: 'call',
        id: textAt(block.id, `${path}.id`),
        name: textAt(block.name, `${path}.name`),
        args: toArguments(block.input),
        cache,
        path,
      };
    case 'tool_result':
      return {
        type: 'result',
        id: textAt(block.tool_use_id, `${path}.tool_use_id`),
        parts: readResult(block.content, `${path}.content`, notes),
        isError: block.is_error === true,
        cache,
        path,
      };
    case 'thinking': {
      const signature = readSignature(block.signature, 'anthropic');
      return { type: 'thinking', text: textAt(block.thinking, `${path}.thinking`), signature, isRedacted: false, path };
    }
    case 'redacted_thinking':
      return { type: 'thinking', text: '', signature: readSignature(block.data, 'anthropic'), isRedacted: true, path };
    default:
      throw notExpressibleError(`${path}.type`);
  }
}

function readResult(content: unknown, path: string, notes: DroppedFields): (TextPart | MediaPart)[] {
  if (content === undefined || content === null || content === '') return [];
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  return listAt(content, path).map((value, index) =>
    toPlainPart(readBlock(value, `${path}.${index}`, notes), `${path}.${index}`),
  );
}

/** A part of a message that has no calls, results or thinking. @throws AppError `invalid_request` for these */
export function toPlainPart(part: Part, path: string): TextPart | MediaPart {
  if (part.type === 'call' || part.type === 'result' || part.type === 'thinking')
    throw notExpressibleError(`${path}.type`);
  return part;
}

/** A plain-text document is a text to any model. */
function readMedia(block: UntrustedObject, path: string, notes: DroppedFields): MediaPart | TextPart {
  const source = objectAt(block.source, `${path}.source`);
  const cache = readCache(block, path);
  if (asObject(block.citations)?.enabled === true) notes.drop(`${path}.citations`);
  if (source.type === 'text') return { type: 'text', text: textAt(source.data, `${path}.source.data`), cache };
  const name = typeof block.title === 'string' ? block.title : undefined;
  const media = { type: block.type === 'image' ? 'image' : 'document', name, cache, path } as const;
  if (source.type === 'url') return { ...media, source: { url: textAt(source.url, `${path}.source.url`) } };
  if (source.type !== 'base64') throw notExpressibleError(`${path}.source.type`);
  const mediaType = registeredType(textAt(source.media_type, `${path}.source.media_type`));
  return { ...media, source: { mediaType, data: textAt(source.data, `${path}.source.data`) } };
}

/** Reads the declaration of a tool. @throws AppError `invalid_request` */
export function readToolDeclaration(value: unknown, path: string, notes: DroppedFields): FunctionTool {
  const tool = objectAt(value, path);
  if (tool.type !== undefined && tool.type !== null && tool.type !== 'custom')
    throw notExpressibleError(`${path}.type`);
  checkMembers(tool, TOOL_MEMBERS, notes, `${path}.`);
  return {
    name: textAt(tool.name, `${path}.name`),
    description: typeof tool.description === 'string' ? tool.description : undefined,
    parameters: objectAt(tool.input_schema, `${path}.input_schema`),
    strict: strictAt(tool, path),
    cache: readCache(tool, path),
  };
}

function readChoice(choice: UntrustedObject | undefined): ToolChoice | undefined {
  const path = 'tool_choice';
  if (choice === undefined) return undefined;
  if (choice.type === 'tool') return { mode: 'required', name: textAt(choice.name, `${path}.name`), path };
  if (choice.type === 'any') return { mode: 'required', path };
  return { mode: choice.type === 'none' ? 'none' : 'auto', path };
}

function readFormat(value: unknown): OutputFormat | undefined {
  const format = asObject(value);
  if (format === undefined) return undefined;
  const path = 'output_config.format';
  if (format.type !== 'json_schema') throw notExpressibleError(`${path}.type`);
  return { type: 'schema', schema: format.schema, path };
}

function readReasoning(
  { thinking: value, output_config: output }: UntrustedObject,
  notes: DroppedFields,
): Reasoning | undefined {
  const thinking = asObject(value);
  const config = asObject(output) ?? {};
  dropOthers(config, CONFIG_MEMBERS, notes, 'output_config');
  dropOthers(thinking ?? {}, THINKING_MEMBERS, notes, 'thinking');
  const { effort } = config;
  const given = typeof effort === 'string' ? effort : undefined;
  if (thinking === undefined)
    return given === undefined ? undefined : { mode: 'auto', effort: given, path: 'output_config.effort' };
  const mode = thinking.type === 'disabled' ? 'off' : thinking.type === 'enabled' ? 'on' : 'auto';
  const budget = typeof thinking.budget_tokens === 'number' ? thinking.budget_tokens : undefined;
  return { mode, effort: given, budget, path: 'thinking' };
}

/**
 * Models that decide by themselves how long to reason and accept an effort instead of a budget (docs.claude.com,
 * adaptive thinking).
 */
const ADAPTIVE_MODEL = /claude-(?:[a-z]+-)?(?:4[-.][6-9]|[5-9])/;
const DEFAULT_BUDGET = 8_192;
/** Budget in tokens for each effort, for the models that accept a budget. */
const BUDGETS: Readonly<Record<string, number>> = {
  minimal: 1_024,
  low: 2_048,
  medium: DEFAULT_BUDGET,
  high: 16_384,
  xhigh: 32_768,
  max: 32_768,
};
const MIN_BUDGET = 1_024;
/** Characters of an id that Anthropic refuses; calls of other vendors' models may contain them. */
const FORBIDDEN_IN_ID = /[^a-zA-Z0-9_-]/g;

/**
 * Writes a request of Anthropic's Messages (docs.claude.com/en/api/messages).
 * @throws AppError `invalid_request`
 */
export function writeAnthropicRequest(
  conversation: Conversation,
  target: UpstreamRequestParameters,
  notes: DroppedFields,
): object {
  const { tools, format, settings } = conversation;
  const reasoning = writeReasoning(conversation, target, notes);
  if (format?.type === 'json') throw notExpressibleError(format.path);
  const stop = stopsFor(settings.stop, notes, (text) => !isBlankText(text));
  for (const unknown of [settings.seed, settings.presencePenalty, settings.frequencyPenalty])
    if (unknown !== undefined) notes.drop(unknown.path);
  const config = {
    ...reasoning.config,
    format: format && { type: 'json_schema', schema: toClosedSchema(format.schema) },
  };
  return {
    model: target.model,
    max_tokens: target.maxTokens,
    stream: target.stream || undefined,
    ...writeTurns(conversation, target.model, notes),
    tools:
      tools.length === 0
        ? undefined
        : tools.map(({ name, description, parameters, strict, cache }, index) => ({
            name,
            description,
            input_schema: writeSchema(parameters as UntrustedObject, `tools.${index}`, notes),
            strict: strict?.value,
            ...toCache(cache),
          })),
    tool_choice:
      tools.length === 0 ? undefined : writeChoice(conversation.toolChoice, conversation.parallelCalls?.value),
    thinking: reasoning.thinking,
    output_config: config.effort === undefined && config.format === undefined ? undefined : config,
    ...writeSampling(settings, { model: target.model, hasThinking: reasoning.thinking !== undefined }, notes),
    stop_sequences: stop?.value,
  };
}

/** Members of a schema that Anthropic refuses at the top level of a tool, and with them the whole request. */
const COMBINATORS = ['anyOf', 'oneOf', 'allOf'] as const;

/**
 * Writes the schema of a tool. Alternatives at its top level, as tools of MCP servers have them, become one object with
 * the properties of all of them, of which those are required that each requires.
 */
function writeSchema(schema: UntrustedObject, path: string, notes: DroppedFields): object {
  let written: UntrustedObject = { type: 'object', ...schema };
  for (const combinator of COMBINATORS) {
    const branches = listOf(schema[combinator]).map((branch) => asObject(branch) ?? {});
    if (schema[combinator] === undefined) continue;
    notes.drop(`${path}.${combinator}`);
    const { [combinator]: _refused, properties, required, ...others } = written;
    const all = [asObject(properties) ?? {}, ...branches.map((branch) => asObject(branch.properties) ?? {})];
    const demands = branches.map((branch) => listOf(branch.required));
    const shared =
      combinator === 'allOf'
        ? demands.flat()
        : (demands[0] ?? []).filter((name) => demands.every((names) => names.includes(name)));
    written = {
      ...others,
      properties: all.reduce(mergeProperties, {}),
      required: [...new Set([...listOf(required), ...shared])],
    };
  }
  return written;
}

/** A property with several schemas may have any of them. */
function mergeProperties(merged: UntrustedObject, added: UntrustedObject): UntrustedObject {
  const entries = Object.entries(added).map(([name, schema]) => {
    const known = Object.hasOwn(merged, name) ? merged[name] : undefined;
    if (known === undefined || JSON.stringify(known) === JSON.stringify(schema)) return [name, schema];
    return [name, { anyOf: [known, schema] }];
  });
  return { ...merged, ...Object.fromEntries(entries) };
}

/** Models that refuse every sampling setting, and models that refuse a temperature together with `top_p`. */
const UNTUNABLE_MODEL = /claude-(?:[a-z]+-)?(?:4[-.][7-9]|[5-9])/;
const ONE_SETTING_MODEL = /claude-(?:[a-z]+-)?4[-.][1-6](?!\d)/;
/** The smallest `top_p` that is accepted with reasoning. */
const MIN_TOP_P_WITH_THINKING = 0.95;

/** Writes the sampling settings that the model accepts; others are dropped, and named unless they are the default. */
function writeSampling(
  { temperature, topP, topK }: Conversation['settings'],
  { model, hasThinking }: { readonly model: string; readonly hasThinking: boolean },
  notes: DroppedFields,
): object {
  const isUntunable = UNTUNABLE_MODEL.test(model);
  const acceptsTemperature = !isUntunable && !hasThinking && (temperature?.value ?? 0) <= 1;
  const acceptsTopP = !isUntunable && (!hasThinking || (topP?.value ?? 1) >= MIN_TOP_P_WITH_THINKING);
  const isOneOfBoth = temperature !== undefined && topP !== undefined && ONE_SETTING_MODEL.test(model);
  const keepsTemperature = acceptsTemperature && !(isOneOfBoth && temperature.value === 1);
  const keepsTopP = acceptsTopP && !(isOneOfBoth && keepsTemperature);
  const keepsTopK = !isUntunable && !hasThinking;
  if (!keepsTemperature && temperature !== undefined && temperature.value !== 1) notes.drop(temperature.path);
  if (!keepsTopP && topP !== undefined && topP.value !== 1) notes.drop(topP.path);
  if (!keepsTopK && topK !== undefined) notes.drop(topK.path);
  return {
    temperature: keepsTemperature ? temperature?.value : undefined,
    top_p: keepsTopP ? topP?.value : undefined,
    top_k: keepsTopK ? topK?.value : undefined,
  };
}

const toCache = (cache: CacheMarker | undefined): object =>
  cache === undefined ? {} : { cache_control: { type: 'ephemeral', ttl: cache.ttl } };

/** An id of a call as Anthropic accepts it. */
export const toId = (id: string): string => id.replace(FORBIDDEN_IN_ID, '_');

interface Turn {
  readonly role: string;
  content: object[];
}

const isBlankText = (text: string): boolean => text.trim() === '';

/**
 * Models with system turns within a conversation, of text only, each of which ends a turn of the user (docs.claude.com,
 * mid-conversation system messages).
 */
export const SYSTEM_TURN_MODEL = /claude-(?:opus-(?:4[-.][89]|[5-9])|(?:fable|mythos)-[5-9])/;

/** Sends the text of a system message as the user's, at the same position, where it may not be one of its own. */
function withAcceptedRoles(messages: readonly Message[], model: string, notes: DroppedFields): readonly Message[] {
  return messages.map((message, index) => {
    const { role, parts, path } = message;
    if (role !== 'system') return message;
    const [before, after] = [messages[index - 1]?.role ?? 'assistant', messages[index + 1]?.role ?? 'assistant'];
    const endsUserTurn = before !== 'assistant' && after === 'assistant';
    if (SYSTEM_TURN_MODEL.test(model) && endsUserTurn && parts.every(({ type }) => type === 'text')) return message;
    notes.drop(`${path}.role`);
    return { ...message, role: 'user' };
  });
}

/** Anthropic refuses a request without a turn, blank texts, and a last turn of the model that ends in whitespace. */
function writeTurns(
  { system, messages, paths }: Conversation,
  model: string,
  notes: DroppedFields,
): { readonly system: object[] | undefined; readonly messages: readonly Turn[] } {
  const said = system.filter(({ text }) => !isBlankText(text));
  if (said.length < system.length) notes.drop(paths.system);
  const written = said.map(({ text, cache }) => ({ type: 'text', text, ...toCache(cache) }));
  const accepted = withAcceptedRoles(messages, model, notes);
  const turns = mergeTurns(accepted.map((message) => writeMessage(message, notes)));
  if (turns.length === 0) {
    if (written.length === 0) throw notExpressibleError(paths.turns, 'has no text for the model');
    // Sent as the user's, because there must be a turn.
    notes.drop(paths.system);
    return { system: undefined, messages: [{ role: 'user', content: written }] };
  }
  const last = turns.at(-1);
  const end = last?.content.at(-1);
  if (last?.role === 'assistant' && end !== undefined && 'text' in end && typeof end.text === 'string') {
    const text = end.text.trimEnd();
    if (text !== end.text) notes.drop(`${messages.at(-1)?.path}.content`);
    last.content = [...last.content.slice(0, -1), { ...end, text }];
  }
  return { system: written.length === 0 ? undefined : written, messages: turns };
}

function writeMessage({ role, parts, path }: Message, notes: DroppedFields): Turn {
  if (parts.some((part) => part.type === 'text' && part.text !== '' && isBlankText(part.text)))
    notes.drop(`${path}.content`);
  const blocks = parts.flatMap((part) => writePart(part, notes) ?? []);
  // Results must precede the user's own content.
  const results = blocks.filter((block) => isResult(block));
  return { role, content: [...results, ...blocks.filter((block) => !isResult(block))] };
}

const isResult = (block: object): boolean => 'tool_use_id' in block;

/**
 * Merges consecutive turns of one role: all results of a turn's
 * calls must be in the next turn. Empty turns are dropped.
 */
function mergeTurns(turns: readonly Turn[]): Turn[] {
  const merged: Turn[] = [];
  for (const { role, content } of turns) {
    const last = merged.at(-1);
    if (last?.role === role) {
      const all = [...last.content, ...content];
      last.content = [...all.filter(isResult), ...all.filter((block) => !isResult(block))];
    } else if (content.length > 0) merged.push({ role, content });
  }
  return merged;
}

/** Types of documents that Anthropic accepts as text only. */
const TEXT_TYPE = /^(?:text\/|application\/(?:json|xml|yaml)$)/;

function writeSource(source: MediaPart['source']): object {
  if ('url' in source) return { type: 'url', url: source.url };
  const { mediaType, data } = source;
  return TEXT_TYPE.test(mediaType)
    ? { type: 'text', media_type: 'text/plain', data: Buffer.from(data, 'base64').toString() }
    : { type: 'base64', media_type: mediaType, data };
}

function writePart(part: Part, notes: DroppedFields): object | undefined {
  switch (part.type) {
    case 'text':
      return isBlankText(part.text) ? undefined : { type: 'text', text: part.text, ...toCache(part.cache) };
    case 'image':
    case 'document': {
      const { source, detail } = part;
      if (detail !== undefined) notes.drop(detail.path);
      return {
        type: part.type,
        source: writeSource(source),
        title: part.type === 'document' ? part.name : undefined,
        ...toCache(part.cache),
      };
    }
    case 'audio':
      throw notExpressibleError(part.path);
    case 'call':
      return {
        type: 'tool_use',
        id: toId(part.id),
        name: part.name,
        input: parseArguments(part.args, `${part.path}.arguments`, notes),
        ...toCache(part.cache),
      };
    case 'result': {
      const content = part.parts.flatMap((each) => writePart(each, notes) ?? []);
      return {
        type: 'tool_result',
        tool_use_id: toId(part.id),
        content: content.length === 0 ? undefined : content,
        is_error: part.isError || undefined,
        ...toCache(part.cache),
      };
    }
    case 'thinking': {
      if (part.signature?.vendor !== 'anthropic') {
        notes.drop(part.path);
        return undefined;
      }
      const { value } = part.signature;
      return part.isRedacted
        ? { type: 'redacted_thinking', data: value }
        : { type: 'thinking', thinking: part.text, signature: value };
    }
  }
}

function writeChoice(choice: ToolChoice | undefined, parallel: boolean | undefined): object | undefined {
  const single = parallel === false ? { disable_parallel_tool_use: true } : {};
  if (choice === undefined) return parallel === false ? { type: 'auto', ...single } : undefined;
  if (choice.mode === 'none') return { type: 'none' };
  if (choice.name !== undefined) return { type: 'tool', name: choice.name, ...single };
  return { type: choice.mode === 'required' ? 'any' : 'auto', ...single };
}

interface WrittenReasoning {
  readonly thinking?: object;
  readonly config?: { readonly effort?: string } | undefined;
}

/**
 * Writes reasoning unless Anthropic would refuse the request for
 * it: with forced calls, or after calls made without reasoning.
 */
function writeReasoning(
  { reasoning, toolChoice, messages }: Conversation,
  target: UpstreamRequestParameters,
  notes: DroppedFields,
): WrittenReasoning & { readonly config: { readonly effort?: string; readonly format?: OutputFormat } } {
  if (reasoning === undefined) return { config: {} };
  if (reasoning.mode === 'off') return { thinking: undefined, config: {} };
  const isForced = toolChoice?.mode === 'required';
  if (isForced || lacksThinking(messages)) {
    notes.drop(reasoning.path);
    return { config: {} };
  }
  if (ADAPTIVE_MODEL.test(target.model))
    return { thinking: { type: 'adaptive' }, config: { effort: toEffort(reasoning, target.model) } };
  const ofEffort = Math.min(BUDGETS[reasoning.effort ?? ''] ?? DEFAULT_BUDGET, largestBudget(target));
  const budget = Math.min(reasoning.budget ?? ofEffort, target.maxTokens - 1);
  if (budget < MIN_BUDGET) {
    notes.drop(reasoning.path);
    return { config: {} };
  }
  return { thinking: { type: 'enabled', budget_tokens: budget }, config: {} };
}

/** The oldest models with an effort, which refuse the one between `high` and `max`. */
const NO_XHIGH_MODEL = /claude-(?:[a-z]+-)?4[-.]6/;

function toEffort({ effort }: Reasoning, model: string): string | undefined {
  if (effort === 'minimal') return 'low';
  return effort === 'xhigh' && NO_XHIGH_MODEL.test(model) ? 'high' : effort;
}

/** Whether the last turn of the model has calls but does not start with its own reasoning. */
function lacksThinking(messages: readonly Message[]): boolean {
  const last = messages.findLast(({ role }) => role === 'assistant');
  if (last === undefined || !last.parts.some(({ type }) => type === 'call')) return false;
  return !last.parts.some((part) => part.type === 'thinking' && part.signature?.vendor === 'anthropic');
}
