import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import cookie from '@fastify/cookie';
import Fastify, {
  type FastifyBaseLogger,
  type FastifyError,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
} from 'fastify';
import type { Locale } from '../../../contract/messages/messages.ts';
import { AppError, invalid } from '../errors.ts';
import { pickLocale } from '../locale.ts';
import type { Log } from '../log.ts';
import { OutboundError } from '../outbound/outbound.ts';
import { acceptBodies } from './body.ts';
import type { Authenticator, Caller } from './caller.ts';
import { isCleanTarget, isCrossSite, isKnownHost, namesTwoHosts } from './edge.ts';
import { envelopeOfPath, type RenderedFailure, toFailure } from './envelopes.ts';
import { acceptMultipart, type UploadedFile } from './multipart.ts';
import { createServer } from './node-http.ts';
import { RequestContext } from './request-context.ts';
import { requestIdFrom } from './request-id.ts';
import { makeRoutes, type Routes } from './routes.ts';

declare module 'fastify' {
  interface FastifyRequest {
    caller: Caller | undefined;
    context: RequestContext | undefined;
    uploads: readonly UploadedFile[];
    rawBytes: Buffer | undefined;
  }
}

export interface HttpOptions {
  readonly log: Log;
  readonly authenticator: Authenticator;
  readonly defaultLocale: Locale;
  /** Host names (without port) this service answers for; loopback names always are. */
  readonly hosts: readonly string[];
  /** The client's address, proxies looked through. */
  addressOf(request: IncomingMessage): string;
  /** Told of every answer; for the metrics. */
  onAnswer?(route: string, method: string, status: number, seconds: number): void;
}

/**
 * A handler that is asked before Fastify, for the hottest paths; answers false to pass. It stands behind the checks of the
 * edge, and does all else itself: credentials, body, envelope, the `x-request-id` header.
 */
export type FastLane = (request: IncomingMessage, response: ServerResponse) => boolean;

/** What answers outside Fastify are made with, so that they look like all others. */
export interface LaneTools {
  /** An id that was never given before. */
  newId(): string;
  /** The caller's own request id where it is harmless, else a new one. */
  requestId(request: IncomingMessage): string;
  isCrossSite(request: IncomingMessage): boolean;
  /** A failure in the envelope of its address; what is our fault is logged. */
  failure(request: IncomingMessage, id: string, error: unknown): RenderedFailure;
  /** Sends it as the whole answer. */
  fail(request: IncomingMessage, response: ServerResponse, id: string, error: unknown): void;
  /** Tells the metrics. */
  answered(route: string, method: string, status: number, seconds: number): void;
}

export interface Http {
  readonly fastify: FastifyInstance;
  readonly routes: Routes;
  addFastLane(lane: FastLane): void;
  readonly tools: LaneTools;
  /** Listens and answers with the address in use. */
  listen(host: string, port: number): Promise<AddressInfo>;
  /** Takes no new requests, lets those under way finish for at most `graceMs`, then cuts them. */
  close(graceMs: number): Promise<void>;
}

const THIRTY_MINUTES = 30 * 60_000;

