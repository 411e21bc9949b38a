import { asObject, type UntrustedObject } from '../../../contract/objects.ts';
import { tryParse } from '../../platform/json.ts';
import { isReasoningModel, MIN_RESPONSES_TOKENS } from '../request.ts';
import {
  checkMembers,
  type DroppedFields,
  detailAt,
  dropOthers,
  fieldSet,
  fieldTable,
  fileSourceOf,
  listAt,
  mediaKind,
  notExpressibleError,
  numberAt,
  objectAt,
  sourceOf,
  stopsFor,
  strictAt,
  textAt,
  toArguments,
  toDataUrl,
  toOpenAiParameters,
  toOpenAiReasoningEffort,
  toOpenAiSampling,
} from './fields.ts';
import {
  type CallPart,
  type Conversation,
  type FunctionTool,
  type MediaPart,
  type Message,
  type OutputFormat,
  type Part,
  type Reasoning,
  type ResultPart,
  readSignature,
  splitLeadingSystemMessages,
  type TextPart,
  type ThinkingPart,
  type ToolChoice,
  type ToolOrigin,
  toShortId,
  type UpstreamRequestParameters,
  uniqueTools,
  unpackOpaque,
} from './neutral-form.ts';

const MEMBERS = fieldTable(
  'model input instructions max_output_tokens stream temperature top_p top_logprobs tools tool_choice parallel_tool_calls ' +
    'text reasoning store truncation background',
);
const TEXT_MEMBERS = fieldTable('format');
const REASONING_MEMBERS = fieldTable('effort');

/**
 * Reads a request of OpenAI's Responses (platform.openai.com/docs/api-reference/responses/create).
 * @throws AppError `invalid_request`
 */
export function readResponsesRequest(body: UntrustedObject, notes: DroppedFields): Conversation {
  checkMembers(body, MEMBERS, notes);
  // Responses are not stored here, so a stored one could not be retrieved.
  if (body.store === true) throw notExpressibleError('store');
  if (body.store === false) notes.drop('store');
  if (typeof body.top_logprobs === 'number' && body.top_logprobs > 0) throw notExpressibleError('top_logprobs');
  if (body.truncation === 'auto') notes.drop('truncation');
  const text = asObject(body.text) ?? {};
  checkMembers(text, TEXT_MEMBERS, notes, 'text.');
  const { instructions, parallel_tool_calls: parallel } = body;
  const { system, messages } = splitLeadingSystemMessages(readInput(body.input, notes));
  const said = instructions === undefined || instructions === null ? '' : textAt(instructions, 'instructions');
  return {
    system: said === '' ? system : [{ type: 'text', text: said }, ...system],
    messages,
    paths: { system: said === '' ? 'input.0.role' : 'instructions', turns: 'input' },
    tools: readAllTools(body, notes),
    toolChoice: readToolChoice(body.tool_choice),
    parallelCalls: typeof parallel === 'boolean' ? { value: parallel, path: 'parallel_tool_calls' } : undefined,
    format: readFormat(text.format),
    reasoning: readReasoning(asObject(body.reasoning), notes),
    settings: { temperature: numberAt(body, 'temperature'), topP: numberAt(body, 'top_p') },
  };
}

function readFormat(value: unknown): OutputFormat | undefined {
  if (value === undefined || value === null) return undefined;
  const path = 'text.format';
  const { type, schema, name, strict } = objectAt(value, path);
  if (type === 'text') return undefined;
  if (type === 'json_object') return { type: 'json', path };
  if (type !== 'json_schema') throw notExpressibleError(`${path}.type`);
  return {
    type: 'schema',
    schema,
    name: typeof name === 'string' ? name : undefined,
    strict: typeof strict === 'boolean' ? strict : undefined,
    path,
  };
}

function readReasoning(reasoning: UntrustedObject | undefined, notes: DroppedFields): Reasoning | undefined {
  if (reasoning === undefined) return undefined;
  checkMembers(reasoning, REASONING_MEMBERS, notes, 'reasoning.');
  const { effort } = reasoning;
  const path = 'reasoning.effort';
  if (typeof effort !== 'string') return undefined;
  return effort === 'none' ? { mode: 'off', path } : { mode: 'on', effort, path };
}

