import { hash } from 'node:crypto';
import { asObject, type UntrustedObject } from '../../../contract/objects.ts';
import { isBlank } from '../dialects.ts';
import { readBlock, readToolDeclaration, toPlainPart } from './anthropic-request.ts';
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
  textsAt,
  toArguments,
  toDataUrl,
  toOpenAiParameters,
  toOpenAiReasoningEffort,
  toOpenAiSampling,
} from './fields.ts';
import {
  type CacheMarker,
  type CallPart,
  type Conversation,
  type FunctionTool,
  type MediaPart,
  type Message,
  mergeThoughts,
  type OutputFormat,
  type Part,
  type Reasoning,
  type ResultPart,
  readSignature,
  splitLeadingSystemMessages,
  type TextPart,
  type ThinkingPart,
  type ToolChoice,
  toShortId,
  type UpstreamRequestParameters,
  uniqueTools,
  unpackOpaque,
} from './neutral-form.ts';

const MEMBERS = fieldTable(
  'model messages max_tokens max_completion_tokens stream stream_options temperature top_p top_k seed presence_penalty ' +
    'frequency_penalty stop tools tool_choice parallel_tool_calls response_format reasoning_effort reasoning thinking enable_thinking ' +
    'thinking_budget usage n modalities store',
  'logit_bias logprobs top_logprobs functions function_call audio guided_json guided_regex guided_choice guided_grammar grammar ' +
    'structural_tag suffix echo',
);

const MESSAGE_MEMBERS = fieldSet(
  'role content refusal tool_calls tool_call_id reasoning_content reasoning_details audio function_call',
);
const PART_MEMBERS = fieldSet('type text refusal image_url file input_audio cache_control');
const IMAGE_MEMBERS = fieldSet('url detail');
const TOOL_MEMBERS = fieldSet('type function cache_control');
const FUNCTION_MEMBERS = fieldSet('name description parameters strict');
const FORMAT_MEMBERS = fieldSet('name schema strict');

/**
 * Reads a request of OpenAI's chat completions (platform.openai.com/docs/api-reference/chat).
 * @throws AppError `invalid_request`
 */
export function readOpenAiChatRequest(body: UntrustedObject, notes: DroppedFields): Conversation {
  checkMembers(body, MEMBERS, notes);
  if (typeof body.n === 'number' && body.n > 1) throw notExpressibleError('n');
  if (body.store === true) throw notExpressibleError('store');
  if (body.store === false) notes.drop('store');
  if (Array.isArray(body.modalities) && body.modalities.some((each) => each !== 'text'))
    throw notExpressibleError('modalities');
  const all = listAt(body.messages, 'messages').map((message, index) =>
    readMessage(message, `messages.${index}`, notes),
  );
  return {
    ...splitLeadingSystemMessages(all),
    paths: { system: 'messages.0.role', turns: 'messages' },
    tools: uniqueTools(
      (Array.isArray(body.tools) ? body.tools : []).map((tool, index) => readTool(tool, `tools.${index}`, notes)),
    ),
    toolChoice: readChoice(body.tool_choice),
    parallelCalls:
      typeof body.parallel_tool_calls === 'boolean'
        ? { value: body.parallel_tool_calls, path: 'parallel_tool_calls' }
        : undefined,
    format: readFormat(asObject(body.response_format), notes),
    reasoning: readReasoning(body, notes),
    settings: {
      temperature: numberAt(body, 'temperature'),
      topP: numberAt(body, 'top_p'),
      topK: numberAt(body, 'top_k'),
      seed: numberAt(body, 'seed'),
      presencePenalty: numberAt(body, 'presence_penalty'),
      frequencyPenalty: numberAt(body, 'frequency_penalty'),
      stop: textsAt(body, 'stop'),
    },
  };
}

