import type { TSchema } from 'typebox';
import type { ChatVendor } from '../../contract/channels.ts';
import * as chatEndpoints from '../../contract/model-calls.ts';
import { asObject, type UntrustedObject } from '../../contract/objects.ts';
import { invalidRequest } from '../platform/app-error.ts';
import { parseUsage } from './usage.ts';

/** One API of model calls. The relay is the same for all of them; everything that differs is here. */
export interface Dialect {
  /** The vendor whose upstreams speak this dialect. */
  readonly vendor: ChatVendor;
  /** Path of the endpoint here and, below its base URL, at the upstream. */
  readonly path: string;
  readonly body: TSchema;
  /**
   * Returns the body in one spelling where the upstream's parsers accept two; the bytes keep the caller's spelling.
   * @throws AppError `invalid_request`
   */
  normalize?(body: UntrustedObject): UntrustedObject;
  /** Path at the upstream, where it contains the model and whether to stream. */
  upstreamPath?(model: string, stream: boolean): string;
  /**
   * Upstream endpoint that counts the tokens of a request, and the member of its response; undefined: there is none.
   */
  readonly count: { path(model: string): string; readonly key: string } | undefined;
  /** The member whose object holds the limit; undefined: the body itself. */
  readonly limitContainer?: string;
  /**
   * The body's keys that limit the response's tokens; upstreams differ in which of them they use, so the largest
   * counts. Empty: no text is generated.
   */
  readonly maxTokensKeys: readonly string[];
  /** Tokens reserved if the body names no limit. */
  readonly defaultMaxTokens: number;
  /** Whether `n` requests several choices, each of which may reach the limit. */
  readonly hasChoiceCount: boolean;
  /** Usage of a stream must be requested with `stream_options`, and arrives in an event of its own. */
  readonly streamUsageIsOptIn: boolean;
  /** The member that holds the prompt. */
  readonly promptKey: string;
  /** The member every complete response has; a body without it is not a valid response. */
  readonly resultKey: string;
  /** The member that a valid response has instead when the prompt was refused. */
  readonly refusalKey?: string;
  /** Caller headers forwarded unchanged to an upstream of the same dialect, in lower case. */
  readonly forwardedHeaders: readonly string[];
  /** The response header in which the dialect's clients expect the request id, in addition to `x-request-id`. */
  readonly idHeader: string | undefined;
  /** How the usage member starts in the bytes of an event; a null there does not count. */
  readonly usageMarkers: readonly string[];
  /**
   * Finds the usage of a body or an event in its own members and nowhere else: other members may repeat parts of the
   * request (schemas of tools), where a caller could forge a usage.
   */
  findUsage(value: unknown): UntrustedObject | undefined;
  /** How many choices an event completes; a stream with fewer than were requested and without `[DONE]` was cut off. */
  countFinishedChoices(event: UntrustedObject): number;
  /**
   * Whether an event certainly carries nothing: no content, call, figures or stop reason. Undefined: every event of the
   * dialect carries something.
   */
  isPreamble?(event: UntrustedObject): boolean;
  /** Whether a complete response carries nothing, by the same definition. */
  isEmptyResponse?(answer: UntrustedObject): boolean;
  /** Marker in the bytes of an event that may report a failure without the word error. */
  readonly failureMarker?: string;
  /** Maximum size of an event in bytes; a larger one ends the stream. */
  readonly maxEventBytes: number;
  /** The generated text of one event of a stream, tool calls and reasoning included. */
  extractEventText(event: UntrustedObject): string;
  /** The generated text of a complete response. */
  extractResponseText(answer: UntrustedObject): string;
  /** Adds members that clients of the dialect require and upstreams omit; undefined where nothing is missing. */
  complete?(body: Buffer, id: string): Buffer | undefined;
  /** An error as an event of a stream in progress; `body` is the envelope. */
  toErrorEvent(body: string): string;
}

const MAX_TEXT_EVENT_BYTES = 1024 * 1024;
/** Size of the largest images in Base64. */
export const MAX_IMAGE_EVENT_BYTES = 16 * 1024 * 1024;

