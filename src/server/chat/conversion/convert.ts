import { asObject, type UntrustedObject } from '../../../contract/objects.ts';
import type { Channel } from '../../channels/directory.ts';
import { toRequestBytes } from '../../platform/request-bytes.ts';
import {
  ANTHROPIC_MESSAGES_DIALECT,
  CHAT_DIALECT,
  type Dialect,
  GEMINI_DIALECT,
  RESPONSES_DIALECT,
} from '../dialects.ts';
import { toolsOf } from '../options.ts';
import { outputLimitKey, ownOutputLimit } from '../output-limit.ts';
import type { ChatRequest, OutputLimit } from '../request.ts';
import { extractData, parseEvent, splitEvents, tryParse } from '../sse.ts';
import {
  AnthropicReader,
  AnthropicStreamWriter,
  readAnthropicRequest,
  writeAnthropicRequest,
  writeAnthropicResponse,
} from './anthropic.ts';
import { DroppedFields, notExpressibleError } from './fields.ts';
import {
  GeminiReader,
  GeminiStreamWriter,
  readGeminiRequest,
  writeGeminiRequest,
  writeGeminiResponse,
} from './gemini.ts';
import type { Conversation, ResponseEvent, ToolOrigin, UpstreamRequestParameters } from './neutral-form.ts';
import {
  OpenAiChatReader,
  OpenAiChatStreamWriter,
  readOpenAiChatRequest,
  writeOpenAiChatRequest,
  writeOpenAiChatResponse,
} from './openai-chat.ts';
import type { ResponseContext, ResponseReader, StreamWriter } from './response-builder.ts';
import { readResponsesRequest, writeResponsesRequest } from './responses-request.ts';
import { ResponsesReader, ResponsesStreamWriter, writeResponsesResponse } from './responses-response.ts';

interface ConversionTarget {
  /** Of the upstream. */
  readonly dialect: Dialect;
  readonly model: string;
  readonly channel: Channel;
  /** The limit that was reserved, where the caller named none. */
  readonly limit: OutputLimit | undefined;
  /** Tools to leave out, by index. */
  readonly droppedTools: readonly number[];
}

interface ConvertedRequest {
  readonly body: Buffer;
  /** Paths of what was left out. */
  readonly dropped: readonly string[];
  /** What the functions of these names are to the caller. */
  readonly origins: ReadonlyMap<string, ToolOrigin>;
}

/** Where the caller wrote the limit. */
function limitPath({ maxTokensKeys: keys, limitContainer }: Dialect, body: UntrustedObject): string {
  if (limitContainer !== undefined) return `${limitContainer}.${keys[0]}`;
  return keys.find((key) => body[key] !== undefined && body[key] !== null) ?? keys[0] ?? '';
}

/** The request in the upstream's dialect. @throws AppError `invalid_request` for what it cannot say */
export function convertRequest(
  { body, dialect: asked, requestedLimit, stream, governedOptions }: ChatRequest,
  { source, target }: { readonly source: Codec; readonly target: Codec },
  { dialect, model, channel, limit, droppedTools }: ConversionTarget,
): ConvertedRequest {
  // What a channel lets pass, perhaps for a price, has no words in another dialect.
  const permitted = governedOptions.find(({ rule, toolIndex }) => rule !== 'pass' && toolIndex === undefined);
  if (permitted !== undefined) throw notExpressibleError(permitted.path);
  const notes = new DroppedFields();
  const tools = toolsOf(body).filter((_, index) => !droppedTools.includes(index));
  const wanted = limit?.tokens ?? requestedLimit;
  const maxTokens = Math.min(wanted, ownOutputLimit(channel) ?? wanted);
  // Clients ask for as much as the models of their own dialect can give.
  if (maxTokens < requestedLimit) notes.drop(limitPath(asked, body));
  const conversation = source.readRequest({ ...body, tools }, notes);
  const maxTokensKey = outputLimitKey(dialect, model, channel);
  const written = target.writeRequest(conversation, { model, maxTokens, maxTokensKey, stream }, notes);
  const origins = new Map(
    conversation.tools.flatMap(({ name, origin }) => (origin === undefined ? [] : [[name, origin]])),
  );
  return { body: toRequestBytes(JSON.stringify(written)), dropped: notes.dropped, origins };
}

