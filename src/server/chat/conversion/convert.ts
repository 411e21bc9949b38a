import { asObject, type UntrustedObject } from '../../../contract/objects.ts';
import type { Channel } from '../../channels/directory.ts';
import { tryParse } from '../../platform/json.ts';
import { toRequestBytes } from '../../platform/request-bytes.ts';
import {
  ANTHROPIC_MESSAGES_DIALECT,
  CHAT_DIALECT,
  type Dialect,
  GEMINI_DIALECT,
  RESPONSES_DIALECT,
} from '../dialects.ts';
import { extractData, parseEvent, splitEvents } from '../event-stream.ts';
import { toolsOf } from '../options.ts';
import { type ChatRequest, type OutputLimit, outputLimitKey, ownOutputLimit } from '../request.ts';
import { readAnthropicRequest, writeAnthropicRequest } from './anthropic-request.ts';
import { AnthropicReader, AnthropicStreamWriter, writeAnthropicResponse } from './anthropic-response.ts';
import { readOpenAiChatRequest, writeOpenAiChatRequest } from './chat-request.ts';
import { OpenAiChatReader, OpenAiChatStreamWriter, writeOpenAiChatResponse } from './chat-response.ts';
import { DroppedFields, notExpressibleError } from './fields.ts';
import { readGeminiRequest, writeGeminiRequest } from './gemini-request.ts';
import { GeminiReader, GeminiStreamWriter, writeGeminiResponse } from './gemini-response.ts';
import {
  type Conversation,
  type ResponseEvent,
  type ToolOrigin,
  type UpstreamRequestParameters,
  withAcceptedNames,
  withUniqueCallIds,
} from './neutral-form.ts';
import type { ResponseContext, ResponseReader, StreamWriter } from './response-builder.ts';
import { readResponsesRequest, writeResponsesRequest } from './responses-request.ts';
import { ResponsesReader, ResponsesStreamWriter, writeResponsesResponse } from './responses-response.ts';

interface ConversionTarget {
  /** Dialect of the upstream. */
  readonly dialect: Dialect;
  readonly model: string;
  readonly channel: Channel;
  /** The limit that was reserved, where the caller set none. */
  readonly limit: OutputLimit | undefined;
  /** Indexes of the tools to drop. */
  readonly droppedTools: readonly number[];
}

interface ConvertedRequest {
  readonly body: Buffer;
  /** Paths of the dropped members. */
  readonly dropped: readonly string[];
  /** The caller's names of functions by those sent to the upstream, where they differ. */
  readonly names: ReadonlyMap<string, string>;
  /** The caller's tools that the functions of these names represent. */
  readonly origins: ReadonlyMap<string, ToolOrigin>;
  /** Ids of the calls in the caller's conversation. */
  readonly callIds: ReadonlySet<string>;
}

/** Path of the limit in the caller's request. */
function limitPath({ maxTokensKeys: keys, limitContainer }: Dialect, body: UntrustedObject): string {
  if (limitContainer !== undefined) return `${limitContainer}.${keys[0]}`;
  return keys.find((key) => body[key] !== undefined && body[key] !== null) ?? keys[0] ?? '';
}

/**
 * Offers only the functions that the choice allows, which has the same effect in every dialect.
 * @throws AppError `invalid_request` if it allows none of them
 */
function withAllowedTools(conversation: Conversation): Conversation {
  const { tools, toolChoice } = conversation;
  if (toolChoice?.allowed === undefined) return conversation;
  const { allowed, ...choice } = toolChoice;
  const offered = tools.filter(({ name }) => allowed.includes(name));
  if (offered.length === 0) throw notExpressibleError(choice.path, 'allows none of the tools');
  return { ...conversation, tools: offered, toolChoice: choice };
}

/**
 * Converts a request to the upstream's dialect.
 * @throws AppError `invalid_request` for members it cannot express
 */