/** Members of every kind of item that carry nothing for a model. */
const ITEM = 'type id status';
const MESSAGE_MEMBERS = fieldSet(`${ITEM} role content`);
const CALL_MEMBERS = fieldSet(`${ITEM} call_id name namespace arguments input`);
const RESULT_MEMBERS = fieldSet(`${ITEM} call_id name output`);
const REASONING_ITEM_MEMBERS = fieldSet(`${ITEM} summary content encrypted_content`);
const PART_MEMBERS: Readonly<Record<string, ReadonlySet<string>>> = {
  input_text: fieldSet('type text'),
  text: fieldSet('type text'),
  output_text: fieldSet('type text annotations logprobs'),
  refusal: fieldSet('type refusal'),
  input_image: fieldSet('type image_url detail'),
  input_file: fieldSet('type file_data file_url filename'),
};
/** Prefix of the ids of reasoning items, OpenAI's and ours. */
const THOUGHT_PREFIX = 'rs_';

/** Type of the item with the result of a search for tools, which are offered like all others. */
const FOUND_TOOLS = 'tool_search_output';
const SEARCH_ITEMS: ReadonlySet<unknown> = new Set(['web_search_call', 'tool_search_call', FOUND_TOOLS]);

/**
 * Whether an item has no content for a model: searches made by the upstream or for tools, and references to reasoning,
 * which clients send that expect reasoning to be stored (`store` is true by default). Reasoning may be dropped;
 * references to anything else are refused.
 */
const isEmptyItem = ({ type, id }: UntrustedObject): boolean =>
  SEARCH_ITEMS.has(type) || (type === 'item_reference' && typeof id === 'string' && id.startsWith(THOUGHT_PREFIX));

type Role = Message['role'];

/**
 * Reads the items of a request to OpenAI's Responses as turns: consecutive messages, reasoning and calls of a model
 * form one turn.
 *
 * @throws AppError `invalid_request`
 */
function readInput(input: unknown, notes: DroppedFields): Message[] {
  if (typeof input === 'string') return [{ role: 'user', parts: [{ type: 'text', text: input }], path: 'input' }];
  const turns: { role: Role; parts: Part[]; path: string }[] = [];
  for (const [index, value] of listAt(input, 'input').entries()) {
    const path = `input.${index}`;
    const item = objectAt(value, path);
    if (isEmptyItem(item)) notes.drop(path);
    if (isEmptyItem(item) || ADDED_TOOLS.has(item.type)) continue;
    const { role, parts } = readItem(item, path, notes);
    const last = turns.at(-1);
    if (role === 'assistant' && last?.role === role) last.parts.push(...parts);
    else turns.push({ role, parts, path });
  }
  return turns;
}

function readItem(
  item: UntrustedObject,
  path: string,
  notes: DroppedFields,
): { readonly role: Role; readonly parts: Part[] } {
  switch (item.type ?? 'message') {
    case 'message':
      dropOthers(item, MESSAGE_MEMBERS, notes, path);
      return { role: readRole(item.role, path), parts: readContent(item.content, `${path}.content`, notes) };
    case 'reasoning':
      return { role: 'assistant', parts: [readReasoningItem(item, path, notes)] };
    case 'function_call':
    case 'custom_tool_call':
      return { role: 'assistant', parts: [readCall(item, path, notes)] };
    case 'function_call_output':
    case 'custom_tool_call_output':
      return { role: 'user', parts: [readResult(item, path, notes)] };
    default:
      throw notExpressibleError(`${path}.type`);
  }
}

function readRole(role: unknown, path: string): Role {
  if (role === 'user' || role === 'assistant' || role === 'system') return role;
  if (role === 'developer') return 'system';
  throw notExpressibleError(`${path}.role`);
}

function readContent(content: unknown, path: string, notes: DroppedFields): (TextPart | MediaPart)[] {
  if (content === '') return [];
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  return listAt(content, path).map((part, index) => readPart(part, `${path}.${index}`, notes));
}

function readPart(value: unknown, path: string, notes: DroppedFields): TextPart | MediaPart {
  const part = objectAt(value, path);
  const { type } = part;
  const known = typeof type === 'string' && Object.hasOwn(PART_MEMBERS, type) ? PART_MEMBERS[type] : undefined;
  if (known === undefined) throw notExpressibleError(`${path}.type`);
  dropOthers(part, known, notes, path);
  if (type === 'input_image') {
    const source = sourceOf(textAt(part.image_url, `${path}.image_url`));
    return { type: mediaKind(source, 'image'), source, detail: detailAt(part, path), path };
  }
  if (type === 'input_file') {
    const name = typeof part.filename === 'string' ? part.filename : undefined;
    const source =
      typeof part.file_url === 'string'
        ? sourceOf(part.file_url)
        : fileSourceOf(textAt(part.file_data, `${path}.file_data`));
    return { type: mediaKind(source, 'document'), source, name, path };
  }
  const key = type === 'refusal' ? 'refusal' : 'text';
  return { type: 'text', text: textAt(part[key], `${path}.${key}`) };
}