/** An untrusted value as a list; empty if it is not one. */
export const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
/** An untrusted value as text; empty if it is not one. */
export const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');
/** Whether a member holds nothing a caller could miss. */
export const isBlank = (value: unknown): boolean =>
  value === undefined ||
  value === null ||
  value === '' ||
  (Array.isArray(value) ? value.length === 0 : typeof value === 'object' && Object.keys(value).length === 0);

/** Whether an object has figures, and one of them is not zero. */
const hasFigures = (usage: UntrustedObject | undefined): boolean =>
  usage !== undefined && Object.values(usage).some((figure) => typeof figure === 'number' && figure > 0);

/** Text of a chat message or of a part of one. */
function textOfMessage(message: unknown): string {
  const {
    content,
    reasoning_content: reasoning,
    reasoning: plainReasoning,
    refusal,
    tool_calls: calls,
    function_call: call,
  } = asObject(message) ?? {};
  const contentText =
    typeof content === 'string'
      ? content
      : listOf(content)
          .map((part) => textOf(asObject(part)?.text))
          .join('');
  const toolCallTexts = [...listOf(calls).map((each) => asObject(each)?.function ?? asObject(each)?.custom), call].map(
    (each) => {
      const { name, arguments: args, input } = asObject(each) ?? {};
      return textOf(name) + textOf(args) + textOf(input);
    },
  );
  return (textOf(reasoning) || textOf(plainReasoning)) + contentText + textOf(refusal) + toolCallTexts.join('');
}

const extractChoicesText = (answer: UntrustedObject, key: 'delta' | 'message'): string =>
  listOf(answer.choices)
    .map((choice) => textOfMessage(asObject(choice)?.[key]))
    .join('');

/**
 * The usage at the top level, in the `response` of an event, or in a choice: the first complete one, or the only one.
 */
function findUsage(value: unknown): UntrustedObject | undefined {
  const body = asObject(value);
  const usual = asObject(body?.usage);
  const ofResponse = asObject(asObject(body?.response)?.usage);
  const ofChoice = asObject(asObject(listOf(body?.choices)[0])?.usage);
  if (ofResponse === undefined && ofChoice === undefined) return usual;
  return [usual, ofResponse, ofChoice].find((usage) => parseUsage(usage) !== undefined);
}

/** Properties shared by all of OpenAI's dialects. */
const OPENAI = {
  vendor: 'openai',
  count: undefined,
  forwardedHeaders: [],
  idHeader: undefined,
  // Not `"usage":null`, which some upstreams write into every event once usage was requested.
  usageMarkers: ['"usage":{', '"usage": {'],
  findUsage,
} as const;

/** Stop reasons that only say that a stream has ended. */
const isPlainEnd = (reason: unknown): boolean => isBlank(reason) || reason === 'stop';

/** A chunk whose choices only name the role, or end, and that has no figures. */
function isPreambleChunk(event: UntrustedObject): boolean {
  if (hasFigures(findUsage(event))) return false;
  return listOf(event.choices).every((choice) => {
    const { delta, message, text, finish_reason: reason } = asObject(choice) ?? {};
    const said = { ...asObject(delta), ...asObject(message), text, role: undefined };
    return isPlainEnd(reason) && Object.values(said).every(isBlank);
  });
}

const OPENING_EVENT = /^(?:response\.(?:created|queued|in_progress)|keepalive|ping)$/;

/** Events before the first item, and the end of a response that has none. */
function isPreambleEvent(event: UntrustedObject): boolean {
  const type = textOf(event.type);
  if (OPENING_EVENT.test(type)) return isBlank(asObject(event.response)?.output);
  if (type !== 'response.completed') return false;
  return isBlank(asObject(event.response)?.output) && !hasFigures(findUsage(event));
}

const toDataEvent = (body: string): string => `data: ${body}\n\n`;