export function convertRequest(
  { body, dialect: asked, requestedLimit, stream, governedOptions }: ChatRequest,
  { source, target }: { readonly source: Codec; readonly target: Codec },
  { dialect, model, channel, limit, droppedTools }: ConversionTarget,
): ConvertedRequest {
  // An option that a channel permits, perhaps at a price, cannot be expressed in another dialect.
  const permitted = governedOptions.find(({ rule, toolIndex }) => rule !== 'pass' && toolIndex === undefined);
  if (permitted !== undefined) throw notExpressibleError(permitted.path);
  const notes = new DroppedFields();
  const tools = toolsOf(body).filter((_, index) => !droppedTools.includes(index));
  const wanted = limit?.tokens ?? requestedLimit;
  const maxTokens = Math.min(wanted, ownOutputLimit(channel) ?? wanted);
  // Clients request the maximum that the models of their own dialect support.
  if (maxTokens < requestedLimit) notes.drop(limitPath(asked, body));
  const conversation = withAllowedTools(source.readRequest({ ...body, tools }, notes));
  const maxTokensKey = outputLimitKey(dialect, model, channel);
  const { renamed, names } = withAcceptedNames(conversation);
  const messages = withUniqueCallIds(renamed.messages);
  const written = target.writeRequest({ ...renamed, messages }, { model, maxTokens, maxTokensKey, stream }, notes);
  const origins = new Map(
    conversation.tools.flatMap(({ name, origin }) => (origin === undefined ? [] : [[name, origin]])),
  );
  const callIds = new Set(
    conversation.messages.flatMap(({ parts }) => parts.flatMap((part) => (part.type === 'call' ? [part.id] : []))),
  );
  return { body: toRequestBytes(JSON.stringify(written)), dropped: notes.dropped, names, origins, callIds };
}

/**
 * Converts one response of an upstream to the caller's dialect,
 * and to the form the caller requested: a stream, or one body.
 */
export class ResponseConversion {
  readonly #reader: ResponseReader;
  readonly #target: Codec;
  readonly #context: ResponseContext;
  #writer: StreamWriter | undefined;

  constructor(source: Codec, target: Codec, context: ResponseContext) {
    this.#reader = source.createReader(target.interleaves);
    this.#reader.builder.avoidCallIds(context.callIds ?? []);
    this.#target = target;
    this.#context = { ...context, dropped: this.#reader.builder.dropped };
  }

  /** Paths of the members that the caller's dialect cannot express. */
  get dropped(): readonly string[] {
    return this.#reader.builder.dropped.dropped;
  }

  /** A stop reason that reports a failure, once the whole response was read. */
  get failure(): string | undefined {
    return this.#reader.builder.failure;
  }

  /**
   * @param body a complete response, JSON
   * @returns the caller's body
   */
  convert(body: Buffer): string {
    return this.#collect(this.#readBody(body));
  }

  /**
   * @param body a complete response, JSON
   * @returns the caller's stream
   */
  convertToStream(body: Buffer): string {
    return this.#write(this.#readBody(body));
  }

