import { createRequire } from 'node:module';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { type Endpoint, type EndpointPart, isModelPolicy } from '../../../contract/endpoint.ts';
import { defined } from '../../../contract/objects.ts';
import { AppError } from '../app-error.ts';
import { memoizeByObject } from '../cache.ts';
import type { Authenticator, CallerOf, RequestContext } from './request-context.ts';
import { dropDeclaredNulls, pickDeclaredKeys, validatorFor } from './schema-validation.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    readonly endpoint?: Endpoint;
  }
}

/** The validated input of a handler. */
export interface Input<E extends Endpoint> {
  readonly params: EndpointPart<E, 'params'>;
  readonly query: EndpointPart<E, 'query'>;
  readonly body: EndpointPart<E, 'body'>;
  readonly caller: CallerOf<E['policy']>;
  readonly request: RequestContext;
  /** For headers, cookies, streams and statuses other than 200. */
  readonly reply: FastifyReply;
}

/** Returns the success body of the endpoint, or `reply` itself when it has sent the response another way. */
export type Handler<E extends Endpoint> = (input: Input<E>) => Promise<EndpointPart<E, 'response'> | FastifyReply>;

interface RouteDependencies {
  readonly authenticator: Authenticator;
  contextOf(request: FastifyRequest): RequestContext;
}

/** Paths on which OpenAI's clients send null for an omitted field. */
const NULL_IS_ABSENT = /^\/v\d/;

/** Where modules register their handlers; a route exists only with an endpoint of the contract. */
export class RouteRegistry {
  readonly #fastify: FastifyInstance;
  readonly #dependencies: RouteDependencies;
  readonly #endpoints: Endpoint[] = [];

  constructor(fastify: FastifyInstance, dependencies: RouteDependencies) {
    this.#fastify = fastify;
    this.#dependencies = dependencies;
  }

  /** The endpoints added so far, for the API reference and the tests that visit all routes. */
  get endpoints(): readonly Endpoint[] {
    return this.#endpoints;
  }

  /** Connects an endpoint to Fastify: policy first, then the body, the schemas and the handler. */
  add<const E extends Endpoint>(endpoint: E, handler: Handler<E>): void {
    const { authenticator, contextOf } = this.#dependencies;
    this.#endpoints.push(endpoint);
    const resolveCaller = callerResolverFor(endpoint, authenticator);
    this.#fastify.route({
      method: endpoint.method,
      url: endpoint.path,
      // Fastify passes HEAD to the GET handler, which may check the method.
      exposeHeadRoute: endpoint.method === 'GET',
      bodyLimit: bodyLimitOf(endpoint),
      config: { endpoint },
      schema: defined({
        params: endpoint.params,
        querystring: endpoint.query,
        body: endpoint.accepts === 'upload' ? undefined : endpoint.body,
        response: endpoint.response && { 200: endpoint.response },
      }),
      serializerCompiler: ({ schema }) => lazySerializer(schema),
      validatorCompiler: ({ schema }) => validatorFor(schema as Parameters<typeof validatorFor>[0]),
      // The caller must be authenticated before any body is read.
      onRequest: async (request) => {
        // `/v1/models/` is not `/v1/models/:id` with an empty id.
        if (Object.values(request.params as object).includes('')) throw new AppError('not_found');
        request.caller = await resolveCaller(request, contextOf(request));
      },
      preValidation: async (request) => prepareForValidation(endpoint, request),
      onSend: endpoint.compressed === true ? compressResponse : [],
      handler: async (request, reply) => {
        if (endpoint.secret === true) reply.header('cache-control', 'no-store');
        const input = {
          params: request.params,
          query: request.query,
          // On /api unknown keys have no meaning and are removed; elsewhere they may belong to a vendor.
          body: endpoint.envelope === 'api' ? pickDeclaredKeys(endpoint.body, request.body) : request.body,
          caller: request.caller,
          request: contextOf(request),
          reply,
        };
        request.isHandled = true;
        try {
          return await handler(input as Parameters<typeof handler>[0]);
        } finally {
          // Of errors too: a refused call states what its limits leave.
          if (request.responseHeaders !== undefined && !reply.sent) reply.headers(request.responseHeaders);
          request.rawBody?.discard();
        }
      },
    });
  }
}

