import type { TSchema } from 'typebox';
import type { ChatVendor } from '../../contract/channels.ts';
import * as chatEndpoints from '../../contract/model-calls.ts';
import { asObject, type UntrustedObject } from '../../contract/objects.ts';
import { invalidRequest } from '../platform/app-error.ts';
import { tryParse } from '../platform/json.ts';
import { readStopReason } from './conversion/neutral-form.ts';
import { parseUsage, toCount } from './usage.ts';

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
  /** The members of which a valid response has one instead when the prompt was refused. */
  readonly refusalKeys?: readonly string[];
  /** Caller headers forwarded unchanged to an upstream of the same dialect, in lower case. */
  readonly forwardedHeaders: readonly string[];
  /** The response header in which the dialect's clients expect the request id, in addition to `x-request-id`. */
  readonly idHeader: string | undefined;
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
  /** Number of images in a complete response, which may have more or fewer than were requested; 0: unknown. */
  countImages?(answer: UntrustedObject): number;
  /** Adds what clients of the dialect require and upstreams omit; undefined where nothing is missing. */
  complete?(body: Buffer, id: string, asked: UntrustedObject): Buffer | undefined;
  /** The event that ends every stream, and whether one is it; some upstreams omit it, and strict clients require it. */
  readonly end?: { readonly event: string; isIn(data: string): boolean };
  /** An event without content, sent while there is none: some clients give up on streams with comments alone. */
  readonly keepAlive?: string;
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

/** Whether an object has figures, and one of them is a number of tokens above zero. */
const hasFigures = (usage: UntrustedObject | undefined): boolean =>
  usage !== undefined && Object.values(usage).some((figure) => (toCount(figure) ?? 0) > 0);

const saysNothing = (value: unknown): boolean => isBlank(value) || value === false || value === 0;

/**
 * The error a body or an event contains, as an object: its own, or that of a choice (OpenRouter). Some gateways write
 * an error without any value next to each response.
 */
export function errorIn({ error, choices }: UntrustedObject): UntrustedObject | undefined {
  if (saysNothing(error)) {
    const ofChoices = listOf(choices).map((choice) => errorIn({ error: asObject(choice)?.error }));
    return ofChoices.find((each) => each !== undefined);
  }
  const reported = asObject(error);
  if (reported === undefined) return { message: typeof error === 'string' ? error : '' };
  return Object.values(reported).every(saysNothing) ? undefined : reported;
}

const SUCCESS_CODE = /^(?:0+|2\d\d|ok|success|succeeded)?$/i;

/** The failure that an envelope of HTTP 200 reports by its code: MiniMax's `base_resp`, or members of its own. */
export function failureIn(body: UntrustedObject): UntrustedObject | undefined {
  const base = asObject(body.base_resp);
  const codes = [base?.status_code, body.code, body.error_code];
  const code = codes.find((each) => !saysNothing(each) && !SUCCESS_CODE.test(String(each)));
  if (code === undefined && body.success !== false) return undefined;
  const message = [base?.status_msg, body.message, body.msg, body.error_msg].map(textOf).find((text) => text !== '');
  return { code, message };
}

/** Whether a stop reason only says that a response has ended. */
function isPlainEnd(word: unknown): boolean {
  const reason = readStopReason(word);
  return isBlank(word) || reason === 'end' || reason === 'calls';
}

const REASONING_NAMES = ['reasoning_content', 'reasoning', 'reasoning_text', 'thinking', 'thought'];

/** Text of a chat message or of a part of one; spoken text, whose sound costs more, is part of it. */
function textOfMessage(message: unknown): string {
  const object = asObject(message) ?? {};
  const { content, refusal, tool_calls: calls, function_call: call, audio } = object;
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
  const reasoning = REASONING_NAMES.map((name) => textOf(object[name])).find((text) => text !== '') ?? '';
  const spoken = textOf(asObject(audio)?.transcript);
  return reasoning + contentText + spoken + textOf(refusal) + toolCallTexts.join('');
}

/** Text of the choices, where some upstreams exchange the members of complete responses and of streams. */
const extractChoicesText = (answer: UntrustedObject): string =>
  listOf(answer.choices)
    .map((choice) => {
      const { delta, message, text } = asObject(choice) ?? {};
      return textOfMessage(delta) || textOfMessage(message) || textOf(text);
    })
    .join('');

/**
 * The usage at the top level, in the `response` of an event, in a choice, or in Groq's own member: the first complete
 * one, or the only one.
 */
function findUsage(value: unknown): UntrustedObject | undefined {
  const body = asObject(value);
  const usual = asObject(body?.usage);
  const ofResponse = asObject(asObject(body?.response)?.usage);
  const ofChoice = asObject(asObject(listOf(body?.choices)[0])?.usage);
  const ofGroq = asObject(asObject(body?.x_groq)?.usage);
  if (ofResponse === undefined && ofChoice === undefined && ofGroq === undefined) return usual;
  return [usual, ofResponse, ofChoice, ofGroq].find((usage) => parseUsage(usage) !== undefined);
}