  /**
   * @param stream all events of an upstream's stream
   * @returns the caller's body
   */
  convertToBody(stream: Buffer): string {
    const read: ResponseEvent[] = [];
    for (const event of splitEvents(stream.toString('utf8'))) {
      const value = asObject(parseEvent(extractData(event)));
      if (value !== undefined) read.push(...this.#reader.readEvent(value));
    }
    return this.#collect([...read, ...this.#reader.finish()]);
  }

  /**
   * @param events whole events of the upstream's stream
   * @returns events of the caller's stream, possibly none
   */
  push(events: Buffer): string {
    let text = '';
    for (const event of splitEvents(events.toString('utf8'))) {
      const value = asObject(parseEvent(extractData(event)));
      if (value !== undefined) text += this.#write(this.#reader.readEvent(value));
    }
    return text;
  }

  /** Returns the end of a complete stream. */
  finish(): string {
    return this.#write(this.#reader.finish());
  }

  /** Google's streams that are not events are lists of chunks. */
  #readBody(body: Buffer): ResponseEvent[] {
    const value = tryParse(body.toString('utf8'));
    const chunks: readonly UntrustedObject[] = (Array.isArray(value) ? value : [value]).map(
      (each) => asObject(each) ?? {},
    );
    const [only] = chunks;
    if (chunks.length === 1 && only !== undefined) return this.#reader.readComplete(only);
    return [...chunks.flatMap((chunk) => this.#reader.readEvent(chunk)), ...this.#reader.finish()];
  }

  /** Restores the caller's names of functions. */
  #named(events: readonly ResponseEvent[]): readonly ResponseEvent[] {
    const { names } = this.#context;
    if (names === undefined || names.size === 0) return events;
    return events.map((event) =>
      event.type === 'call' ? { ...event, name: names.get(event.name) ?? event.name } : event,
    );
  }

  #collect(events: readonly ResponseEvent[]): string {
    return JSON.stringify(this.#target.writeResponse(this.#named(events), this.#context));
  }

  #write(events: readonly ResponseEvent[]): string {
    if (events.length === 0) return '';
    this.#writer ??= this.#target.createWriter(this.#context);
    let text = '';
    for (const event of this.#named(events)) {
      if (event.type !== 'end') text += this.#writer.write(event);
      // A failed end is reported as an error instead.
      else if (event.reason !== 'failed') text += this.#nameDropped() + this.#writer.write(event);
    }
    return text;
  }

  /** Names dropped members in a comment, because the headers of a stream have already been sent. */
  #nameDropped(): string {
    return this.dropped.length === 0 ? '' : `: x-reelgate-dropped: ${this.dropped.join(', ')}\n\n`;
  }
}

/** Reads and writes one dialect, converting it from and to the neutral form. */
export interface Codec {
  /** @throws AppError `invalid_request` */
  readRequest(body: UntrustedObject, notes: DroppedFields): Conversation;
  /** @throws AppError `invalid_request` for members the dialect cannot express */
  writeRequest(conversation: Conversation, target: UpstreamRequestParameters, notes: DroppedFields): object;
  /** @param interleaves whether streams of the target may continue a call after another block has started */
  createReader(interleaves?: boolean): ResponseReader;
  readonly interleaves: boolean;
  writeResponse(events: readonly ResponseEvent[], context: ResponseContext): object;
  createWriter(context: ResponseContext): StreamWriter;
}

const CODECS: ReadonlyMap<Dialect, Codec> = new Map<Dialect, Codec>([
  [
    CHAT_DIALECT,
    {
      interleaves: true,
      readRequest: readOpenAiChatRequest,
      writeRequest: writeOpenAiChatRequest,
      createReader: (interleaves) => new OpenAiChatReader(interleaves),
      writeResponse: writeOpenAiChatResponse,
      createWriter: (context) => new OpenAiChatStreamWriter(context),
    },
  ],
  [
    RESPONSES_DIALECT,
    {
      interleaves: true,
      readRequest: readResponsesRequest,
      writeRequest: writeResponsesRequest,
      createReader: (interleaves) => new ResponsesReader(interleaves),
      writeResponse: writeResponsesResponse,
      createWriter: (context) => new ResponsesStreamWriter(context),
    },
  ],
  [
    ANTHROPIC_MESSAGES_DIALECT,
    {
      interleaves: false,
      readRequest: readAnthropicRequest,
      writeRequest: writeAnthropicRequest,
      createReader: (interleaves) => new AnthropicReader(interleaves),
      writeResponse: writeAnthropicResponse,
      createWriter: (context) => new AnthropicStreamWriter(context),
    },
  ],
  [
    GEMINI_DIALECT,
    {
      interleaves: false,
      readRequest: readGeminiRequest,
      writeRequest: writeGeminiRequest,
      createReader: (interleaves) => new GeminiReader(interleaves),
      writeResponse: writeGeminiResponse,
      createWriter: (context) => new GeminiStreamWriter(context),
    },
  ],
]);

/** Undefined for dialects that are not converted: embeddings and images. */
export const findCodec = (dialect: Dialect): Codec | undefined => CODECS.get(dialect);
