import type { UntrustedObject } from '../../../contract/is-object.ts';
import { MESSAGES } from '../anthropic-dialect.ts';
import type { Dialect } from '../dialect.ts';
import { GENERATE } from '../gemini-dialect.ts';
import { CHAT, RESPONSES } from '../openai-dialects.ts';
import { readAnthropicRequest } from './anthropic-request-reader.ts';
import { writeAnthropicRequest } from './anthropic-request-writer.ts';
import { AnthropicReader, AnthropicStreamWriter, writeAnthropicResponse } from './anthropic-response.ts';
import type { DroppedMembers } from './dropped-members.ts';
import { readGeminiRequest } from './gemini-request-reader.ts';
import { writeGeminiRequest } from './gemini-request-writer.ts';
import { GeminiReader, GeminiStreamWriter, writeGeminiResponse } from './gemini-response.ts';
import type { Conversation, ResponseEvent } from './neutral-form.ts';
import { readOpenAiRequest } from './openai-request-reader.ts';
import { writeOpenAiRequest } from './openai-request-writer.ts';
import { OpenAiReader, OpenAiStreamWriter, writeOpenAiResponse } from './openai-response.ts';
import type { RequestTarget } from './request-target.ts';
import type { ResponseContext, ResponseReader, StreamWriter } from './response-codec.ts';
import { readResponsesRequest } from './responses-request-reader.ts';
import { writeResponsesRequest } from './responses-request-writer.ts';
import { ResponsesReader } from './responses-response-reader.ts';
import { ResponsesStreamWriter, writeResponsesResponse } from './responses-response-writer.ts';

/** How one dialect is read into and written from the neutral form. */
export interface Codec {
  /** @throws AppError `invalid_request` */
  readRequest(body: UntrustedObject, notes: DroppedMembers): Conversation;
  /** @throws AppError `invalid_request` for what the dialect cannot say */
  writeRequest(conversation: Conversation, target: RequestTarget, notes: DroppedMembers): object;
  createReader(): ResponseReader;
  writeResponse(events: readonly ResponseEvent[], context: ResponseContext): object;
  createWriter(context: ResponseContext): StreamWriter;
}

const CODECS: ReadonlyMap<Dialect, Codec> = new Map<Dialect, Codec>([
  [
    CHAT,
    {
      readRequest: readOpenAiRequest,
      writeRequest: writeOpenAiRequest,
      createReader: () => new OpenAiReader(),
      writeResponse: writeOpenAiResponse,
      createWriter: (context) => new OpenAiStreamWriter(context),
    },
  ],
  [
    RESPONSES,
    {
      readRequest: readResponsesRequest,
      writeRequest: writeResponsesRequest,
      createReader: () => new ResponsesReader(),
      writeResponse: writeResponsesResponse,
      createWriter: (context) => new ResponsesStreamWriter(context),
    },
  ],
  [
    MESSAGES,
    {
      readRequest: readAnthropicRequest,
      writeRequest: writeAnthropicRequest,
      createReader: () => new AnthropicReader(),
      writeResponse: writeAnthropicResponse,
      createWriter: (context) => new AnthropicStreamWriter(context),
    },
  ],
  [
    GENERATE,
    {
      readRequest: readGeminiRequest,
      writeRequest: writeGeminiRequest,
      createReader: () => new GeminiReader(),
      writeResponse: writeGeminiResponse,
      createWriter: (context) => new GeminiStreamWriter(context),
    },
  ],
]);

/** Undefined for dialects that are not converted: embeddings and images. */
export const findCodec = (dialect: Dialect): Codec | undefined => CODECS.get(dialect);