function readMessage(value: unknown, path: string, notes: DroppedFields): Message {
  const message = objectAt(value, path);
  dropOthers(message, MESSAGE_MEMBERS, notes, path);
  const { role, content } = message;
  if (role === 'tool') {
    // Some clients send the result of a tool as it is.
    const result = asObject(content) === undefined ? content : JSON.stringify(content);
    const parts = readPlainContent(result, `${path}.content`, notes);
    const id = textAt(message.tool_call_id, `${path}.tool_call_id`);
    return { role: 'user', path, parts: [{ type: 'result', id, parts, isError: false, path }] };
  }
  if (role === 'system' || role === 'developer')
    return { role: 'system', path, parts: readPlainContent(content, `${path}.content`, notes) };
  if (role === 'user') return { role, path, parts: readContent(content, `${path}.content`, notes) };
  if (role !== 'assistant' || message.audio || message.function_call)
    throw notExpressibleError(role === 'assistant' ? path : `${path}.role`);
  const calls = Array.isArray(message.tool_calls) ? message.tool_calls : [];
  return {
    role,
    path,
    parts: [
      ...mergeThoughts(readThinking(message, path)),
      ...readContent(content, `${path}.content`, notes),
      ...readContent(message.refusal, `${path}.refusal`, notes),
      ...calls.map((call, index) => readCall(call, `${path}.tool_calls.${index}`)),
    ],
  };
}

/**
 * Reasoning is sent back in `reasoning_details`, each with its signature, as in OpenRouter's API; or as the plain text
 * of `reasoning_content`, as an upstream of this dialect returned it.
 */
function readThinking(
  { reasoning_details: details, reasoning_content: text }: UntrustedObject,
  path: string,
): ThinkingPart[] {
  const listed = Array.isArray(details) ? details : [];
  if (listed.length === 0 && typeof text === 'string' && text !== '')
    return [
      {
        type: 'thinking',
        text,
        signature: { vendor: 'openai', value: '' },
        isRedacted: false,
        path: `${path}.reasoning_content`,
      },
    ];
  return listed.map((value, index) => {
    const { text: thought, signature, data } = objectAt(value, `${path}.reasoning_details.${index}`);
    const isRedacted = typeof data === 'string';
    return {
      type: 'thinking',
      text: typeof thought === 'string' ? thought : '',
      signature: readSignature(isRedacted ? data : signature, undefined),
      isRedacted,
      path: `${path}.reasoning_details.${index}`,
    };
  });
}

function readContent(content: unknown, path: string, notes: DroppedFields): Part[] {
  if (content === undefined || content === null || content === '') return [];
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  return listAt(content, path).map((part, index) => readContentPart(part, `${path}.${index}`, notes));
}

/** Content of messages that have no calls, results or thinking. */
function readPlainContent(content: unknown, path: string, notes: DroppedFields): (TextPart | MediaPart)[] {
  return readContent(content, path, notes).map((part, index) => toPlainPart(part, `${path}.${index}`));
}

/** Blocks of Anthropic's messages, which Cursor's agent sends in this dialect for models named like Claude. */
const ANTHROPIC_BLOCKS: ReadonlySet<unknown> = fieldSet(
  'image document tool_use tool_result thinking redacted_thinking',
);

function readContentPart(value: unknown, path: string, notes: DroppedFields): Part {
  const part = objectAt(value, path);
  if (ANTHROPIC_BLOCKS.has(part.type)) return readBlock(value, path, notes);
  dropOthers(part, PART_MEMBERS, notes, path);
  const cache = readCache(part, path);
  if (part.type === 'text') return { type: 'text', text: textAt(part.text, `${path}.text`), cache };
  if (part.type === 'refusal') return { type: 'text', text: textAt(part.refusal, `${path}.refusal`) };
  if (part.type === 'image_url') {
    // Mistral's clients send only the URL.
    const image =
      typeof part.image_url === 'string' ? { url: part.image_url } : objectAt(part.image_url, `${path}.image_url`);
    dropOthers(image, IMAGE_MEMBERS, notes, `${path}.image_url`);
    const source = sourceOf(textAt(image.url, `${path}.image_url.url`));
    const type = mediaKind(source, 'image');
    return { type, source, detail: detailAt(image, `${path}.image_url`), cache, path };
  }
  if (part.type === 'file') {
    const { file_data: data, filename } = objectAt(part.file, `${path}.file`);
    const name = typeof filename === 'string' ? filename : undefined;
    const source = fileSourceOf(textAt(data, `${path}.file.file_data`));
    return { type: mediaKind(source, 'document'), source, name, cache, path };
  }
  if (part.type === 'input_audio') {
    const { data, format } = objectAt(part.input_audio, `${path}.input_audio`);
    const source = {
      mediaType: `audio/${textAt(format, `${path}.input_audio.format`)}`,
      data: textAt(data, `${path}.input_audio.data`),
    };
    return { type: 'audio', source, path };
  }
  throw notExpressibleError(`${path}.type`);
}

