import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import cookie from '@fastify/cookie';
import Fastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  type FastifyServerFactory,
} from 'fastify';
import { lacksVersion } from '../../../contract/endpoint.ts';
import type { Locale } from '../../../contract/localized-messages/format-message.ts';
import { AppError } from '../app-error.ts';
import type { Log } from '../log.ts';
import { negotiateLocale } from '../negotiate-locale.ts';
import { NO_TRACING, type Tracing } from '../tracing/tracing-types.ts';
import { AllowedMethods } from './allowed-methods.ts';
import { BodyAdmission } from './body-admission.ts';
import { registerBodyParsers } from './body-parsers.ts';
import type { Authenticator, Caller } from './caller-and-authenticator-types.ts';
import { BODY_GRACE_MS, ConnectionAndSlowBodyLimits } from './connection-count-and-slow-body-limits.ts';
import { CorsPolicy } from './cors.ts';
import { ErrorSender } from './error-sender.ts';
import type { FastPath, FastPathTools } from './fast-path-types.ts';
import { RequestContext } from './handler-request-context.ts';
import type { RequestHandler } from './hold-requests-during-start.ts';
import { LINGER_BYTES, LINGER_MS, sendParserError } from './http-parser-error-response.ts';
import { type JsonBody, JsonBodyReader } from './json-body-reader.ts';
import { registerMultipart, type UploadedFile } from './multipart.ts';
import { PortLifecycle } from './port-lifecycle.ts';
import { toRequestId } from './request-id.ts';
import { traceRequest } from './request-span.ts';
import {
  hasMultipleHostHeaders,
  isCrossSite,
  isKnownHost,
  parseRequestTarget,
} from './request-target-host-and-origin-checks.ts';
import { RouteRegistry } from './route-registry.ts';

declare module 'fastify' {
  interface FastifyRequest {
    caller: Caller | undefined;
    context: RequestContext | undefined;
    uploads: readonly UploadedFile[];
    /** A JSON body as it came. */
    rawBody: JsonBody | undefined;
    /** A handler has begun. */
    isHandled: boolean;
    /** What a handler's rules add to its response. */
    responseHeaders: Readonly<Record<string, string>> | undefined;
    rawResponse: ServerResponse;
  }
}

export interface HttpOptions {
  readonly log: Log;
  readonly authenticator: Authenticator;
  readonly defaultLocale: Locale;
  /** The service's own URL: requests for other host names are refused, except loopback names. */
  readonly baseUrl: string;
  /** Origins whose pages may call the model API. */
  readonly corsOrigins: readonly string[];
  /** Connections one IP address may hold; 0: any number. */
  readonly maxConnectionsPerIp: number;
  /** How long a body may take before its rate counts; default 15 seconds. */
  readonly bodyGraceMs?: number;
  /** The client's IP address; trusted proxies are skipped. */
  clientIpOf(request: IncomingMessage): string;
  isTrustedProxy(ip: string): boolean;
  /** Default: no traces. */
  readonly tracing?: Tracing | undefined;
  /** Called after every response; for the metrics. */
  onResponse?(route: string, method: string, status: number, seconds: number): void;
  /** A port that may be open already; default: a new one. */
  readonly port?: PortLifecycle | undefined;
}

export interface HttpServer {
  readonly fastify: FastifyInstance;
  readonly routes: RouteRegistry;
  addFastPath(path: FastPath): void;
  readonly fastPathTools: FastPathTools;
  readonly bodyReader: JsonBodyReader;
  /** Opens the port if it is not open yet, serves requests on it, and returns its address. */
  listen(host: string, port: number): Promise<AddressInfo>;
  /** Goes on serving; every response ends its connection. */
  drain(): void;
  /** Closes the port, lets requests in progress finish for at most `graceMs`, then aborts them. */
  close(graceMs: number): Promise<void>;
}

