import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Endpoint, PartOf } from '../../../contract/endpoint.ts';
import { AppError } from '../errors.ts';
import type { Authenticator, CallerOf } from './caller.ts';
import type { RequestContext } from './request-context.ts';
import { checkOf, namedOnly } from './validation.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    readonly endpoint?: Endpoint;
  }
}

export interface Input<E extends Endpoint> {
  readonly params: PartOf<E, 'params'>;
  readonly query: PartOf<E, 'query'>;
  readonly body: PartOf<E, 'body'>;
  readonly caller: CallerOf<E['policy']>;
  readonly request: RequestContext;
  /** For headers, cookies, streams and statuses other than 200. */
  readonly reply: FastifyReply;
}

/** Answers with the success body of the endpoint, or with `reply` itself when it has sent the answer another way. */
export type Handler<E extends Endpoint> = (input: Input<E>) => Promise<PartOf<E, 'answer'> | FastifyReply>;

/** Where capabilities hang their handlers; a route exists only with its line of the contract. */
export interface Routes {
  add<const E extends Endpoint>(endpoint: E, handler: Handler<E>): void;
  /** The lines added so far, for the API reference and the tests that walk all routes. */
  readonly endpoints: readonly Endpoint[];
}

export interface RouteSurroundings {
  readonly authenticator: Authenticator;
  contextOf(request: FastifyRequest): RequestContext;
}

/** Binds contract lines to Fastify: policy first, then the schemas, then the handler. */
export function makeRoutes(fastify: FastifyInstance, around: RouteSurroundings): Routes {
  const endpoints: Endpoint[] = [];
  return {
    endpoints,
    add(endpoint, handler) {
      endpoints.push(endpoint);
      const identify = identifier(endpoint, around.authenticator);
      fastify.route({
        method: endpoint.method,
        url: endpoint.path,
        // HEAD is answered by those handlers that declare it through GET and look at the method.
        exposeHeadRoute: endpoint.method === 'GET',
        bodyLimit: endpoint.bodyLimit ?? 64 * 1024,
        config: { endpoint },
        schema: {
          ...(endpoint.params === undefined ? {} : { params: endpoint.params }),
          ...(endpoint.query === undefined ? {} : { querystring: endpoint.query }),
          ...(endpoint.body === undefined ? {} : { body: endpoint.body }),
          ...(endpoint.answer === undefined ? {} : { response: { 200: endpoint.answer } }),
        },
        validatorCompiler: ({ schema }) => checkOf(schema as Parameters<typeof checkOf>[0]),
        // Nobody's body is looked at before the caller is known.
        onRequest: async (request) => {
          request.caller = await identify(request, around.contextOf(request));
        },
        preValidation: async (request) => {
          // PostgreSQL stores no U+0000 and compares with none; ill-formed text cannot come out of percent-encoding.
          if (request.url.includes('%00')) throw new AppError('invalid_text');
          if (endpoint.optionalBody === true) request.body ??= {};
        },
        handler: async (request, reply) => {
          if (endpoint.secret === true) reply.header('cache-control', 'no-store');
          const input = {
            params: request.params,
            query: request.query,
            // Elsewhere unknown keys may be a vendor's own; on /api they are nobody's.
            body: endpoint.envelope === 'api' ? namedOnly(endpoint.body, request.body) : request.body,
            caller: request.caller,
            request: around.contextOf(request),
            reply,
          };
          return handler(input as never);
        },
      });
    },
  };
}

type Identify = (request: FastifyRequest, context: RequestContext) => Promise<FastifyRequest['caller']>;

function identifier(endpoint: Endpoint, authenticator: Authenticator): Identify {
  const { policy } = endpoint;
  if (policy === 'public' || policy === 'self') return async () => undefined;
  if (policy === 'model')
    return async (_, { headers, session, address }) => authenticator.model({ headers, session, address });
  return async (_, { headers, session, address }) => authenticator.account(policy, { headers, session, address });
}
