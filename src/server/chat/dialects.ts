import type { TSchema } from 'typebox';
import type { ChatVendor } from '../../contract/channels.ts';
import * as chatEndpoints from '../../contract/model-calls.ts';
import { asObject, type UntrustedObject } from '../../contract/objects.ts';
import { invalidRequest } from '../platform/app-error.ts';
import { parseUsage } from './usage.ts';

/** What differs between the kinds of model calls; everything else about them is the same relay. */
export interface Dialect {
  /** The vendor whose upstreams have it. */
  readonly vendor: ChatVendor;
  /** Path of the endpoint here and, below its base URL, at the upstream. */
  readonly path: string;
  readonly body: TSchema;
  /** The body in one spelling, where the upstream's readers take two; the bytes keep the caller's. @throws AppError `invalid_request` */
  normalize?(body: UntrustedObject): UntrustedObject;
  /** The path at the upstream, where the model and streaming are part of it. */
  upstreamPath?(model: string, stream: boolean): string;
  /** Where an upstream counts the tokens of a request, and the member of its response; undefined: nowhere. */
  readonly count: { path(model: string): string; readonly key: string } | undefined;
  /** The member whose object holds the limit; undefined: the body itself. */
  readonly limitContainer?: string;
  /**
   * The body's keys that limit the response's tokens; upstreams differ in which of them they use, so the largest counts.
   * Empty: nothing is generated as text.
   */
  readonly maxTokensKeys: readonly string[];
  /** What is set aside for where the body names no bound. */
  readonly defaultMaxTokens: number;
  /** Whether `n` requests several choices, each of which may reach the limit. */
  readonly hasChoiceCount: boolean;
  /** Usage of a stream must be requested with `stream_options`, and arrives in an event of its own. */
  readonly streamUsageIsOptIn: boolean;
  /** The member that holds the question. */
  readonly promptKey: string;
  /** The member every complete response has; a body without it is not a valid response. */
  readonly resultKey: string;
  /** The member that a valid response has in place of it when the question was refused. */
  readonly refusalKey?: string;
  /** The caller's headers that an upstream of the same dialect gets as they are, in lower case. */
  readonly forwardedHeaders: readonly string[];
  /** The response header that the dialect's clients read the id of a request from, beside `x-request-id`. */
  readonly idHeader: string | undefined;
  /** How the member with the figures begins in the bytes of an event; null there does not count. */
  readonly usageMarkers: readonly string[];
  /**
   * The figures of a body or an event, at their own places. Nowhere else: other members may repeat parts of the request (schemas
   * of tools), where a caller could forge a usage.
   */
  findUsage(value: unknown): UntrustedObject | undefined;
  /** How many choices an event completes; a stream with fewer than were requested and without `[DONE]` was cut off. */
  countFinishedChoices(event: UntrustedObject): number;
  /** Whether an event surely says nothing: no content, call, figures or reason of an end. Undefined: each event of the dialect does. */
  isPreamble?(event: UntrustedObject): boolean;
  /** Whether a complete response says as little. */
  isEmptyResponse?(answer: UntrustedObject): boolean;
  /** In the bytes of an event by which a stream may tell of a failure without the word error. */
  readonly failureMarker?: string;
  /** Bytes; an event that outgrows it ends the stream. */
  readonly maxEventBytes: number;
  /** The generated text of one event of a stream, tool calls and reasoning included. */
  extractEventText(event: UntrustedObject): string;
  /** The generated text of a complete response. */
  extractResponseText(answer: UntrustedObject): string;
  /** A complete response with what clients of the dialect require and upstreams leave out; undefined where nothing is missing. */
  complete?(body: Buffer, id: string): Buffer | undefined;
  /** An error as an event of a stream in progress; `body` is the envelope. */
  toErrorEvent(body: string): string;
}

const MAX_TEXT_EVENT_BYTES = 1024 * 1024;
/** Base64 of the largest pictures there are. */
export const MAX_IMAGE_EVENT_BYTES = 16 * 1024 * 1024;

/** An untrusted value as a list; empty where it is none. */
export const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
/** An untrusted value as text; empty where it is none. */
export const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');
/** Whether a member holds nothing that a caller could miss. */
export const isBlank = (value: unknown): boolean =>
  value === undefined ||
  value === null ||
  value === '' ||
  (Array.isArray(value) ? value.length === 0 : typeof value === 'object' && Object.keys(value).length === 0);

/** Whether an object has figures, and one of them is not zero. */
const hasFigures = (usage: UntrustedObject | undefined): boolean =>
  usage !== undefined && Object.values(usage).some((figure) => typeof figure === 'number' && figure > 0);