/** Not part of OpenAI's API, but gateways in its dialect accept it for Anthropic's models. */
const readCache = (part: UntrustedObject, path: string): CacheMarker | undefined => {
  const marker = asObject(part.cache_control);
  return marker && { ttl: marker.ttl === '1h' ? '1h' : undefined, path: `${path}.cache_control` };
};

function readCall(value: unknown, path: string): Part {
  const call = objectAt(value, path);
  const { name, arguments: args } = objectAt(call.function, `${path}.function`);
  return {
    type: 'call',
    id: textAt(call.id, `${path}.id`),
    name: textAt(name, `${path}.function.name`),
    args: toArguments(args),
    path: `${path}.function`,
  };
}

function readTool(value: unknown, path: string, notes: DroppedFields): FunctionTool {
  const tool = objectAt(value, path);
  if (tool.input_schema !== undefined) return readToolDeclaration(tool, path, notes);
  if (tool.type !== undefined && tool.type !== 'function') throw notExpressibleError(`${path}.type`);
  dropOthers(tool, TOOL_MEMBERS, notes, path);
  const declared = objectAt(tool.function, `${path}.function`);
  dropOthers(declared, FUNCTION_MEMBERS, notes, `${path}.function`);
  const { name, description, parameters } = declared;
  return {
    name: textAt(name, `${path}.function.name`),
    description: typeof description === 'string' ? description : undefined,
    parameters: asObject(parameters) ?? { type: 'object', properties: {} },
    strict: strictAt(declared, `${path}.function`),
    cache: readCache(tool, path),
  };
}

const CHOICES: ReadonlySet<string> = new Set(['auto', 'none', 'required', 'any']);

function readChoice(choice: unknown): ToolChoice | undefined {
  const path = 'tool_choice';
  if (choice === undefined || choice === null) return undefined;
  if (choice === 'auto' || choice === 'none' || choice === 'required') return { mode: choice, path };
  // The value of Mistral and of Anthropic.
  if (choice === 'any') return { mode: 'required', path };
  const given = objectAt(choice, path);
  const { type, function: named } = given;
  if (type === 'tool') return { mode: 'required', name: textAt(given.name, `${path}.name`), path };
  if (type === 'allowed_tools') return readAllowed(asObject(given.allowed_tools) ?? given, path);
  if (typeof type === 'string' && CHOICES.has(type)) return readChoice(type);
  if (type !== 'function') throw notExpressibleError(`${path}.type`);
  return { mode: 'required', name: textAt(asObject(named)?.name, `${path}.function.name`), path };
}

/** Tools that are not functions are refused or dropped with the tools themselves. */
function readAllowed({ mode, tools }: UntrustedObject, path: string): ToolChoice {
  const names = listAt(tools, `${path}.tools`).map((tool) => asObject(asObject(tool)?.function)?.name);
  return {
    mode: mode === 'required' ? 'required' : 'auto',
    allowed: names.filter((name) => typeof name === 'string'),
    path,
  };
}

function readFormat(format: UntrustedObject | undefined, notes: DroppedFields): OutputFormat | undefined {
  const path = 'response_format';
  if (format === undefined || format.type === 'text') return undefined;
  if (format.type === 'json_object') return { type: 'json', path };
  if (format.type !== 'json_schema') throw notExpressibleError(`${path}.type`);
  const described = objectAt(format.json_schema, `${path}.json_schema`);
  dropOthers(described, FORMAT_MEMBERS, notes, `${path}.json_schema`);
  const { schema, name, strict } = described;
  return {
    type: 'schema',
    schema,
    name: typeof name === 'string' ? name : undefined,
    strict: typeof strict === 'boolean' ? strict : undefined,
    path,
  };
}

const THINKING_MEMBERS = fieldSet('type budget_tokens');
const REASONING_MEMBERS = fieldSet('effort max_tokens enabled');

/**
 * Reads OpenAI's effort, or the equivalents of gateways and other vendors in this dialect: OpenRouter's `reasoning`,
 * `thinking`, `enable_thinking`.
 */