/** Turns one response of an upstream into the caller's dialect, and into the form the caller asked for: a stream, or one body. */
export class ResponseConversion {
  readonly #reader: ResponseReader;
  readonly #target: Codec;
  readonly #context: ResponseContext;
  #writer: StreamWriter | undefined;

  constructor(source: Codec, target: Codec, context: ResponseContext) {
    this.#reader = source.createReader(target.interleaves);
    this.#target = target;
    this.#context = context;
  }

  /** Paths of what the caller's dialect cannot say. */
  get dropped(): readonly string[] {
    return this.#reader.builder.dropped.dropped;
  }

  /** A reason to end that is no answer, once all was read. */
  get failure(): string | undefined {
    return this.#reader.builder.failure;
  }

  /** @param body a complete response, JSON @returns the caller's */
  convert(body: Buffer): string {
    return this.#collect(this.#readBody(body));
  }

  /** @param body a complete response, JSON @returns the caller's stream */
  convertToStream(body: Buffer): string {
    return this.#write(this.#readBody(body));
  }

  /** @param stream all events of an upstream's stream @returns the caller's body */
  convertToBody(stream: Buffer): string {
    const read: ResponseEvent[] = [];
    for (const event of splitEvents(stream.toString('utf8'))) {
      const value = asObject(parseEvent(extractData(event)));
      if (value !== undefined) read.push(...this.#reader.readEvent(value));
    }
    return this.#collect([...read, ...this.#reader.finish()]);
  }

  /** @param events whole events of the upstream's stream @returns those of the caller's, possibly none */
  push(events: Buffer): string {
    let text = '';
    for (const event of splitEvents(events.toString('utf8'))) {
      const value = asObject(parseEvent(extractData(event)));
      if (value !== undefined) text += this.#write(this.#reader.readEvent(value));
    }
    return text;
  }

  /** The end of a stream that is complete. */
  finish(): string {
    return this.#write(this.#reader.finish());
  }

  /** Google's streams of another form than events are lists of chunks. */
  #readBody(body: Buffer): ResponseEvent[] {
    const value = tryParse(body.toString('utf8'));
    const chunks: readonly UntrustedObject[] = (Array.isArray(value) ? value : [value]).map(
      (each) => asObject(each) ?? {},
    );
    const [only] = chunks;
    if (chunks.length === 1 && only !== undefined) return this.#reader.readComplete(only);
    return [...chunks.flatMap((chunk) => this.#reader.readEvent(chunk)), ...this.#reader.finish()];
  }

  #collect(events: readonly ResponseEvent[]): string {
    return JSON.stringify(this.#target.writeResponse(events, this.#context));
  }

  #write(events: readonly ResponseEvent[]): string {
    if (events.length === 0) return '';
    this.#writer ??= this.#target.createWriter(this.#context);
    let text = '';
    for (const event of events) {
      if (event.type !== 'end') text += this.#writer.write(event);
      // An end that is no answer is told by an error in its place.
      else if (event.reason !== 'failed') text += this.#nameDropped() + this.#writer.write(event);
    }
    return text;
  }

  /** The headers of a stream have left, so a comment says what its events leave out. */
  #nameDropped(): string {
    return this.dropped.length === 0 ? '' : `: x-reelgate-dropped: ${this.dropped.join(', ')}\n\n`;
  }
}

/** How one dialect is read into and written from the neutral form. */
export interface Codec {
  /** @throws AppError `invalid_request` */
  readRequest(body: UntrustedObject, notes: DroppedFields): Conversation;
  /** @throws AppError `invalid_request` for what the dialect cannot say */
  writeRequest(conversation: Conversation, target: UpstreamRequestParameters, notes: DroppedFields): object;
  /** @param interleaves the target's: whether its streams may continue a call after another block has begun */
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