/** Text of a chat message or of a piece of one. */
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

/** The usage at the top level, in the `response` of an event, or in a choice; the first one that is complete, or the only one. */
function findUsage(value: unknown): UntrustedObject | undefined {
  const body = asObject(value);
  const usual = asObject(body?.usage);
  const ofResponse = asObject(asObject(body?.response)?.usage);
  const ofChoice = asObject(asObject(listOf(body?.choices)[0])?.usage);
  if (ofResponse === undefined && ofChoice === undefined) return usual;
  return [usual, ofResponse, ofChoice].find((usage) => parseUsage(usage) !== undefined);
}

/** What all of OpenAI's kinds of calls have in common. */
const OPENAI = {
  vendor: 'openai',
  count: undefined,
  forwardedHeaders: [],
  idHeader: undefined,
  // Not `"usage":null`, which some write into every event once usage was asked for.
  usageMarkers: ['"usage":{', '"usage": {'],
  findUsage,
} as const;

/** Reasons that say no more than that a stream has ended. */
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

/** platform.openai.com/docs/api-reference/responses-streaming */
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

/** Mistral's SDK refuses embeddings without an id, which OpenAI's have not. Vectors contain no member of that name. */
function withId(body: Buffer, id: string): Buffer | undefined {
  const at = body.indexOf('{') + 1;
  if (body.includes('"id"')) return undefined;
  return Buffer.concat([body.subarray(0, at), Buffer.from(`"id":"embd-${id}",`), body.subarray(at)]);
}

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

export const IMAGES_DIALECT: Dialect = {
  ...EMBEDDINGS_DIALECT,
  complete: undefined,
  path: '/v1/images/generations',
  body: chatEndpoints.imageGenerations.body,
  promptKey: 'prompt',
  // A large picture of the models that are paid by tokens.
  defaultMaxTokens: 4_096,
  hasChoiceCount: true,
  maxEventBytes: MAX_IMAGE_EVENT_BYTES,
  countFinishedChoices: ({ type }) => Number(type === 'image_generation.completed'),
};

/** A dialect by its path. */
export const findDialect = (path: string): Dialect | undefined =>
  [
    CHAT_DIALECT,
    RESPONSES_DIALECT,
    EMBEDDINGS_DIALECT,
    IMAGES_DIALECT,
    ANTHROPIC_MESSAGES_DIALECT,
    GEMINI_DIALECT,
  ].find((dialect) => dialect.path === path);

/** Text of a block of a message. The arguments of a tool call are an object in a complete response, and text in a stream. */
function textOfBlock(block: unknown): string {
  const { text, thinking, name, input } = asObject(block) ?? {};
  const args = asObject(input);
  const argsText = args === undefined || Object.keys(args).length === 0 ? '' : JSON.stringify(args);
  return textOf(text) + textOf(thinking) + textOf(name) + argsText;
}

/** Events around the blocks of a message, and blocks that hold nothing yet. */
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
  // Features in beta are asked for by header, and change what the body may hold.
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

/** Members whose inner names are not Google's: the caller's data, and schemas, which their reader takes in both spellings. */
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

/** The name by which Google's reference has a member; its readers take both spellings of each (protobuf.dev/programming-guides/json). */
const toCamelCase = (name: string): string =>
  SNAKE_CASE.test(name) ? name.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase()) : name;

/** A value with Google's names in camel case; the very same value where all were so. */
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

/** A chunk without parts, whose only reason to end is the usual one. */
const isGeminiPreamble = ({ candidates, promptFeedback, usageMetadata }: UntrustedObject): boolean =>
  isBlank(asObject(promptFeedback)?.blockReason) &&
  !hasFigures(asObject(usageMetadata)) &&
  listOf(candidates).every((candidate) => {
    const { content, finishReason } = asObject(candidate) ?? {};
    const parts = listOf(asObject(content)?.parts);
    const isEmpty = parts.every((part) => Object.values(asObject(part) ?? {}).every(isBlank));
    return isEmpty && (isUnfinished(finishReason) || finishReason === 'STOP');
  });

/** Of a chunk that others follow; the second is the default of Google's own encoding. */
const isUnfinished = (reason: unknown): boolean => isBlank(reason) || reason === 'FINISH_REASON_UNSPECIFIED';

/** Google's generateContent (ai.google.dev/api/generate-content). Model and streaming are in the path, not in the body. */
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
  // A question that is refused gets no candidates, but is still a response with usage.
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
  // Parts may hold pictures.
  maxEventBytes: MAX_IMAGE_EVENT_BYTES,
  extractEventText: extractText,
  extractResponseText: extractText,
  toErrorEvent: (body) => `data: ${body}\n\n`,
};