/** OpenAI's Chat Completions. */
export const CHAT_DIALECT: Dialect = {
  ...OPENAI,
  path: '/v1/chat/completions',
  body: chatEndpoints.chatCompletions.body,
  maxTokensKeys: ['max_completion_tokens', 'max_tokens'],
  defaultMaxTokens: 4_096,
  hasChoiceCount: true,
  streamUsageIsOptIn: true,
  promptKey: 'messages',
  resultKey: 'choices',
  countFinishedChoices: ({ choices }) =>
    listOf(choices).filter((choice) => textOf(asObject(choice)?.finish_reason) !== '').length,
  isPreamble: isPreambleChunk,
  isEmptyResponse: isPreambleChunk,
  maxEventBytes: MAX_TEXT_EVENT_BYTES,
  extractEventText: (event) => extractChoicesText(event, 'delta'),
  extractResponseText: (answer) => extractChoicesText(answer, 'message'),
  toErrorEvent: toDataEvent,
};

/** OpenAI's Responses (platform.openai.com/docs/api-reference/responses-streaming). */
export const RESPONSES_DIALECT: Dialect = {
  ...OPENAI,
  path: '/v1/responses',
  body: chatEndpoints.responses.body,
  maxTokensKeys: ['max_output_tokens'],
  defaultMaxTokens: 4_096,
  hasChoiceCount: false,
  streamUsageIsOptIn: false,
  promptKey: 'input',
  resultKey: 'output',
  countFinishedChoices: ({ type }) => Number(/^response\.(completed|incomplete|failed)$/.test(textOf(type))),
  isPreamble: isPreambleEvent,
  isEmptyResponse: (answer) =>
    isBlank(answer.output) && !hasFigures(findUsage(answer)) && isBlank(answer.incomplete_details),
  failureMarker: 'failed',
  maxEventBytes: MAX_IMAGE_EVENT_BYTES,
  extractEventText: ({ type, delta }) => (textOf(type).endsWith('.delta') ? textOf(delta) : ''),
  extractResponseText: ({ output }) =>
    listOf(output)
      .map((item) => {
        const { content, summary, arguments: args, input } = asObject(item) ?? {};
        const parts = [...listOf(content), ...listOf(summary)].map(asObject);
        return textOf(args) + textOf(input) + parts.map((part) => textOf(part?.text) + textOf(part?.refusal)).join('');
      })
      .join(''),
  toErrorEvent(body) {
    const error = (JSON.parse(body) as { error: object }).error;
    return `event: error\ndata: ${JSON.stringify({ ...error, type: 'error', sequence_number: 0 })}\n\n`;
  },
};

/**
 * Adds an id, because Mistral's SDK refuses embeddings without one and OpenAI's have none. Vectors contain no member of
 * that name.
 */
function withId(body: Buffer, id: string): Buffer | undefined {
  const at = body.indexOf('{') + 1;
  if (body.includes('"id"')) return undefined;
  return Buffer.concat([body.subarray(0, at), Buffer.from(`"id":"embd-${id}",`), body.subarray(at)]);
}

/** OpenAI's embeddings. */
export const EMBEDDINGS_DIALECT: Dialect = {
  ...OPENAI,
  path: '/v1/embeddings',
  body: chatEndpoints.embeddings.body,
  maxTokensKeys: [],
  defaultMaxTokens: 0,
  hasChoiceCount: false,
  streamUsageIsOptIn: false,
  promptKey: 'input',
  resultKey: 'data',
  countFinishedChoices: () => 0,
  maxEventBytes: MAX_TEXT_EVENT_BYTES,
  extractEventText: () => '',
  extractResponseText: () => '',
  complete: withId,
  toErrorEvent: toDataEvent,
};

/** OpenAI's image generation. */
export const IMAGES_DIALECT: Dialect = {
  ...EMBEDDINGS_DIALECT,
  complete: undefined,
  path: '/v1/images/generations',
  body: chatEndpoints.imageGenerations.body,
  promptKey: 'prompt',
  // Tokens of a large image of the models that are billed by tokens.
  defaultMaxTokens: 4_096,
  hasChoiceCount: true,
  maxEventBytes: MAX_IMAGE_EVENT_BYTES,
  countFinishedChoices: ({ type }) => Number(type === 'image_generation.completed'),
};

/** Finds a dialect by its path. */
export const findDialect = (path: string): Dialect | undefined =>
  [
    CHAT_DIALECT,
    RESPONSES_DIALECT,
    EMBEDDINGS_DIALECT,
    IMAGES_DIALECT,
    ANTHROPIC_MESSAGES_DIALECT,
    GEMINI_DIALECT,
  ].find((dialect) => dialect.path === path);