/** Properties shared by all of OpenAI's dialects. */
const OPENAI = {
  vendor: 'openai',
  count: undefined,
  forwardedHeaders: [],
  idHeader: undefined,
  findUsage,
} as const;

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
const TEXT_EVENT = /^response\.(?:content_part\.(?:added|done)|output_text\.(?:delta|done))$/;
const ITEM_EVENT = /^response\.output_item\.(?:added|done)$/;

/** Whether a message item has no content. */
function isEmptyItem(value: unknown): boolean {
  const { type, content } = asObject(value) ?? {};
  return type === 'message' && (isBlank(content) || listOf(content).every(isEmptyPart));
}

/** Whether a part of a message has neither text nor anything else. */
function isEmptyPart(value: unknown): boolean {
  const { type, text } = asObject(value) ?? {};
  return type === 'output_text' && isBlank(text);
}

const isEmptyOutput = (output: unknown): boolean =>
  isBlank(output) || (Array.isArray(output) && output.every(isEmptyItem));

/** Events before the first content, and the end of a response that has none. */
function isPreambleEvent(event: UntrustedObject): boolean {
  const type = textOf(event.type);
  const output = asObject(event.response)?.output;
  if (OPENING_EVENT.test(type)) return isBlank(output);
  if (ITEM_EVENT.test(type)) return isEmptyItem(event.item);
  if (TEXT_EVENT.test(type))
    return isBlank(event.delta) && isBlank(event.text) && isEmptyPart(event.part ?? EMPTY_PART);
  return type === 'response.completed' && isEmptyOutput(output) && !hasFigures(findUsage(event));
}

const EMPTY_PART = { type: 'output_text' };

const toDataEvent = (body: string): string => `data: ${body}\n\n`;