function readCall(item: UntrustedObject, path: string, notes: DroppedFields): CallPart {
  dropOthers(item, CALL_MEMBERS, notes, path);
  const { call_id: id, name, namespace } = item;
  return {
    type: 'call',
    id: textAt(id, `${path}.call_id`),
    name: namespacedName(typeof namespace === 'string' ? namespace : undefined, textAt(name, `${path}.name`)),
    args:
      item.type === 'custom_tool_call'
        ? toFreeformArguments(textAt(item.input, `${path}.input`))
        : toArguments(item.arguments),
    path,
  };
}

function readResult(item: UntrustedObject, path: string, notes: DroppedFields): ResultPart {
  dropOthers(item, RESULT_MEMBERS, notes, path);
  return {
    type: 'result',
    id: textAt(item.call_id, `${path}.call_id`),
    parts: readContent(item.output, `${path}.output`, notes),
    isError: false,
    path,
  };
}

function readReasoningItem(item: UntrustedObject, path: string, notes: DroppedFields): ThinkingPart {
  dropOthers(item, REASONING_ITEM_MEMBERS, notes, path);
  const texts = [item.summary, item.content].flatMap((list) => (Array.isArray(list) ? list : []));
  const text = texts.map((each, index) => textAt(objectAt(each, `${path}.${index}`).text, path)).join('\n\n');
  const signature = readSignature(item.encrypted_content, 'openai');
  return { type: 'thinking', text, signature, isRedacted: text === '', path };
}

/**
 * Writes a request of OpenAI's Responses (platform.openai.com/docs/api-reference/responses/create).
 * @throws AppError `invalid_request`
 */
export function writeResponsesRequest(
  conversation: Conversation,
  target: UpstreamRequestParameters,
  notes: DroppedFields,
): object {
  const { system, messages, tools, toolChoice, parallelCalls, settings, format, reasoning } = conversation;
  const { topK, seed, presencePenalty, frequencyPenalty } = settings;
  const stop = stopsFor(settings.stop, notes);
  if (stop !== undefined) throw notExpressibleError(stop.path);
  for (const unknown of [topK, seed, presencePenalty, frequencyPenalty])
    if (unknown !== undefined) notes.drop(unknown.path);
  for (const { cache } of [...system, ...tools]) if (cache !== undefined) notes.drop(cache.path);
  const [first] = system;
  const items = messages.flatMap((message) => writeMessage(message, notes));
  // An empty input is refused, whatever the instructions say.
  const isInstruction = system.length === 1 && items.length > 0;
  const effort = toOpenAiReasoningEffort(reasoning, target, notes);
  const { temperature, top_p } = toOpenAiSampling(
    { temperature: settings.temperature, topP: settings.topP },
    target,
    notes,
  );
  return {
    model: target.model,
    instructions: isInstruction ? first?.text : undefined,
    input: [
      ...(isInstruction || system.length === 0 ? [] : [{ role: 'developer', content: system.map(toInputText) }]),
      ...items,
    ],
    [target.maxTokensKey]: Math.max(target.maxTokens, MIN_RESPONSES_TOKENS),
    stream: target.stream || undefined,
    // All callers share the channel's account, so nothing may be stored in it.
    store: false,
    include: isReasoningModel(target.model) ? ['reasoning.encrypted_content'] : undefined,
    tools:
      tools.length === 0
        ? undefined
        : tools.map(({ name, description, parameters, strict }) => ({
            type: 'function',
            name,
            description,
            parameters: toOpenAiParameters(parameters),
            strict: strict?.value ?? false,
          })),
    tool_choice: tools.length === 0 ? undefined : writeChoice(toolChoice),
    parallel_tool_calls: tools.length === 0 ? undefined : parallelCalls?.value,
    text: writeFormat(format),
    reasoning: effort === undefined ? undefined : { effort },
    temperature,
    top_p,
  };
}

const toInputText = ({ text }: TextPart): object => ({ type: 'input_text', text });