/** Builds the HTTP layer: request guards, bodies, policies, envelopes. Capabilities add their routes to it. */
export async function createHttpServer(options: HttpOptions): Promise<HttpServer> {
  const errors = new ErrorSender(options);
  const cors = new CorsPolicy(options.corsOrigins);
  const hosts = [new URL(options.baseUrl).hostname.toLowerCase()];
  const crossesSites = (request: IncomingMessage, isPage = false): boolean =>
    isCrossSite(request.method ?? 'GET', request.headers, hosts, isPage) &&
    !(cors.allows(request) && request.headers.cookie === undefined);
  const commonHeaders = options.baseUrl.startsWith('https:') ? { ...TRANSPORT_SECURITY, ...PRIVATE } : PRIVATE;
  const tools: FastPathTools = {
    newRequestId: () => toRequestId(undefined),
    requestIdOf: (request) => toRequestId(request.headers['x-request-id']),
    isCrossSite: (request) => crossesSites(request),
    clientIpOf: (request) => options.clientIpOf(request),
    renderError: (request, id, error) => errors.render(request, id, error),
    sendError: (request, response, id, error) => errors.send(request, response, id, error, commonHeaders),
    commonHeaders,
    recordRequest: (route, method, status, seconds) => options.onResponse?.(route, method, status, seconds),
  };
  const fastPaths: FastPath[] = [];
  const port = options.port ?? new PortLifecycle();
  let serve: RequestHandler = () => {};
  const fastify = openFastify(options, errors, (handler) => {
    const isHttps = options.baseUrl.startsWith('https:');
    const setCommonHeaders: RequestHandler = (request, response) => {
      if (isHttps) setHeaders(response, TRANSPORT_SECURITY);
      if (PRIVATE_PATH.test(request.url ?? '')) setHeaders(response, PRIVATE);
    };
    serve = guardRequests(port.server, options, errors, cors, hosts, setCommonHeaders, (request, response) =>
      traceRequest(options.tracing ?? NO_TRACING, request, response, () => {
        for (const path of fastPaths) if (path(request, response)) return;
        setCommonHeaders(request, response);
        handler(request, response);
      }),
    );
    return port.server;
  });
  const admission = new BodyAdmission();
  const bodyReader = new JsonBodyReader(admission);
  await registerPlugins(fastify, bodyReader, admission);
  registerHooks(fastify, options, crossesSites);

  const contextOf = (request: FastifyRequest): RequestContext =>
    (request.context ??= new RequestContext(request, {
      clientIp: options.clientIpOf(request.raw),
      locale: negotiateLocale(request.headers['accept-language'], options.defaultLocale),
      log: options.log,
    }));
  return {
    fastify,
    routes: new RouteRegistry(fastify, { authenticator: options.authenticator, contextOf }),
    addFastPath: (path) => void fastPaths.push(path),
    fastPathTools: tools,
    bodyReader,
    async listen(host, portNumber) {
      // Not `fastify.listen`: the port may be open already, and Fastify would answer 503 on it from the moment it closes.
      await fastify.ready();
      port.serve(serve);
      return port.listen(host, portNumber);
    },
    drain: () => void port.drain(),
    async close(graceMs) {
      await port.close(graceMs);
      await fastify.close();
    },
  };
}

function openFastify(options: HttpOptions, errors: ErrorSender, serverFactory: FastifyServerFactory): FastifyInstance {
  const fastify = Fastify({
    loggerInstance: options.log as FastifyBaseLogger,
    logController: new Fastify.LogController({ disableRequestLogging: true }),
    // One logger for all requests: a child each costs more than most responses, and every line names its request anyway.
    childLoggerFactory: (logger) => logger,
    genReqId: (request) => toRequestId(request.headers['x-request-id']),
    requestIdHeader: false,
    bodyLimit: 64 * 1024,
    routerOptions: { maxParamLength: 200, ignoreTrailingSlash: false, caseSensitive: true },
    frameworkErrors: (error, request, reply) => errors.reply(error, request as FastifyRequest, reply as FastifyReply),
    clientErrorHandler: (error, socket) => {
      const { id, code } = sendParserError(error, socket, options.defaultLocale);
      options.log.debug({ requestId: id, code, err: error }, 'request rejected by the HTTP parser');
    },
    serverFactory,
  });
  fastify.setErrorHandler((error, request, reply) => errors.reply(error, request, reply));
  return fastify as FastifyInstance;
}

/** What comes before every path, Fastify's and the fast ones alike. */
function guardRequests(
  server: Server,
  options: HttpOptions,
  errors: ErrorSender,
  cors: CorsPolicy,
  hosts: readonly string[],
  setCommonHeaders: RequestHandler,
  handle: RequestHandler,
): RequestHandler {
  const guard = new ConnectionAndSlowBodyLimits({
    maxPerIp: options.maxConnectionsPerIp,
    bodyGraceMs: options.bodyGraceMs ?? BODY_GRACE_MS,
    isExempt: (ip) => LOOPBACK_IP.test(ip) || options.isTrustedProxy(ip),
    onSlowBody(request, response) {
      if (response.headersSent) return void request.destroy();
      const id = toRequestId(request.headers['x-request-id']);
      setCommonHeaders(request, response);
      errors.send(request, response, id, new AppError('request_timeout'), { connection: 'close' });
      response.once('finish', () => request.destroy());
    },
  });
  guard.attach(server);
  return (request, response) => {
    guard.onRequest(request, response);
    const rejection = checkRequestGuards(request, hosts);
    if (rejection !== undefined) {
      setCommonHeaders(request, response);
      const id = toRequestId(request.headers['x-request-id']);
      errors.send(request, response, id, rejection, { connection: 'close' }, () => endAfterRequest(request, response));
      return;
    }
    if (!cors.handle(request, response, setCommonHeaders)) handle(request, response);
  };
}