/** OpenAI's Chat Completions. */
export const CHAT_DIALECT: Dialect = {
  ...OPENAI,
  path: '/v1/chat/completions',
  body: chatEndpoints.ChatBody,
  maxTokensKeys: ['max_completion_tokens', 'max_tokens'],
  defaultMaxTokens: 4_096,
  hasChoiceCount: true,
  streamUsageIsOptIn: true,
  promptKey: 'messages',
  resultKey: 'choices',
  countFinishedChoices: ({ choices }) =>
    listOf(choices).filter((choice) => readStopReason(asObject(choice)?.finish_reason) !== undefined).length,
  isPreamble: isPreambleChunk,
  isEmptyResponse: isPreambleChunk,
  maxEventBytes: MAX_TEXT_EVENT_BYTES,
  extractEventText: extractChoicesText,
  extractResponseText: extractChoicesText,
  end: { event: 'data: [DONE]\n\n', isIn: (data) => data === '[DONE]' },
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
    isEmptyOutput(answer.output) &&
    isBlank(answer.output_text) &&
    !hasFigures(findUsage(answer)) &&
    isBlank(answer.incomplete_details),
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

const VECTOR = /"embedding"\s*:\s*(\[[^"[\]]*\])/g;

/**
 * Encodes vectors in Base64 where that was requested and the upstream sent numbers, as Ollama and others do: OpenAI's
 * client requests Base64 by default, and its earlier versions read numbers as bytes.
 */
function withRequestedEncoding(body: Buffer, { encoding_format: format }: UntrustedObject): Buffer | undefined {
  if (format !== 'base64') return undefined;
  const text = body.toString('latin1');
  const encoded = text.replace(VECTOR, (written, numbers: string) => {
    const values = tryParse(numbers);
    return Array.isArray(values) ? `"embedding":"${toBase64(values)}"` : written;
  });
  return encoded === text ? undefined : Buffer.from(encoded, 'latin1');
}

const toBase64 = (vector: readonly unknown[]): string =>
  Buffer.from(Float32Array.from(vector, Number).buffer).toString('base64');

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
  isEmptyResponse: ({ data }) => isBlank(data),
  maxEventBytes: MAX_TEXT_EVENT_BYTES,
  extractEventText: () => '',
  extractResponseText: () => '',
  complete(body, id, asked) {
    const encoded = withRequestedEncoding(body, asked);
    return withId(encoded ?? body, id) ?? encoded;
  },
  toErrorEvent: toDataEvent,
};

/** OpenAI's image generation. */
export const IMAGES_DIALECT: Dialect = {
  ...EMBEDDINGS_DIALECT,
  complete: undefined,
  isEmptyResponse: ({ data }) => listOf(data).every(isBlank),
  // Some vendors report each image that they withheld as an error in its place.
  countImages: ({ data }) =>
    listOf(data).filter((each) => !isBlank(asObject(each)?.url ?? asObject(each)?.b64_json)).length,
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

/** Whether a block is text or reasoning without any text. */
function isEmptyBlock(value: unknown): boolean {
  const { type, text, thinking } = asObject(value) ?? {};
  return (type === 'text' && isBlank(text)) || (type === 'thinking' && isBlank(thinking));
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
    case 'content_block_start':
      return isEmptyBlock(block);
    case 'content_block_delta': {
      const { type: kind, text, thinking } = asObject(delta) ?? {};
      return (kind === 'text_delta' && isBlank(text)) || (kind === 'thinking_delta' && isBlank(thinking));
    }
    case 'message_delta': {
      const { output_tokens: output } = asObject(usage) ?? {};
      return isPlainEnd(asObject(delta)?.stop_reason) && (toCount(output) ?? 0) === 0;
    }
    default:
      return false;
  }
}

/**
 * Output that the first event of a stream reports before there is any. It is no basis for a charge where an upstream
 * reports nothing later, so the text is counted then.
 */
const MAX_PLACEHOLDER_TOKENS = 16;

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
  findUsage(value) {
    const body = asObject(value);
    const begun = asObject(asObject(body?.message)?.usage);
    const isPlaceholder = (toCount(begun?.output_tokens) ?? 0) <= MAX_PLACEHOLDER_TOKENS;
    return asObject(body?.usage) ?? (begun && isPlaceholder ? { ...begun, output_tokens: undefined } : begun);
  },
  // Nothing but the last event follows the stop reason, and some gateways omit that event.
  countFinishedChoices: ({ type, delta }) =>
    Number(type === 'message_stop' || (type === 'message_delta' && !isBlank(asObject(delta)?.stop_reason))),
  isPreamble,
  isEmptyResponse: ({ content, usage, stop_reason: reason }) =>
    (isBlank(content) || (Array.isArray(content) && content.every(isEmptyBlock))) &&
    !hasFigures(asObject(usage)) &&
    isPlainEnd(reason),
  maxEventBytes: MAX_TEXT_EVENT_BYTES,
  extractEventText({ type, delta, content_block: block }) {
    if (type === 'content_block_start') return textOfBlock(block);
    if (type !== 'content_block_delta') return '';
    const { text, thinking, partial_json: json } = asObject(delta) ?? {};
    return textOf(text) + textOf(thinking) + textOf(json);
  },
  extractResponseText: ({ content }) => listOf(content).map(textOfBlock).join(''),
  end: {
    event: 'event: message_stop\ndata: {"type":"message_stop"}\n\n',
    isIn: (data) => data.includes('message_stop') && asObject(tryParse(data))?.type === 'message_stop',
  },
  keepAlive: 'event: ping\ndata: {"type":"ping"}\n\n',
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

/** Members of a response in either spelling of Google's names, of which gateways use the second one too. */
const blockReasonOf = ({ promptFeedback, prompt_feedback: feedback }: UntrustedObject): unknown => {
  const { blockReason, block_reason: reason } = asObject(promptFeedback ?? feedback) ?? {};
  return blockReason ?? reason;
};
const finishReasonOf = (candidate: unknown): unknown => {
  const { finishReason, finish_reason: reason } = asObject(candidate) ?? {};
  return finishReason ?? reason;
};
function usageOf({ usageMetadata, usage_metadata: second }: UntrustedObject): UntrustedObject | undefined {
  const usage = asObject(usageMetadata);
  if (usage !== undefined) return usage;
  const members = Object.entries(asObject(second) ?? {}).map(([name, value]) => [toCamelCase(name), value]);
  return members.length === 0 ? undefined : Object.fromEntries(members);
}

/** Whether the content of a candidate has no parts, or only empty ones. */
function isEmptyContent(content: unknown): boolean {
  const holder = asObject(content);
  if (holder === undefined) return isBlank(content);
  if (!Array.isArray(holder.parts)) return isBlank(holder.parts);
  return holder.parts.every((part) => Object.values(asObject(part) ?? {}).every(isBlank));
}

/** A chunk without parts, whose only stop reason is the usual one. */
const isGeminiPreamble = (chunk: UntrustedObject): boolean =>
  isBlank(blockReasonOf(chunk)) &&
  !hasFigures(usageOf(chunk)) &&
  listOf(chunk.candidates).every((candidate) => {
    const reason = finishReasonOf(candidate);
    return isEmptyContent(asObject(candidate)?.content) && (isUnfinished(reason) || isPlainEnd(reason));
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
  refusalKeys: ['promptFeedback', 'prompt_feedback'],
  forwardedHeaders: [],
  idHeader: undefined,
  findUsage: (value) => usageOf(asObject(value) ?? {}),
  countFinishedChoices: (chunk) =>
    textOf(blockReasonOf(chunk)) === ''
      ? listOf(chunk.candidates).filter((candidate) => !isUnfinished(finishReasonOf(candidate))).length
      : 1,
  isPreamble: isGeminiPreamble,
  isEmptyResponse: isGeminiPreamble,
  // Parts may hold images.
  maxEventBytes: MAX_IMAGE_EVENT_BYTES,
  extractEventText: extractText,
  extractResponseText: extractText,
  toErrorEvent: (body) => `data: ${body}\n\n`,
};