/** Body limit in bytes; the default suits bodies of a few fields. */
export const bodyLimitOf = ({ bodyLimit }: Pick<Endpoint, 'bodyLimit'>): number => bodyLimit ?? 64 * 1024;

function prepareForValidation(endpoint: Endpoint, request: FastifyRequest): void {
  // PostgreSQL cannot store U+0000 or compare with it; percent-encoding cannot produce ill-formed text otherwise.
  if (request.url.includes('%00')) throw new AppError('invalid_text');
  if (endpoint.optionalBody === true) request.body ??= {};
  if (NULL_IS_ABSENT.test(endpoint.path)) dropDeclaredNulls(endpoint.body, request.body);
}

/** Accepts a key in the query, as Google's clients may send it, when no header contains one. */
function withQueryKey(
  { envelope }: Endpoint,
  headers: FastifyRequest['headers'],
  query: unknown,
): FastifyRequest['headers'] {
  const { key } = (query ?? {}) as { readonly key?: unknown };
  const isGiven = envelope === 'gemini' && typeof key === 'string' && headers.authorization === undefined;
  return isGiven && headers['x-goog-api-key'] === undefined ? { ...headers, 'x-goog-api-key': key } : headers;
}

type CallerResolver = (request: FastifyRequest, context: RequestContext) => Promise<FastifyRequest['caller']>;

function callerResolverFor(endpoint: Endpoint, authenticator: Authenticator): CallerResolver {
  const { policy } = endpoint;
  if (policy === 'public' || policy === 'self') return async () => undefined;
  if (isModelPolicy(policy))
    return async ({ query }, { headers, session, clientIp }) =>
      authenticator.model({ headers: withQueryKey(endpoint, headers, query), session, clientIp }, policy);
  return async (_, { headers, session, clientIp }) => {
    const caller = await authenticator.account(policy, { headers, session, clientIp }, endpoint);
    if (endpoint.spends === true && caller.kind === 'device' && caller.isGrant)
      throw new AppError('insufficient_scope');
    return caller;
  };
}

type Serialize = (value: unknown) => string;

/** The serializer that Fastify itself uses, from Fastify's own dependency. */
const buildSerializer = createRequire(import.meta.resolve('fastify'))('fast-json-stringify') as (
  schema: object,
) => Serialize;

const serializerOf = memoizeByObject(buildSerializer);

/**
 * Serializes the responses of a schema like Fastify's own serializer, but builds it for the first response: building
 * those of all endpoints took a quarter of the startup's CPU time.
 */
const lazySerializer =
  (schema: object): Serialize =>
  (value) =>
    serializerOf(schema)(value);

const gzipAsync = promisify(gzip);
/** Smaller bodies fit into two packets uncompressed. */
const MIN_LENGTH = 2_048;

/**
 * Fastify `onSend` hook of endpoints that are `compressed`: sends a large body as gzip (RFC 9110 section 8.4.1.3) if
 * the caller accepts it. Compresses outside the event loop.
 */
export async function compressResponse(
  { headers }: Pick<FastifyRequest, 'headers'>,
  reply: Pick<FastifyReply, 'header' | 'removeHeader'>,
  payload: unknown,
): Promise<unknown> {
  if (typeof payload !== 'string' || payload.length < MIN_LENGTH) return payload;
  reply.header('vary', 'Accept-Encoding');
  if (!acceptsGzip(headers['accept-encoding'])) return payload;
  reply.header('content-encoding', 'gzip').removeHeader('content-length');
  return gzipAsync(payload);
}

/** Whether the header lists gzip with a weight other than zero (RFC 9110 section 12.5.3). */
export function acceptsGzip(header: string | string[] | undefined): boolean {
  const codings = String(header ?? '').split(',');
  return codings.some((coding) => {
    const [name = '', ...parameters] = coding.split(';').map((part) => part.trim().toLowerCase());
    return name === 'gzip' && !parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter));
  });
}