/**
 * Ends a response whose body was written, and with it the connection, once the request was received, or enough of it: a peer that still
 * writes would lose the response to a reset.
 */
function endAfterRequest(request: IncomingMessage, response: ServerResponse): void {
  let received = 0;
  const end = (): void => {
    clearTimeout(timer);
    request.off('data', count);
    response.end();
  };
  const count = (chunk: Buffer): void => {
    received += chunk.length;
    if (received > LINGER_BYTES) end();
  };
  const timer = setTimeout(end, LINGER_MS);
  request.on('data', count).once('end', end).once('close', end);
}

/** RFC 6797: one year, for this host alone. */
const TRANSPORT_SECURITY = { 'strict-transport-security': 'max-age=31536000' };
const PRIVATE = { 'cache-control': 'no-store' };

function setHeaders(response: ServerResponse, headers: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
}

/** This machine: a reverse proxy beside the service, or a program of its own. */
const LOOPBACK_IP = /^(?:::ffff:)?127\.0\.0\.1$|^::1$/;
/** Where nearly everything belongs to one account; a handler whose response may be kept says so. */
const PRIVATE_PATH = /^\/(?:api|v\d(?:beta)?|oauth|kling|jimeng)(?:[/?]|$)/;

async function registerPlugins(
  fastify: FastifyInstance,
  bodyReader: JsonBodyReader,
  admission: BodyAdmission,
): Promise<void> {
  fastify.decorateRequest('caller', undefined);
  fastify.decorateRequest('context', undefined);
  fastify.decorateRequest('uploads');
  fastify.decorateRequest('rawBody', undefined);
  fastify.decorateRequest('isHandled', false);
  fastify.decorateRequest('responseHeaders', undefined);
  fastify.decorateRequest('rawResponse');
  await fastify.register(cookie);
  await registerMultipart(fastify);
  registerBodyParsers(fastify, bodyReader, admission);
}

function registerHooks(
  fastify: FastifyInstance,
  options: HttpOptions,
  crossesSites: (request: IncomingMessage, isPage: boolean) => boolean,
): void {
  const allowedMethods = new AllowedMethods();
  fastify.addHook('onRoute', ({ method, url }) => allowedMethods.add(method, url));
  // Nothing is read of a request that goes nowhere, so that its body cannot change the response.
  const notFound = (request: FastifyRequest): AppError => {
    const methods = allowedMethods.of(request.url.split('?', 1)[0] ?? '');
    return methods.length === 0 || methods.includes(request.method)
      ? notFoundAt(request.url)
      : new AppError('method_not_allowed', {
          params: { method: request.method },
          headers: { allow: methods.join(', ') },
        });
  };
  // Without a handler of our own Fastify does not mark such requests, and sends its own response.
  fastify.setNotFoundHandler((request) => {
    throw notFound(request);
  });
  fastify.addHook('onRequest', async (request, reply) => {
    reply.header('x-request-id', request.id);
    reply.header('x-content-type-options', 'nosniff');
    if (request.is404) throw notFound(request);
    const isPage = request.routeOptions.config.endpoint?.envelope === 'page';
    if (crossesSites(request.raw, isPage)) throw new AppError('cross_site');
  });
  fastify.addHook('onResponse', async (request, reply) => {
    const route = request.routeOptions.url ?? 'none';
    const { method } = request;
    options.onResponse?.(route, method, reply.statusCode, reply.elapsedTime / 1000);
    request.log.debug(
      { requestId: request.id, method, route, status: reply.statusCode, ms: Math.round(reply.elapsedTime) },
      'request served',
    );
  });
}

const notFoundAt = (url: string): AppError =>
  new AppError(
    'not_found',
    lacksVersion(url) ? { messageKey: 'url_without_version', params: { path: url.split('?', 1)[0] ?? '' } } : {},
  );

/** Health checks address a process by its IP address; what they answer depends on no host name. */
const PROBE_PATH = /^\/(?:livez|readyz)(?:\?|$)/;

/** Also brings the target into the spelling of the routes, which all that follows reads. */
function checkRequestGuards(request: IncomingMessage, hosts: readonly string[]): AppError | undefined {
  const target = parseRequestTarget(request.url ?? '');
  if (target === undefined) return new AppError('not_found');
  request.url = target.url;
  if (target.host !== undefined) request.headers.host = target.host;
  if (PROBE_PATH.test(request.url ?? '')) return undefined;
  if (!isKnownHost(request.headers.host, hosts) || hasMultipleHostHeaders(request.rawHeaders))
    return new AppError('misdirected');
  return undefined;
}
