import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FastifyReply } from 'fastify';
import { claudeCodeCountTokens, claudeCodeMessages } from '../../contract/claude-code.ts';
import type { Endpoint } from '../../contract/endpoint.ts';
import * as chatEndpoints from '../../contract/model-calls.ts';
import { AppError, invalidRequest } from '../platform/app-error.ts';
import { CollectedRequest, type JsonBody } from '../platform/http/body.ts';
import {
  type AccountCaller,
  type Authenticator,
  type ModelCaller,
  ownerOf,
  type RequestContext,
} from '../platform/http/route-registry.ts';
import type { HttpServer } from '../platform/http/server.ts';
import { ClientResponse } from './client-response.ts';
import {
  ANTHROPIC_MESSAGES_DIALECT,
  CHAT_DIALECT,
  type Dialect,
  EMBEDDINGS_DIALECT,
  GEMINI_DIALECT,
  IMAGES_DIALECT,
  RESPONSES_DIALECT,
} from './dialects.ts';
import type { Relay } from './relay.ts';
import { parseChatRequest, type RequestFacts } from './request.ts';
import { COUNT_SOURCE_HEADER, type TokenCounter } from './token-counter.ts';

const ROUTES = [
  [chatEndpoints.chatCompletions, CHAT_DIALECT],
  [chatEndpoints.chatCompletionsV2, CHAT_DIALECT],
  [chatEndpoints.responses, RESPONSES_DIALECT],
  [chatEndpoints.messages, ANTHROPIC_MESSAGES_DIALECT],
  [chatEndpoints.embeddings, EMBEDDINGS_DIALECT],
  [chatEndpoints.imageGenerations, IMAGES_DIALECT],
] as const;

/** Model calls of the console, authenticated by its session. */
const OWN_ROUTES = [
  [chatEndpoints.ownChatCompletions, CHAT_DIALECT],
  [chatEndpoints.ownImageGenerations, IMAGES_DIALECT],
] as const;

/** An account that calls without an API key, so that no key's limits apply. */
const toModelCaller = (caller: AccountCaller): ModelCaller => ({
  kind: 'model',
  ...ownerOf(caller),
  tokenId: 0,
  models: [],
});

/** Tells Claude Code in headers how much of its caller's spend limits is used. */
export interface SpendHeaders {
  headers(caller: ModelCaller): Promise<Readonly<Record<string, string>>>;
}

interface ModelCallInput {
  readonly body: Readonly<Record<string, unknown>> & { readonly model: string };
  readonly request: RequestContext;
  readonly reply: FastifyReply;
}

const PLAIN_CALLS: readonly FastPathCall[] = ROUTES.map(([endpoint, dialect]) => ({ endpoint, dialect }));

const findPlainCall = (url: string): FastPathCall | undefined =>
  PLAIN_CALLS.find(({ endpoint }) => endpoint.path === url) ?? parsePlainGeminiCall(url);

interface ChatRouteDependencies {
  readonly relay: Relay;
  readonly counter: TokenCounter;
  readonly authenticator: Authenticator;
  readonly claudeCodeUsage: SpendHeaders;
}

/**
 * Registers model calls twice: a fast path for plain requests, which are nearly all, and Fastify routes for requests
 * that are spelled differently or refused for their form (queries, content types, sizes), so that those rules exist
 * only once.
 */
export function addChatRoutes(
  http: HttpServer,
  { relay, counter, authenticator, claudeCodeUsage }: ChatRouteDependencies,
): void {
  const { routes, fastPathTools, bodyReader } = http;
  const serveOverFastify = async (
    { body, request, reply }: ModelCallInput,
    caller: ModelCaller,
    dialect: Dialect,
    successHeaders?: Readonly<Record<string, string>>,
  ): Promise<FastifyReply> => {
    const call = parseChatRequest(dialect, request.takeRawBody() ?? Buffer.alloc(0), body, {
      headers: request.headers,
    });
    const client = new ClientResponse(reply.request.raw, reply.raw, request.id, fastPathTools, dialect.idHeader);
    if (successHeaders !== undefined) client.setSuccessHeaders(successHeaders);
    reply.hijack();
    await relay.serve(caller, call, client).catch((error: unknown) => client.fail(error, dialect));
    return reply;
  };
  for (const [endpoint, dialect] of ROUTES)
    routes.add(endpoint, (input) => serveOverFastify(input, input.caller, dialect));
  for (const [endpoint, dialect] of OWN_ROUTES)
    routes.add(endpoint, (input) => serveOverFastify(input, toModelCaller(input.caller), dialect));
  // Not on the fast path: the program adds a query to every request.
  routes.add(claudeCodeMessages, async (input) =>
    serveOverFastify(input, input.caller, ANTHROPIC_MESSAGES_DIALECT, await claudeCodeUsage.headers(input.caller)),
  );

  for (const endpoint of [chatEndpoints.countMessageTokens, claudeCodeCountTokens]) {
    routes.add(endpoint, async ({ body, caller, request, reply }) => {
      const call = parseChatRequest(ANTHROPIC_MESSAGES_DIALECT, request.takeRawBody() ?? Buffer.alloc(0), body, {
        headers: request.headers,
      });
      const { tokens, source } = await counter.count(caller, call);
      reply.header(COUNT_SOURCE_HEADER, source);
      return { input_tokens: tokens };
    });
  }

  addGeminiRoutes(http, { relay, counter });

  const serve = async (
    request: IncomingMessage,
    response: ServerResponse,
    { endpoint, dialect, model, stream }: FastPathCall,
  ): Promise<void> => {
    const id = fastPathTools.requestIdOf(request);
    const client = new ClientResponse(request, response, id, fastPathTools, dialect.idHeader);
    client.recordAs(endpoint.path);
    let body: JsonBody | undefined;
    try {
      // Before authentication only small bodies are read (`collectBody`); larger ones are read afterwards.
      const caller = await authenticator.model({
        headers: request.headers,
        session: undefined,
        clientIp: fastPathTools.clientIpOf(request),
      });
      const { bodyLimit: limit = 0, maxBodyValues: maxValues } = endpoint;
      const budgetKey = String(caller.userId);
      body = await bodyReader.read(request, { limit, maxValues, budgetKey, response });
      if (body === undefined) throw new AppError('invalid_json');
      const { rootMembers, values } = body;
      const facts = { headers: request.headers, model, stream, rootMembers, values };
      await relay.serve(caller, parseChatRequest(dialect, body.bytes, body.value, facts), client);
    } catch (error) {
      // Nothing was sent to an upstream.
      body?.discard();
      client.fail(error, dialect);
    }
  };

  http.addFastPath((request, response) => {
    const route = request.method === 'POST' ? findPlainCall(request.url ?? '') : undefined;
    if (route === undefined || !isPlain(request)) return false;
    if (request instanceof CollectedRequest) request.collectBody(Number(request.headers['content-length']));
    void serve(request, response, route);
    return true;
  });
}