/** Writes the items of a turn, in their order; consecutive texts and media form one message. */
function writeMessage({ role, parts, path }: Message, notes: DroppedFields): object[] {
  const items: object[] = [];
  let said: (TextPart | MediaPart)[] = [];
  const flush = (): void => {
    if (said.length > 0) items.push(writeSaid(role, said));
    said = [];
  };
  for (const part of parts) {
    if (part.type !== 'thinking' && part.cache !== undefined) notes.drop(part.cache.path);
    if (part.type === 'text' || isMedia(part)) {
      said.push(part);
      continue;
    }
    flush();
    if (part.type === 'call' && role === 'assistant')
      items.push({ type: 'function_call', call_id: toCallId(part.id), name: part.name, arguments: part.args });
    else if (part.type === 'result') items.push(writeResult(part, notes));
    else if (part.type === 'thinking') items.push(...writeThought(part, notes));
    else throw notExpressibleError(path);
  }
  flush();
  return items;
}

const isMedia = (part: Part): part is MediaPart =>
  part.type === 'image' || part.type === 'document' || part.type === 'audio';

function writeSaid(role: Message['role'], parts: readonly (TextPart | MediaPart)[]): object {
  const [only] = parts;
  const content =
    parts.length === 1 && only?.type === 'text'
      ? only.text
      : parts.map((part) => (role === 'assistant' ? writeOutputPart(part) : writeInputPart(part)));
  return { role: role === 'system' ? 'developer' : role, content };
}

function writeOutputPart(part: TextPart | MediaPart): object {
  if (part.type !== 'text') throw notExpressibleError(part.path);
  return { type: 'output_text', text: part.text, annotations: [] };
}

function writeInputPart(part: TextPart | MediaPart): object {
  if (part.type === 'text') return toInputText(part);
  const { source, type, name } = part;
  if (type === 'audio') throw notExpressibleError(part.path);
  const url = 'url' in source ? source.url : toDataUrl(source);
  if (type === 'image') return { type: 'input_image', image_url: url, detail: part.detail?.value ?? 'auto' };
  return 'url' in source
    ? { type: 'input_file', file_url: url }
    : { type: 'input_file', filename: name ?? 'document', file_data: url };
}

function writeResult({ id, parts, isError, path }: ResultPart, notes: DroppedFields): object {
  if (isError) notes.drop(`${path}.is_error`);
  const [only] = parts;
  const output =
    parts.length === 0 ? '' : parts.length === 1 && only?.type === 'text' ? only.text : parts.map(writeInputPart);
  return { type: 'function_call_output', call_id: toCallId(id), output };
}

/** Longest id of a call that this API accepts; gateways such as LiteLLM put signatures into theirs. */
const MAX_CALL_ID = 64;

const toCallId = (id: string): string => toShortId(id, MAX_CALL_ID);

/** This API accepts only reasoning that it encrypted itself. */
function writeThought({ signature, text, path }: ThinkingPart, notes: DroppedFields): object[] {
  if (signature?.vendor !== 'openai' || signature.value === '' || unpackOpaque(signature) !== undefined) {
    notes.drop(path);
    return [];
  }
  const summary = text === '' ? [] : [{ type: 'summary_text', text }];
  return [{ type: 'reasoning', summary, encrypted_content: signature.value }];
}

function writeChoice(choice: ToolChoice | undefined): unknown {
  return choice?.name === undefined ? choice?.mode : { type: 'function', name: choice.name };
}

function writeFormat(format: OutputFormat | undefined): object | undefined {
  if (format === undefined) return undefined;
  if (format.type === 'json') return { format: { type: 'json_object' } };
  const { schema, name = 'response', strict = true } = format;
  return { format: { type: 'json_schema', name, schema, strict } };
}

const FUNCTION_MEMBERS = fieldSet('type name description parameters strict');
const CUSTOM_MEMBERS = fieldSet('type name description format');
/** Parameters that replace a freeform tool where there are only functions. */
const FREEFORM_PARAMETERS = {
  type: 'object',
  properties: { input: { type: 'string', description: 'The whole input of the tool, as it is.' } },
  required: ['input'],
  additionalProperties: false,
};

/** The function name that represents a namespaced tool at upstreams without namespaces. */
const namespacedName = (namespace: string | undefined, name: string): string =>
  namespace === undefined ? name : `${namespace}__${name}`;

/** Types of the items in which Codex lists tools instead of the member `tools`. */
const ADDED_TOOLS: ReadonlySet<unknown> = new Set(['additional_tools', FOUND_TOOLS]);

/**
 * Reads the tools of OpenAI's Responses as functions.
 * @throws AppError `invalid_request` for tools that the upstream runs
 */
function readAllTools({ tools, input }: UntrustedObject, notes: DroppedFields): readonly FunctionTool[] {
  const added = (Array.isArray(input) ? input : []).flatMap((value, index) => {
    const { type, tools: more } = asObject(value) ?? {};
    return ADDED_TOOLS.has(type) ? readTools(more, `input.${index}.tools`, notes) : [];
  });
  return uniqueTools([...readTools(tools, 'tools', notes), ...added]);
}