/**
 * Text of a block of a message. The arguments of a tool call
 * are an object in a complete response, and text in a stream.
 */
function textOfBlock(block: unknown): string {
  const { text, thinking, name, input } = asObject(block) ?? {};
  const args = asObject(input);
  const argsText = args === undefined || Object.keys(args).length === 0 ? '' : JSON.stringify(args);
  return textOf(text) + textOf(thinking) + textOf(name) + argsText;
}

/** Events around the blocks of a message, and blocks that are still empty. */
function isPreamble({ type, message, content_block: block, delta, usage }: UntrustedObject): boolean {
  switch (type) {
    case 'ping':
    case 'content_block_stop':
    case 'message_stop':
      return true;
    case 'message_start':
      return isBlank(asObject(message)?.content);
    case 'content_block_start': {
      const { type: kind, text, thinking } = asObject(block) ?? {};
      return (kind === 'text' && isBlank(text)) || (kind === 'thinking' && isBlank(thinking));
    }
    case 'content_block_delta': {
      const { type: kind, text, thinking } = asObject(delta) ?? {};
      return (kind === 'text_delta' && isBlank(text)) || (kind === 'thinking_delta' && isBlank(thinking));
    }
    case 'message_delta': {
      const { stop_reason: reason } = asObject(delta) ?? {};
      const { output_tokens: output } = asObject(usage) ?? {};
      return (isBlank(reason) || reason === 'end_turn') && !(typeof output === 'number' && output > 0);
    }
    default:
      return false;
  }
}

/** Anthropic's Messages (docs.claude.com/en/api/messages, and messages-streaming for the events). */
export const ANTHROPIC_MESSAGES_DIALECT: Dialect = {
  vendor: 'anthropic',
  path: '/v1/messages',
  body: chatEndpoints.messages.body,
  count: { path: () => chatEndpoints.countMessageTokens.path, key: 'input_tokens' },
  maxTokensKeys: ['max_tokens'],
  defaultMaxTokens: 4_096,
  hasChoiceCount: false,
  streamUsageIsOptIn: false,
  promptKey: 'messages',
  resultKey: 'content',
  // Beta features are requested by header, and change which members the body may hold.
  forwardedHeaders: ['anthropic-version', 'anthropic-beta'],
  idHeader: 'request-id',
  usageMarkers: ['"usage":{', '"usage": {'],
  findUsage(value) {
    const body = asObject(value);
    return asObject(body?.usage) ?? asObject(asObject(body?.message)?.usage);
  },
  countFinishedChoices: ({ type }) => Number(type === 'message_stop'),
  isPreamble,
  isEmptyResponse: ({ content, usage, stop_reason: reason }) =>
    isBlank(content) && !hasFigures(asObject(usage)) && (isBlank(reason) || reason === 'end_turn'),
  maxEventBytes: MAX_TEXT_EVENT_BYTES,
  extractEventText({ type, delta, content_block: block }) {
    if (type === 'content_block_start') return textOfBlock(block);
    if (type !== 'content_block_delta') return '';
    const { text, thinking, partial_json: json } = asObject(delta) ?? {};
    return textOf(text) + textOf(thinking) + textOf(json);
  },
  extractResponseText: ({ content }) => listOf(content).map(textOfBlock).join(''),
  toErrorEvent: (body) => `event: error\ndata: ${body}\n\n`,
};

const PATH = '/v1beta/models';

function textOfPart(part: unknown): string {
  const { text, functionCall } = asObject(part) ?? {};
  const { name, args } = asObject(functionCall) ?? {};
  return textOf(text) + textOf(name) + (args === undefined ? '' : JSON.stringify(args));
}

const extractText = ({ candidates }: UntrustedObject): string =>
  listOf(candidates)
    .flatMap((candidate) => listOf(asObject(asObject(candidate)?.content)?.parts))
    .map(textOfPart)
    .join('');