function readReasoning(body: UntrustedObject, notes: DroppedFields): Reasoning | undefined {
  const { reasoning_effort: effort, enable_thinking: isEnabled } = body;
  if (typeof effort === 'string') return toReasoning({ effort }, 'reasoning_effort');
  const reasoning = asObject(body.reasoning);
  if (reasoning !== undefined) {
    dropOthers(reasoning, REASONING_MEMBERS, notes, 'reasoning');
    const budget = numberAt(reasoning, 'max_tokens', 'reasoning.')?.value;
    return toReasoning({ effort: reasoning.effort, isEnabled: reasoning.enabled, budget }, 'reasoning');
  }
  const thinking = asObject(body.thinking);
  if (thinking !== undefined) {
    dropOthers(thinking, THINKING_MEMBERS, notes, 'thinking');
    const budget = numberAt(thinking, 'budget_tokens', 'thinking.')?.value;
    return toReasoning({ isEnabled: thinking.type !== 'disabled', budget }, 'thinking');
  }
  const budget = numberAt(body, 'thinking_budget')?.value;
  return toReasoning({ isEnabled, budget }, budget === undefined ? 'enable_thinking' : 'thinking_budget');
}

interface GivenReasoning {
  readonly effort?: unknown;
  readonly isEnabled?: unknown;
  readonly budget?: number;
}

function toReasoning({ effort, isEnabled, budget }: GivenReasoning, path: string): Reasoning | undefined {
  if (effort === 'none' || isEnabled === false || budget === 0) return { mode: 'off', path };
  if (typeof effort === 'string' && effort !== '') return { mode: 'on', effort, path };
  if (budget !== undefined && budget > 0) return { mode: 'on', budget, path };
  return isEnabled === true ? { mode: 'on', path } : undefined;
}

const MAX_STOPS = 4;
/** OpenAI's models accept shorter ids of calls than others; the ids of LiteLLM hold signatures, which it needs back. */
const OPENAI_MODEL = /^(?:.*\/)?(?:gpt-|chatgpt|o[1-9]|codex)/i;
const MAX_CALL_ID = 40;
/** Mistral's models accept only ids like their own. */
const MISTRAL_MODEL = /^(?:.*\/)?(?:open-)?(?:mistral|mixtral|ministral|magistral|codestral|devstral|pixtral|voxtral)/i;
const MISTRAL_CALL_ID = /^[a-zA-Z0-9]{9}$/;

/** An id of a call as the upstream of a model accepts it; it depends on that id alone. */
export function toAcceptedCallId(id: string, model: string): string {
  if (OPENAI_MODEL.test(model)) return toShortId(id, MAX_CALL_ID);
  return MISTRAL_MODEL.test(model) && !MISTRAL_CALL_ID.test(id) ? hash('sha256', id).slice(0, 9) : id;
}

/** Text of a result that has none: the dialect accepts images only from users. */
const IMAGE_FOLLOWS = 'The result is in the next message.';

/**
 * Writes a request of OpenAI's chat completions (platform.openai.com/docs/api-reference/chat).
 * @throws AppError `invalid_request`
 */
export function writeOpenAiChatRequest(
  conversation: Conversation,
  target: UpstreamRequestParameters,
  notes: DroppedFields,
): object {
  const { system, messages, tools, toolChoice, parallelCalls, settings, format } = conversation;
  const { topK } = settings;
  const stop = stopsFor(settings.stop, notes);
  if (topK !== undefined) notes.drop(topK.path);
  if (stop !== undefined && stop.value.length > MAX_STOPS)
    throw notExpressibleError(stop.path, `has more than ${MAX_STOPS} texts`);
  for (const { cache } of [...system, ...tools]) if (cache !== undefined) notes.drop(cache.path);
  return {
    model: target.model,
    messages: [
      ...(system.length === 0 ? [] : [{ role: 'system', content: writeTexts(system) }]),
      ...withResultsFirst(messages)
        .map((message) => withAcceptedIds(message, target.model))
        .flatMap((message) => writeMessage(message, notes)),
    ],
    [target.maxTokensKey]: target.maxTokens,
    stream: target.stream || undefined,
    stream_options: target.stream ? { include_usage: true } : undefined,
    tools:
      tools.length === 0
        ? undefined
        : tools.map(({ name, description, parameters, strict }) => ({
            type: 'function',
            function: { name, description, parameters: toOpenAiParameters(parameters), strict: strict?.value },
          })),
    tool_choice: tools.length === 0 ? undefined : writeChoice(toolChoice),
    parallel_tool_calls: tools.length === 0 ? undefined : parallelCalls?.value,
    response_format: writeFormat(format),
    reasoning_effort: toOpenAiReasoningEffort(conversation.reasoning, target, notes),
    ...toOpenAiSampling(settings, target, notes),
    seed: settings.seed?.value,
    stop: stop?.value,
  };
}