/** Whether a request has a JSON body of a known and permitted size. */
function isPlain({ headers }: IncomingMessage): boolean {
  const { 'content-type': type, 'content-length': length } = headers;
  if (type !== 'application/json' && type !== 'application/json; charset=utf-8') return false;
  if (headers['content-encoding'] !== undefined || headers.expect !== undefined || length === undefined) return false;
  return Number(length) > 0 && Number(length) <= chatEndpoints.CHAT_BODY_LIMIT;
}

/** Adds the calls in Google's form, whose path contains the model and the method. */
function addGeminiRoutes(
  { routes, fastPathTools }: Pick<HttpServer, 'routes' | 'fastPathTools'>,
  { relay, counter }: { readonly relay: Relay; readonly counter: TokenCounter },
): void {
  for (const endpoint of [chatEndpoints.geminiModelCall, chatEndpoints.geminiModelCallV1]) {
    routes.add(endpoint, async ({ body, params, query, caller, request, reply }) => {
      const { model, method } = splitGeminiCall(params.model);
      const stream = method === 'streamGenerateContent';
      if (stream && query.alt !== 'sse') throw invalidRequest('Streams are sent as events: alt must be sse.', 'alt');
      const bytes = request.takeRawBody() ?? Buffer.alloc(0);
      const call = parseChatRequest(GEMINI_DIALECT, bytes, body, { headers: request.headers, model, stream });
      if (method === 'countTokens') {
        const { tokens, source } = await counter.count(caller, call);
        return reply.header(COUNT_SOURCE_HEADER, source).send({ totalTokens: tokens });
      }
      const client = new ClientResponse(reply.request.raw, reply.raw, request.id, fastPathTools);
      reply.hijack();
      await relay.serve(caller, call, client).catch((error: unknown) => client.fail(error, GEMINI_DIALECT));
      return reply;
    });
  }
}

/** Models and methods that need no decoding, without a query except the one that requests a stream. */
const PLAIN_CALL = /^\/v1(beta)?\/models\/([\w.-]{1,200}):(?:generateContent|(streamGenerateContent\?alt=sse))$/;

/** Parses a call that needs none of Fastify's parsing; undefined for all others. */
function parsePlainGeminiCall(url: string): FastPathCall | undefined {
  const found = PLAIN_CALL.exec(url);
  if (found === null) return undefined;
  const [, beta, model, events] = found;
  const endpoint = beta === undefined ? chatEndpoints.geminiModelCallV1 : chatEndpoints.geminiModelCall;
  return { endpoint, dialect: GEMINI_DIALECT, model, stream: events !== undefined };
}

const GEMINI_METHODS: ReadonlySet<string> = new Set(['generateContent', 'streamGenerateContent', 'countTokens']);

/**
 * Splits `{model}:{method}`; a model's name may contain colons.
 * @throws AppError `not_found` for other methods
 */
function splitGeminiCall(call: string): { readonly model: string; readonly method: string } {
  const at = call.lastIndexOf(':');
  const method = call.slice(at + 1);
  if (at < 1 || !GEMINI_METHODS.has(method)) throw new AppError('not_found');
  return { model: call.slice(0, at), method };
}

/** A call to a path that the fast path serves. */
interface FastPathCall extends Pick<RequestFacts, 'model' | 'stream'> {
  readonly endpoint: Pick<Endpoint, 'path' | 'bodyLimit' | 'maxBodyValues'>;
  readonly dialect: Dialect;
}