/** Members whose inner names are not Google's: the caller's data, and schemas, whose parser accepts both spellings. */
const UNTOUCHED: ReadonlySet<string> = new Set([
  'args',
  'response',
  'labels',
  'parameters',
  'parametersJsonSchema',
  'responseSchema',
  'responseJsonSchema',
]);

const SNAKE_CASE = /^[a-z][a-z0-9]*(?:_[a-z0-9]+)+$/;

/**
 * The name of a member in Google's reference; its parsers accept both spellings (protobuf.dev/programming-guides/json).
 */
const toCamelCase = (name: string): string =>
  SNAKE_CASE.test(name) ? name.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase()) : name;

/** A value with Google's names in camel case; the same object if all names already were. */
function inCamelCase(value: unknown, path: string): unknown {
  if (Array.isArray(value)) {
    const elements = value.map((each, index) => inCamelCase(each, `${path}${index}.`));
    return elements.some((each, index) => each !== value[index]) ? elements : value;
  }
  const object = asObject(value);
  if (object === undefined) return value;
  let isSame = true;
  const members = new Map<string, unknown>();
  for (const [key, inner] of Object.entries(object)) {
    const name = toCamelCase(key);
    if (members.has(name))
      throw invalidRequest(`${path}${key} and ${path}${name} are one field; give only one of them.`, path + key);
    const written = UNTOUCHED.has(name) ? inner : inCamelCase(inner, `${path}${name}.`);
    members.set(name, written);
    if (name !== key || written !== inner) isSame = false;
  }
  return isSame ? value : Object.fromEntries(members);
}

/** A chunk without parts, whose only stop reason is the usual one. */
const isGeminiPreamble = ({ candidates, promptFeedback, usageMetadata }: UntrustedObject): boolean =>
  isBlank(asObject(promptFeedback)?.blockReason) &&
  !hasFigures(asObject(usageMetadata)) &&
  listOf(candidates).every((candidate) => {
    const { content, finishReason } = asObject(candidate) ?? {};
    const parts = listOf(asObject(content)?.parts);
    const isEmpty = parts.every((part) => Object.values(asObject(part) ?? {}).every(isBlank));
    return isEmpty && (isUnfinished(finishReason) || finishReason === 'STOP');
  });

/** Finish reason of a chunk that others follow; the second value is the default of Google's own encoding. */
const isUnfinished = (reason: unknown): boolean => isBlank(reason) || reason === 'FINISH_REASON_UNSPECIFIED';

/**
 * Google's generateContent (ai.google.dev/api/generate-content). Model and streaming are in the path, not in the body.
 */
export const GEMINI_DIALECT: Dialect = {
  vendor: 'gemini',
  path: PATH,
  upstreamPath: (model, stream) =>
    `${PATH}/${encodeURIComponent(model)}:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
  body: chatEndpoints.geminiModelCall.body,
  normalize: (body) => inCamelCase(body, '') as UntrustedObject,
  count: { path: (model) => `${PATH}/${encodeURIComponent(model)}:countTokens`, key: 'totalTokens' },
  limitContainer: 'generationConfig',
  maxTokensKeys: ['maxOutputTokens'],
  defaultMaxTokens: 4_096,
  hasChoiceCount: false,
  streamUsageIsOptIn: false,
  promptKey: 'contents',
  resultKey: 'candidates',
  // A refused prompt gets no candidates, but is still a response with usage.
  refusalKey: 'promptFeedback',
  forwardedHeaders: [],
  idHeader: undefined,
  usageMarkers: ['"usageMetadata":{', '"usageMetadata": {'],
  findUsage: (value) => asObject(asObject(value)?.usageMetadata),
  countFinishedChoices: ({ candidates, promptFeedback }) =>
    textOf(asObject(promptFeedback)?.blockReason) === ''
      ? listOf(candidates).filter((candidate) => !isUnfinished(asObject(candidate)?.finishReason)).length
      : 1,
  isPreamble: isGeminiPreamble,
  isEmptyResponse: isGeminiPreamble,
  // Parts may hold images.
  maxEventBytes: MAX_IMAGE_EVENT_BYTES,
  extractEventText: extractText,
  extractResponseText: extractText,
  toErrorEvent: (body) => `data: ${body}\n\n`,
};