const withAcceptedIds = (message: Message, model: string): Message => ({
  ...message,
  parts: message.parts.map((part) =>
    part.type === 'call' || part.type === 'result' ? { ...part, id: toAcceptedCallId(part.id, model) } : part,
  ),
});

/** A single text is written as a string, because some upstreams of this dialect do not accept lists. */
const writeTexts = (parts: readonly TextPart[]): unknown =>
  parts.length === 1 ? parts[0]?.text : parts.map(({ text }) => ({ type: 'text', text }));

/**
 * Moves the results of a turn's calls before everything else that follows the turn: OpenAI refuses any message between
 * them, such as one with the image of a result, or one that the user added while the calls ran.
 */
function withResultsFirst(messages: readonly Message[]): readonly Message[] {
  const sorted: Message[] = [];
  let answers: Message[] = [];
  for (const message of messages) {
    if (message.role !== 'assistant') answers.push(message);
    else {
      sorted.push(...sortAnswers(answers), message);
      answers = [];
    }
  }
  return [...sorted, ...sortAnswers(answers)];
}

const isResult = ({ type }: Part): boolean => type === 'result';

/** @param answers the messages between two turns of the model */
function sortAnswers(answers: readonly Message[]): readonly Message[] {
  const [first, ...others] = answers;
  if (first === undefined || !others.some(({ parts }) => parts.some(isResult))) return answers;
  const results: Message = {
    role: 'user',
    path: first.path,
    parts: answers.flatMap(({ parts }) => parts.filter(isResult)),
  };
  const rest = answers.map((message) => ({ ...message, parts: message.parts.filter((part) => !isResult(part)) }));
  return [results, ...rest.filter(({ parts }) => parts.length > 0)];
}

function writeMessage({ role, parts, path }: Message, notes: DroppedFields): object[] {
  for (const part of parts) if (part.type !== 'thinking' && part.cache !== undefined) notes.drop(part.cache.path);
  if (role === 'assistant') return [writeAssistant(parts, notes)].filter((message) => message !== undefined);
  const said = parts.filter((part) => part.type !== 'result' && part.type !== 'thinking' && part.type !== 'call');
  if (role === 'system') return said.length === 0 ? [] : [{ role, content: writeContent(said) }];
  const results = parts.filter((part) => part.type === 'result');
  const images = results.flatMap((result) => result.parts.filter((part) => part.type !== 'text'));
  const rest = [...images, ...said];
  if (parts.some(({ type }) => type === 'call')) throw notExpressibleError(path);
  return [
    ...results.map((result) => writeResult(result, notes)),
    ...(rest.length === 0 ? [] : [{ role: 'user', content: writeContent(rest) }]),
  ];
}

const isTextPart = (part: TextPart | MediaPart): part is TextPart => part.type === 'text';

function writeContent(parts: readonly (TextPart | MediaPart)[]): unknown {
  const [only] = parts;
  return parts.length === 1 && only?.type === 'text' ? only.text : parts.map(writePart);
}

function writePart(part: TextPart | MediaPart): object {
  if (part.type === 'text') return { type: 'text', text: part.text };
  const { source } = part;
  if (part.type === 'image')
    return {
      type: 'image_url',
      image_url: { url: 'url' in source ? source.url : toDataUrl(source), detail: part.detail?.value },
    };
  if ('url' in source) throw notExpressibleError(part.path);
  if (part.type === 'document')
    return { type: 'file', file: { filename: part.name ?? 'document', file_data: toDataUrl(source) } };
  return { type: 'input_audio', input_audio: { data: source.data, format: toAudioFormat(source.mediaType) } };
}

/** OpenAI's names of the formats whose media types have others. */
const AUDIO_FORMATS: Readonly<Record<string, string>> = {
  mpeg: 'mp3',
  'x-mp3': 'mp3',
  'x-mpeg': 'mp3',
  wave: 'wav',
  'x-wav': 'wav',
  'vnd.wave': 'wav',
};