/** Builds the HTTP layer: edge checks, bodies, policies, envelopes. Capabilities add their routes to it. */
export async function makeHttp(options: HttpOptions): Promise<Http> {
  const lanes: FastLane[] = [];
  let server: Server | undefined;
  const fastify = Fastify({
    loggerInstance: options.log as FastifyBaseLogger,
    logController: new Fastify.LogController({ disableRequestLogging: true }),
    // One logger for all requests: a child each costs more than most answers, and every line names its request anyway.
    childLoggerFactory: (logger) => logger,
    genReqId: (request) => requestIdFrom(request.headers['x-request-id']),
    requestIdHeader: false,
    bodyLimit: 64 * 1024,
    // Uploads of 64 MB over slow lines take minutes; heads never do.
    requestTimeout: 300_000,
    connectionTimeout: 0,
    keepAliveTimeout: 72_000,
    routerOptions: { maxParamLength: 200, ignoreTrailingSlash: false, caseSensitive: true },
    return503OnClosing: true,
    forceCloseConnections: 'idle',
    frameworkErrors: (error, request, reply) => fail(error, request as FastifyRequest, reply as FastifyReply),
    serverFactory: (handler) => {
      server = createServer(
        { headersTimeout: 10_000, requestTimeout: 300_000, keepAliveTimeout: 72_000, maxHeaderSize: 16_384 },
        (request, response) => {
          const refusal = checkEdge(request, options.hosts);
          if (refusal !== undefined) return refuse(request, response, refusal);
          for (const lane of lanes) if (lane(request, response)) return;
          handler(request, response);
        },
      );
      server.maxConnections = 20_000;
      return server;
    },
  });

  const send = (response: ServerResponse, id: string, failure: RenderedFailure, headers: object = {}): void => {
    response.writeHead(failure.status, {
      ...failure.headers,
      ...headers,
      'content-type': failure.contentType,
      'x-request-id': id,
    });
    response.end(failure.body);
  };
  const refuse = (request: IncomingMessage, response: ServerResponse, error: AppError): void => {
    const id = requestIdFrom(request.headers['x-request-id']);
    send(response, id, tools.failure(request, id, error), { connection: 'close' });
  };
  const tools: LaneTools = {
    newId: () => requestIdFrom(undefined),
    requestId: (request) => requestIdFrom(request.headers['x-request-id']),
    isCrossSite: (request) => isCrossSite(request.method ?? 'GET', request.headers, options.hosts),
    failure(request, id, error) {
      logFailure(options.log, error, { requestId: id, route: request.url?.split('?', 1)[0] });
      const locale = pickLocale(request.headers['accept-language'], options.defaultLocale);
      return toFailure(error, envelopeOfPath(request.url ?? '/'), locale, id);
    },
    fail: (request, response, id, error) =>
      send(response, id, tools.failure(request, id, error), { 'x-content-type-options': 'nosniff' }),
    answered: (route, method, status, seconds) => options.onAnswer?.(route, method, status, seconds),
  };

  const fail = (error: unknown, request: FastifyRequest, reply: FastifyReply): void => {
    const envelope = request.routeOptions?.config?.endpoint?.envelope ?? envelopeOfPath(request.url);
    const shown = fromFramework(error);
    logFailure(request.log as Log, shown, { err: error, requestId: request.id, route: request.routeOptions?.url });
    const failure = toFailure(
      shown,
      envelope,
      pickLocale(request.headers['accept-language'], options.defaultLocale),
      request.id,
    );
    if (reply.raw.headersSent) {
      reply.raw.destroy();
      return;
    }
    void reply
      .status(failure.status)
      .headers(failure.headers)
      .header('content-type', failure.contentType)
      .header('x-request-id', request.id)
      .serializer(String)
      .send(failure.body);
  };

  fastify.decorateRequest('caller', undefined);
  fastify.decorateRequest('context', undefined);
  fastify.decorateRequest('uploads');
  fastify.decorateRequest('rawBytes', undefined);
  fastify.setErrorHandler((error, request, reply) => fail(error, request, reply));
  fastify.setNotFoundHandler((request, reply) => fail(new AppError('not_found'), request, reply));
  await fastify.register(cookie);
  await acceptMultipart(fastify);
  acceptBodies(fastify);

  fastify.addHook('onRequest', async (request, reply) => {
    reply.header('x-request-id', request.id);
    reply.header('x-content-type-options', 'nosniff');
    const ofPage = request.routeOptions.config.endpoint?.envelope === 'page';
    if (isCrossSite(request.method, request.headers, options.hosts, ofPage)) throw new AppError('cross_site');
  });
  fastify.addHook('onResponse', async (request, reply) => {
    const route = request.routeOptions.url ?? 'none';
    options.onAnswer?.(route, request.method, reply.statusCode, reply.elapsedTime / 1000);
    request.log.debug(
      {
        requestId: request.id,
        method: request.method,
        route,
        status: reply.statusCode,
        ms: Math.round(reply.elapsedTime),
      },
      'answered',
    );
  });

  const contextOf = (request: FastifyRequest): RequestContext =>
    (request.context ??= new RequestContext(request, {
      address: options.addressOf(request.raw),
      locale: pickLocale(request.headers['accept-language'], options.defaultLocale),
      log: options.log,
    }));

  return {
    fastify,
    routes: makeRoutes(fastify, { authenticator: options.authenticator, contextOf }),
    addFastLane: (lane) => void lanes.push(lane),
    tools,
    async listen(host, port) {
      await fastify.listen({ host, port });
      return fastify.server.address() as AddressInfo;
    },
    async close(graceMs) {
      const cut = setTimeout(() => server?.closeAllConnections(), Math.min(graceMs, THIRTY_MINUTES));
      await fastify.close();
      clearTimeout(cut);
    },
  };
}

/** Callers' own faults are no news; ours are, and so is what a failure has to say to the log alone. */
function logFailure(log: Log, error: unknown, where: object): void {
  const known = error instanceof AppError && error.code !== 'internal_error';
  if (known && error.options.log === undefined) return;
  log[known ? 'warn' : 'error']({ err: error, ...where, ...(known ? error.options.log : {}) }, 'request failed');
}

function checkEdge(request: IncomingMessage, hosts: readonly string[]): AppError | undefined {
  if (!isCleanTarget(request.url ?? '')) return new AppError('not_found');
  if (!isKnownHost(request.headers.host, hosts) || namesTwoHosts(request.rawHeaders))
    return new AppError('misdirected');
  return undefined;
}

const FRAMEWORK_CODES: Readonly<Record<string, () => AppError>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: () => new AppError('body_too_large', { params: { limit: 'this address takes' } }),
  FST_REQ_FILE_TOO_LARGE: () => new AppError('body_too_large', { params: { limit: '64 MB' } }),
  FST_PARTS_LIMIT: () => invalid('The body has too many parts.'),
  FST_FILES_LIMIT: () => invalid('The body has too many files.'),
  FST_FIELDS_LIMIT: () => invalid('The body has too many fields.'),
  FST_INVALID_MULTIPART_CONTENT_TYPE: () =>
    new AppError('unsupported_media_type', { params: { expected: 'application/json or multipart/form-data' } }),
  FST_ERR_CTP_INVALID_MEDIA_TYPE: () =>
    new AppError('unsupported_media_type', { params: { expected: 'application/json' } }),
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: () => invalid('Content-Length does not fit the body.'),
  FST_ERR_CTP_EMPTY_JSON_BODY: () => new AppError('invalid_json'),
  FST_ERR_BAD_URL: () => new AppError('not_found'),
  FST_ERR_MAX_PARAM_LENGTH: () => new AppError('not_found'),
};

/** Fastify's own failures in our codes; anything else stays what it is. */
function fromFramework(error: unknown): unknown {
  if (error instanceof AppError) return error;
  // A relayed body that broke before its first byte.
  if (error instanceof OutboundError) return new AppError('upstream_error', { log: { phase: error.phase } });
  const { code, statusCode } = error as Partial<FastifyError>;
  const known = code === undefined ? undefined : FRAMEWORK_CODES[code];
  if (known !== undefined) return known();
  if (statusCode !== undefined && statusCode >= 400 && statusCode < 500)
    return invalid('The request could not be read.');
  return error;
}
