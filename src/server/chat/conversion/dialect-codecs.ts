import type { UntrustedObject } from '../../../contract/is-object.ts';
import { ANTHROPIC_MESSAGES_DIALECT } from '../anthropic-dialect.ts';
import type { Dialect } from '../dialect.ts';
import { GEMINI_DIALECT } from '../gemini-dialect.ts';
import { CHAT_DIALECT, RESPONSES_DIALECT } from '../openai-endpoint-dialects.ts';
import { readAnthropicRequest } from './anthropic-request-reader.ts';
import { writeAnthropicRequest } from './anthropic-request-writer.ts';
import { AnthropicReader, AnthropicStreamWriter, writeAnthropicResponse } from './anthropic-response.ts';
import type { DroppedFields } from './dropped-fields.ts';
import { readGeminiRequest } from './gemini-request-reader.ts';
import { writeGeminiRequest } from './gemini-request-writer.ts';
import { GeminiReader, GeminiStreamWriter, writeGeminiResponse } from './gemini-response-reader-and-writer.ts';
import type { Conversation, ResponseEvent } from './neutral-form.ts';
import { readOpenAiChatRequest } from './openai-chat-request-reader.ts';
import { writeOpenAiChatRequest } from './openai-chat-request-writer.ts';
import { OpenAiChatReader, OpenAiChatStreamWriter, writeOpenAiChatResponse } from './openai-chat-response.ts';
import { readResponsesRequest } from './openai-responses-request-reader.ts';
import { writeResponsesRequest } from './openai-responses-request-writer.ts';
import { ResponsesReader } from './openai-responses-response-reader.ts';
import { ResponsesStreamWriter, writeResponsesResponse } from './openai-responses-response-writer.ts';
import type { ResponseContext, ResponseReader, StreamWriter } from './response-reader-and-writer.ts';
import type { UpstreamRequestParameters } from './upstream-model-and-limit-type.ts';

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