function toAudioFormat(mediaType: string): string {
  const name = mediaType.replace(/^audio\//, '');
  return Object.hasOwn(AUDIO_FORMATS, name) ? (AUDIO_FORMATS[name] ?? name) : name;
}

function writeResult({ id, parts, isError, path }: ResultPart, notes: DroppedFields): object {
  if (isError) notes.drop(`${path}.is_error`);
  const texts = parts.filter(isTextPart);
  const isEmpty = texts.length === 0;
  return {
    role: 'tool',
    tool_call_id: id,
    content: isEmpty ? (parts.length > 0 ? IMAGE_FOLLOWS : '') : writeTexts(texts),
  };
}

function writeAssistant(parts: Message['parts'], notes: DroppedFields): object | undefined {
  const said = parts.filter((part): part is TextPart | MediaPart => 'text' in part && part.type === 'text');
  const calls = parts.filter((part): part is CallPart => part.type === 'call');
  const thoughts = parts.filter((part) => part.type === 'thinking');
  const own = thoughts.filter(isOwnThought);
  const opaque = thoughts.map(({ signature }) => unpackOpaque(signature));
  for (const [index, thought] of thoughts.entries())
    if (!isOwnThought(thought) && opaque[index] === undefined) notes.drop(thought.path);
  const details = opaque.flatMap((each) => (each?.kind === 'reasoning_details' ? each.value : []));
  const extras = opaque.map((each) => (each?.kind === 'message_extras' ? pickFilled(each.value, MESSAGE_EXTRAS) : {}));
  if (said.length === 0 && calls.length === 0) return undefined;
  return {
    role: 'assistant',
    content: said.length === 0 ? null : writeContent(said),
    reasoning_content: own.length === 0 ? undefined : own.map(({ text }) => text).join(''),
    reasoning_details: details.length === 0 ? undefined : details,
    ...Object.assign({}, ...extras),
    tool_calls:
      calls.length === 0
        ? undefined
        : calls.map(({ id, name, args }) => ({
            id,
            type: 'function',
            function: { name, arguments: args },
            ...callExtrasOf(id, calls, opaque),
          })),
  };
}

/**
 * Members in which upstreams of this dialect return the signatures of their reasoning: GitHub Copilot, Google and
 * LiteLLM in a message, Google and LiteLLM in a call.
 */
export const MESSAGE_EXTRAS = ['reasoning_opaque', 'extra_content', 'thinking_blocks'];
/** As {@link MESSAGE_EXTRAS}, in a call. */
export const CALL_EXTRAS = ['extra_content', 'provider_specific_fields', 'thought_signature'];

/** The members of these names that are not empty. */
export const pickFilled = (value: unknown, names: readonly string[]): UntrustedObject =>
  Object.fromEntries(names.map((name) => [name, asObject(value)?.[name]]).filter(([, held]) => !isBlank(held)));

/**
 * Finds the extra members a call must carry to be accepted: by the call's id, which a caller's dialect may have
 * changed, or those of the only call.
 */
function callExtrasOf(
  id: string,
  calls: readonly CallPart[],
  opaque: readonly (ReturnType<typeof unpackOpaque> | undefined)[],
): UntrustedObject {
  const extras = opaque.flatMap((each) => (each?.kind === 'call_extras' ? [asObject(each.value)] : []));
  const known = extras.find((extra) => extra?.id === id);
  return pickFilled(known ?? (calls.length === 1 ? extras[0] : undefined), CALL_EXTRAS);
}

/** Plain reasoning text from an upstream of this dialect, which some upstreams require back within a turn. */
const isOwnThought = ({ signature, text, isRedacted }: ThinkingPart): boolean =>
  signature?.vendor === 'openai' && signature.value === '' && !isRedacted && text !== '';

function writeChoice(choice: ToolChoice | undefined): unknown {
  if (choice?.name === undefined) return choice?.mode;
  return { type: 'function', function: { name: choice.name } };
}

function writeFormat(format: OutputFormat | undefined): object | undefined {
  if (format === undefined) return undefined;
  if (format.type === 'json') return { type: 'json_object' };
  const { schema, name = 'response', strict = true } = format;
  return { type: 'json_schema', json_schema: { name, schema, strict } };
}