function readTools(tools: unknown, prefix: string, notes: DroppedFields): FunctionTool[] {
  if (!Array.isArray(tools)) return [];
  return tools.flatMap((value, index) => {
    const path = `${prefix}.${index}`;
    const tool = objectAt(value, path);
    if (tool.type === 'namespace') {
      const namespace = textAt(tool.name, `${path}.name`);
      return listAt(tool.tools, `${path}.tools`).flatMap((inner, at) =>
        readTool(objectAt(inner, `${path}.tools.${at}`), `${path}.tools.${at}`, notes, namespace),
      );
    }
    return readTool(tool, path, notes, undefined);
  });
}

function readTool(
  tool: UntrustedObject,
  path: string,
  notes: DroppedFields,
  namespace: string | undefined,
): FunctionTool[] {
  // All tools are offered at once, so there is nothing to search for.
  if (tool.type === 'tool_search') {
    notes.drop(path);
    return [];
  }
  if (tool.type !== 'function' && tool.type !== 'custom') throw notExpressibleError(`${path}.type`);
  const isFreeform = tool.type === 'custom';
  dropOthers(tool, isFreeform ? CUSTOM_MEMBERS : FUNCTION_MEMBERS, notes, path);
  const name = textAt(tool.name, `${path}.name`);
  const description = typeof tool.description === 'string' ? tool.description : undefined;
  const origin = isFreeform || namespace !== undefined ? { isFreeform, namespace, name } : undefined;
  const named = { name: namespacedName(namespace, name), origin };
  if (isFreeform)
    return [
      {
        ...named,
        description: describeFormat(description, asObject(tool.format), `${path}.format`, notes),
        parameters: FREEFORM_PARAMETERS,
        strict: undefined,
      },
    ];
  return [
    {
      ...named,
      description,
      parameters: asObject(tool.parameters) ?? { type: 'object', properties: {} },
      // The default of the other dialects is written as an explicit false in this one.
      strict: tool.strict === true ? strictAt(tool, path) : undefined,
    },
  ];
}

/** Describes a grammar to the model in words, because the upstream does not enforce it. */
function describeFormat(
  description: string | undefined,
  format: UntrustedObject | undefined,
  path: string,
  notes: DroppedFields,
): string | undefined {
  if (format === undefined || format.type !== 'grammar') return description;
  notes.drop(path);
  const { syntax, definition } = format;
  const grammar = `The input follows this grammar (${String(syntax)}):\n${textAt(definition, `${path}.definition`)}`;
  return description === undefined ? grammar : `${description}\n\n${grammar}`;
}

/**
 * Reads the member `tool_choice`.
 * @throws AppError `invalid_request`
 */
function readToolChoice(choice: unknown): ToolChoice | undefined {
  const path = 'tool_choice';
  if (choice === undefined || choice === null) return undefined;
  if (choice === 'auto' || choice === 'none' || choice === 'required') return { mode: choice, path };
  if (choice === 'any') return { mode: 'required', path };
  const { type, mode, tools, ...named } = objectAt(choice, path);
  if (type === 'allowed_tools') {
    // Tools that are not functions are refused or dropped with the tools themselves.
    const allowed = listAt(tools, `${path}.tools`).map((tool) => objectAt(tool, `${path}.tools`));
    return {
      mode: mode === 'required' ? 'required' : 'auto',
      allowed: allowed.filter(({ name }) => typeof name === 'string').map((tool) => nameOfTool(tool, path)),
      path,
    };
  }
  if (type !== 'function' && type !== 'custom') throw notExpressibleError(`${path}.type`);
  return { mode: 'required', name: nameOfTool(named, path), path };
}

const nameOfTool = ({ name, namespace }: UntrustedObject, path: string): string =>
  namespacedName(typeof namespace === 'string' ? namespace : undefined, textAt(name, `${path}.name`));

/** The arguments of a function that represents a freeform tool. */
export const toFreeformArguments = (input: string): string => JSON.stringify({ input });

/** The text in such arguments; if the model did not keep to their form, the arguments themselves. */
export function readFreeformArguments(args: string): string {
  const input = asObject(tryParse(args))?.input;
  return typeof input === 'string' ? input : args;
}

/** A call in the caller's terms for the tool, without its input. */
export function toCallItem(origin: ToolOrigin | undefined, name: string): object {
  const type = origin?.isFreeform === true ? 'custom_tool_call' : 'function_call';
  return { type, name: origin?.name ?? name, namespace: origin?.namespace };
}
