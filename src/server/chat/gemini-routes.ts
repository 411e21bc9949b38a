import * as chatEndpoints from '../../contract/openai-anthropic-and-gemini-model-calls.ts';
import { AppError, invalidRequest } from '../platform/app-error.ts';
import type { HttpServer } from '../platform/http/server.ts';
import { parseChatRequest } from './chat-request.ts';
import { ClientResponse } from './client-response.ts';
import { COUNT_SOURCE_HEADER, type TokenCounter } from './count-request-tokens-at-upstream-or-estimate.ts';
import type { FastPathCall } from './fast-path-call-type.ts';
import { GEMINI_DIALECT } from './gemini-dialect.ts';
import type { Relay } from './relay.ts';

/** Adds the calls in Google's form, whose path names model and method. */
export function addGeminiRoutes(
  { routes, fastPathTools }: Pick<HttpServer, 'routes' | 'fastPathTools'>,
  { relay, counter }: { readonly relay: Relay; readonly counter: TokenCounter },
): void {
  for (const line of [chatEndpoints.geminiModelCall, chatEndpoints.geminiModelCallV1]) {
    routes.add(line, async ({ body, params, query, caller, request, reply }) => {
      const { model, method } = splitGeminiCall(params.model);
      const stream = method === 'streamGenerateContent';
      if (stream && query.alt !== 'sse') throw invalidRequest('Streams are sent as events: alt must be sse.', 'alt');
      const bytes = request.takeRawBody() ?? Buffer.alloc(0);
      const ask = parseChatRequest(GEMINI_DIALECT, bytes, body, { headers: request.headers, model, stream });
      if (method === 'countTokens') {
        const { tokens, source } = await counter.count(caller, ask);
        return reply.header(COUNT_SOURCE_HEADER, source).send({ totalTokens: tokens });
      }
      const client = new ClientResponse(reply.request.raw, reply.raw, request.id, fastPathTools);
      reply.hijack();
      await relay.serve(caller, ask, client).catch((error: unknown) => client.fail(error, GEMINI_DIALECT));
      return reply;
    });
  }
}

/** Models and methods that need no decoding, without a query but that of a stream. */
const PLAIN_CALL = /^\/v1(beta)?\/models\/([\w.-]{1,200}):(?:generateContent|(streamGenerateContent\?alt=sse))$/;

/** A call that needs none of Fastify's reading; undefined for all others. */
export function parsePlainGeminiCall(url: string): FastPathCall | undefined {
  const found = PLAIN_CALL.exec(url);
  if (found === null) return undefined;
  const [, beta, model, events] = found;
  const endpoint = beta === undefined ? chatEndpoints.geminiModelCallV1 : chatEndpoints.geminiModelCall;
  return { endpoint, dialect: GEMINI_DIALECT, model, stream: events !== undefined };
}

const GEMINI_METHODS: ReadonlySet<string> = new Set(['generateContent', 'streamGenerateContent', 'countTokens']);

/** `{model}:{method}`; a model's name may have colons of its own. @throws AppError `not_found` for other methods */
function splitGeminiCall(call: string): { readonly model: string; readonly method: string } {
  const at = call.lastIndexOf(':');
  const method = call.slice(at + 1);
  if (at < 1 || !GEMINI_METHODS.has(method)) throw new AppError('not_found');
  return { model: call.slice(0, at), method };
}
