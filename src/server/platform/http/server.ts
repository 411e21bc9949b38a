import { randomBytes } from 'node:crypto';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import cookie from '@fastify/cookie';
import type { FastifyBaseLogger, FastifyInstance, FastifyReply, FastifyRequest, FastifyServerFactory } from 'fastify';
import Fastify from 'fastify';
import { type Endpoint, envelopeOfPath, intendedPath } from '../../../contract/endpoint.ts';
import type { ErrorCode } from '../../../contract/error-codes.ts';
import type { Locale } from '../../../contract/messages/format-message.ts';
import { AppError, invalidRequest } from '../app-error.ts';
import type { Log } from '../log.ts';
import { NO_TRACING, type Tracing } from '../tracing/tracing.ts';
import {
  announcedLength,
  BodyAdmission,
  type JsonBody,
  JsonBodyReader,
  readMultipart,
  registerMultipart,
  type UploadedFile,
} from './body.ts';
import { type ErrorResponse, ErrorSender, toErrorResponse } from './error-responses.ts';
import {
  BODY_GRACE_MS,
  ConnectionLimits,
  CorsPolicy,
  hasForeignOrigin,
  hasMultipleHostHeaders,
  isCrossSite,
  isKnownHost,
  parseRequestTarget,
} from './guards.ts';
import { PortLifecycle, type RequestHandler } from './lifecycle.ts';
import {
  type Authenticator,
  bodyLimitOf,
  type Caller,
  negotiateLocale,
  RequestContext,
  RouteRegistry,
} from './route-registry.ts';

declare module 'fastify' {
  interface FastifyRequest {
    caller: Caller | undefined;
    context: RequestContext | undefined;
    uploads: readonly UploadedFile[];
    /** The JSON body as received. */
    rawBody: JsonBody | undefined;
    /** Whether a handler has started. */
    isHandled: boolean;
    /** Headers added by the handler's rules. */
    responseHeaders: Readonly<Record<string, string>> | undefined;
    rawResponse: ServerResponse;
  }
}

/** Dependencies and settings of the HTTP layer. */
export interface HttpOptions {
  readonly log: Log;
  readonly authenticator: Authenticator;
  readonly defaultLocale: Locale;
  /** The service's own URL: requests for other host names are refused, except loopback names. */
  readonly baseUrl: string;
  /** Origins whose pages may call the model API. */
  readonly corsOrigins: readonly string[];
  /** Connections that one IP address may have open; 0: unlimited. */
  readonly maxConnectionsPerIp: number;
  /** How long a body may take before its rate counts; default 15 seconds. */
  readonly bodyGraceMs?: number;
  /** The client's IP address; trusted proxies are skipped. */
  clientIpOf(request: IncomingMessage): string;
  isTrustedProxy(ip: string): boolean;
  /** Default: no tracing. */
  readonly tracing?: Tracing;
  /** Called after every response; used for metrics. */
  onResponse?(route: string, method: string, status: number, seconds: number): void;
  /** A port that may already be open; default: a new one. */
  readonly port?: PortLifecycle;
}

/** The HTTP layer. */
export interface HttpServer {
  readonly fastify: FastifyInstance;
  readonly routes: RouteRegistry;
  addFastPath(path: FastPath): void;
  readonly fastPathTools: FastPathTools;
  readonly bodyReader: JsonBodyReader;
  /**
   * Opens the port if necessary and starts serving requests.
   * @returns the address of the port
   */
  listen(host: string, port: number): Promise<AddressInfo>;
  /** Continues to serve, but closes every connection after its response. */
  drain(): void;
  /**
   * Closes the port, lets requests in flight finish for at most `graceMs`, then aborts them.
   * @param callsEnded resolves when no call is sent within the process any more, which closed routes would refuse
   */
  close(graceMs: number, callsEnded?: Promise<void>): Promise<void>;
}

/** Builds the HTTP layer: request guards, bodies, policies, envelopes. Modules add their routes to it. */
export async function createHttpServer(options: HttpOptions): Promise<HttpServer> {
  const errors = new ErrorSender(options);
  const cors = new CorsPolicy(options.corsOrigins);
  const hosts = [new URL(options.baseUrl).hostname.toLowerCase()];
  const crossesSites = (request: IncomingMessage, { policy, envelope }: Partial<Endpoint> = {}): boolean =>
    // Keys work without cookies, and pages of desktop programs and browser extensions send them in any header.
    policy !== 'model' &&
    (isCrossSite(request.method ?? 'GET', request.headers, hosts, envelope === 'page') ||
      (envelope === 'mcp' && hasForeignOrigin(request.headers, hosts))) &&
    !(cors.allows(request) && request.headers.cookie === undefined);
  const commonHeaders = options.baseUrl.startsWith('https:') ? { ...TRANSPORT_SECURITY, ...PRIVATE } : PRIVATE;
  const tools: FastPathTools = {
    newRequestId: () => toRequestId(undefined),
    requestIdOf: (request) => toRequestId(request.headers['x-request-id']),
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
      // Not `fastify.listen`: the port may already be open, and Fastify would answer 503 on it from the moment it
      // closes.
      await fastify.ready();
      port.serve(serve);
      return port.listen(host, portNumber);
    },
    drain: () => void port.drain(),
    async close(graceMs, callsEnded) {
      await Promise.all([port.close(graceMs), callsEnded]);
      await fastify.close();
    },
  };
}

function openFastify(options: HttpOptions, errors: ErrorSender, serverFactory: FastifyServerFactory): FastifyInstance {
  const fastify = Fastify({
    loggerInstance: options.log as FastifyBaseLogger,
    logController: new Fastify.LogController({ disableRequestLogging: true }),
    // One logger for all requests: a child logger costs more than most responses, and every line names its request
    // anyway.
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

/** Guards that run before every route, Fastify's and fast paths alike. */
function guardRequests(
  server: Server,
  options: HttpOptions,
  errors: ErrorSender,
  cors: CorsPolicy,
  hosts: readonly string[],
  setCommonHeaders: RequestHandler,
  handle: RequestHandler,
): RequestHandler {
  const guard = new ConnectionLimits({
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
 * Ends a response whose body was written, and then its connection, once enough of the request was received: a reset
 * would destroy the response for a peer that is still writing.
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

/** This machine: a reverse proxy or a program next to the service. */
const LOOPBACK_IP = /^(?:::ffff:)?127\.0\.0\.1$|^::1$/;
/** Paths where nearly everything belongs to one account; a handler whose response may be cached says so itself. */
const PRIVATE_PATH = /^\/(?:api|v\d(?:beta)?|oauth|mcp|kling|jimeng)(?:[/?]|$)/;

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
  crossesSites: (request: IncomingMessage, endpoint: Endpoint | undefined) => boolean,
): void {
  const allowedMethods = new AllowedMethods();
  fastify.addHook('onRoute', ({ method, url }) => allowedMethods.add(method, url));
  // The body of an unroutable request is not read, so that it cannot affect the response.
  const notFound = (request: FastifyRequest): AppError => {
    const methods = allowedMethods.of(request.url.split('?', 1)[0] ?? '');
    if (methods.length === 0 || methods.includes(request.method)) return notFoundAt(request.url);
    const allow = methods.join(', ');
    if (isWebSocketHandshake(request.raw)) return websocketRefusal(allow);
    return new AppError('method_not_allowed', { params: { method: request.method }, headers: { allow } });
  };
  // Without our own handler Fastify does not mark such requests, and sends its own response.
  fastify.setNotFoundHandler((request) => {
    throw notFound(request);
  });
  fastify.addHook('onRequest', async (request, reply) => {
    reply.header('x-request-id', request.id);
    reply.header('x-content-type-options', 'nosniff');
    if (request.is404) throw notFound(request);
    if (crossesSites(request.raw, request.routeOptions.config.endpoint)) throw new AppError('cross_site');
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

/** The queries of a task. The router does not match ids of more than 200 characters, which are missing tasks too. */
const TASK_PATH = /^\/(?:v1\/videos|v1\/video\/generations|kling\/v1\/videos\/(?:text|image)2video)\/[^/?]+(?:\?|$)/;

function notFoundAt(url: string): AppError {
  if (TASK_PATH.test(url)) return new AppError('task_not_exist', { message: 'task_not_exist' });
  const intended = intendedPath(url);
  if (intended === undefined) return new AppError('not_found');
  const [path = ''] = url.split('?', 1);
  return new AppError('not_found', { messageKey: 'base_url_wrong', params: { path, intended } });
}

/** Health checks address a process by its IP address, and their responses do not depend on the host name. */
const PROBE_PATH = /^\/(?:livez|readyz)(?:\?|$)/;

/** Checks a request, and also normalizes the target that all later code reads. */
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

/**
 * A handler called before Fastify, for the most frequent paths; returning false passes the request on. It runs after
 * the request guards, and handles everything else itself: credentials, body, envelope, the `x-request-id` header.
 */
type FastPath = (request: IncomingMessage, response: ServerResponse) => boolean;

/** Functions for responses outside of Fastify, so that these have the same format as all others. */
export interface FastPathTools {
  /** A new, unique id. */
  newRequestId(): string;
  /** The caller's own request id if it is harmless, otherwise a new one. */
  requestIdOf(request: IncomingMessage): string;
  /** The client's IP address; trusted proxies are skipped. */
  clientIpOf(request: IncomingMessage): string;
  /** Renders an error in the envelope of its path, and logs internal errors. */
  renderError(request: IncomingMessage, id: string, error: unknown): ErrorResponse;
  /** Headers of every response; Fastify adds them elsewhere. Setting headers together is faster than one by one. */
  readonly commonHeaders: Readonly<Record<string, string>>;
  /** Sends an error as the complete response. */
  sendError(request: IncomingMessage, response: ServerResponse, id: string, error: unknown): void;
  /** Records a response in the metrics. */
  recordRequest(route: string, method: string, status: number, seconds: number): void;
}

const EXPECTED_MEDIA_TYPES: Readonly<Record<NonNullable<Endpoint['accepts']>, string>> = {
  json: 'application/json',
  form: 'application/x-www-form-urlencoded',
  'json-or-multipart': 'application/json or multipart/form-data',
  upload: 'multipart/form-data',
  discard: '*/*',
};

/**
 * The body parsers. The contract decides which of them a route uses, not the sender's header: a form sent to a JSON
 * endpoint is refused, which also blocks cross-site forms.
 */
function registerBodyParsers(fastify: FastifyInstance, reader: JsonBodyReader, admission: BodyAdmission): void {
  fastify.removeContentTypeParser(['application/json', 'text/plain']);
  fastify.addContentTypeParser('application/json', async (request: FastifyRequest) => {
    const accepted = acceptedBodyOf(request);
    if (accepted === 'discard') return discardBody(request);
    if (accepted === 'form' || accepted === 'upload') throw unsupportedMediaType(request);
    const endpoint: Partial<Endpoint> = request.routeOptions.config.endpoint ?? {};
    const body = await reader.read(request.raw, {
      limit: endpoint.jsonBodyLimit ?? bodyLimitOf(endpoint),
      maxValues: endpoint.maxBodyValues,
      imageFields: endpoint.imageFields,
      budgetKey: budgetKeyOf(request),
      response: request.rawResponse,
    });
    request.rawBody = body;
    // For requests that reach no handler because the body violates its schema.
    request.rawResponse.once('close', () => !request.isHandled && body?.discard());
    return body?.value;
  });
  fastify.addContentTypeParser(
    'application/x-www-form-urlencoded',
    { parseAs: 'buffer' },
    (request, body: Buffer, done) => {
      if (acceptedBodyOf(request) !== 'form') return done(unsupportedMediaType(request));
      const form = parseForm(body.toString('utf8'));
      done(form instanceof AppError ? form : null, form);
    },
  );
  fastify.addContentTypeParser('*', async (request: FastifyRequest) => {
    if (acceptedBodyOf(request) !== 'discard') throw unsupportedMediaType(request);
    return discardBody(request);
  });
  fastify.addHook('preParsing', async (request, reply) => {
    request.rawResponse = reply.raw;
    const coding = acceptedBodyOf(request) === 'discard' ? undefined : request.headers['content-encoding'];
    if (coding !== undefined && coding.toLowerCase() !== 'identity')
      throw new AppError('unsupported_media_type', {
        params: { expected: `${EXPECTED_MEDIA_TYPES[acceptedBodyOf(request)]} without Content-Encoding` },
      });
  });
  fastify.addHook('preValidation', async (request) => {
    const accepted = acceptedBodyOf(request);
    if (!request.isMultipart()) {
      if (accepted === 'upload') throw unsupportedMediaType(request);
      return;
    }
    if (accepted === 'upload') return;
    if (accepted !== 'json-or-multipart') throw unsupportedMediaType(request);
    const bytes = announcedLength(request) ?? bodyLimitOf(request.routeOptions.config.endpoint ?? {});
    const { fields, files } = await admission.read(
      { source: request.raw, response: request.rawResponse, budgetKey: budgetKeyOf(request), bytes },
      () => readMultipart(request),
    );
    request.body = fields;
    request.uploads = files;
  });
}

/** Receives a body without keeping any of it. */
async function discardBody({ raw, routeOptions }: FastifyRequest): Promise<undefined> {
  let remaining = bodyLimitOf(routeOptions.config.endpoint ?? {});
  for await (const chunk of raw as AsyncIterable<Buffer>) {
    remaining -= chunk.length;
    if (remaining < 0) throw new AppError('body_too_large', { params: { limit: 'this address takes' } });
  }
}

const budgetKeyOf = ({ caller }: FastifyRequest): string => String(caller?.userId ?? '');

const acceptedBodyOf = (request: FastifyRequest): NonNullable<Endpoint['accepts']> =>
  request.routeOptions.config.endpoint?.accepts ?? 'json';

const unsupportedMediaType = (request: FastifyRequest): AppError =>
  new AppError('unsupported_media_type', { params: { expected: EXPECTED_MEDIA_TYPES[acceptedBodyOf(request)] } });

/** RFC 6749 section 3.2: a parameter sent twice is an error. */
function parseForm(text: string): Record<string, string> | AppError {
  const form: Record<string, string> = Object.create(null);
  for (const [name, value] of new URLSearchParams(text)) {
    if (Object.hasOwn(form, name)) return invalidRequest(`${name} is given twice.`, name);
    if (value.includes('\u0000') || !value.isWellFormed()) return new AppError('invalid_text');
    form[name] = value;
  }
  return { ...form };
}

/** By a header that proxies forward even if they drop `Upgrade`. */
const isWebSocketHandshake = ({ headers }: IncomingMessage): boolean => headers['sec-websocket-key'] !== undefined;

/**
 * Codex tries its requests over a WebSocket first. After 426 it sends them over HTTP at once; any other status it
 * takes for an outage, and tries again for seconds (RFC 9110 section 15.5.22, which requires the header `Upgrade`).
 */
const websocketRefusal = (allow: string): AppError =>
  new AppError('method_not_allowed', {
    status: 426,
    messageKey: 'no_websockets',
    headers: { allow, upgrade: 'HTTP/1.1', connection: 'upgrade, close' },
  });

/** The methods of each path, for 405 and its `Allow` header (RFC 9110 section 15.5.6). */
export class AllowedMethods {
  readonly #fixed = new Map<string, Set<string>>();
  readonly #patterns = new Map<string, { readonly form: RegExp; readonly methods: Set<string> }>();

  /** @param url as the router expects it: `/api/tokens/:id`, `/assets/*` */
  add(methods: string | readonly string[], url: string): void {
    // The page for unknown paths does not make GET an allowed method of all paths.
    if (url === '/*' || url === '*') return;
    const known = this.#methodsOf(url);
    for (const method of typeof methods === 'string' ? [methods] : methods) known.add(method);
  }

  /** Empty when no method serves the path. */
  of(path: string): readonly string[] {
    const found = new Set(this.#fixed.get(path));
    for (const { form, methods } of this.#patterns.values())
      if (form.test(path)) for (const method of methods) found.add(method);
    return [...found].sort();
  }

  #methodsOf(url: string): Set<string> {
    if (!/[:*]/.test(url)) {
      const known = this.#fixed.get(url) ?? new Set();
      this.#fixed.set(url, known);
      return known;
    }
    const known = this.#patterns.get(url) ?? { form: toForm(url), methods: new Set() };
    this.#patterns.set(url, known);
    return known.methods;
  }
}

function toForm(url: string): RegExp {
  const source = url
    .split('/')
    .map((part) => (part.startsWith(':') ? '[^/]+' : part === '*' ? '.*' : part.replace(/[.+?^${}()|[\]\\*]/g, '\\$&')))
    .join('/');
  return new RegExp(`^${source}$`);
}

const SAFE_REQUEST_ID = /^[A-Za-z0-9_-]{1,64}$/;

// A random prefix per process plus a counter: unique, and a hundred times cheaper than fresh random bytes on hot paths.
const processPrefix = randomBytes(9).toString('base64url');
let count = 0;

/** The caller's own request id if it is harmless in a log line, otherwise a new one. */
function toRequestId(header: string | string[] | undefined): string {
  if (typeof header === 'string' && SAFE_REQUEST_ID.test(header)) return header;
  count += 1;
  return `${processPrefix}${count.toString(36)}`;
}

/** Handles a request inside its own span, which continues the caller's trace. Costs nothing when tracing is off. */
export function traceRequest(
  tracing: Tracing,
  request: IncomingMessage,
  response: ServerResponse,
  handle: () => void,
): void {
  const { method = 'GET', headers } = request;
  const span = tracing.start({ name: method, kind: 'server', parent: headers.traceparent as string | undefined });
  if (span === undefined) {
    handle();
    return;
  }
  const [target = '', query] = (request.url ?? '').split('?', 2);
  // The token of a share link grants access to the video.
  const path = target.replace(/^\/s\/[^/]+/, '/s/{token}');
  // The query is omitted because it may contain a key.
  span.set({
    'http.request.method': method,
    'url.path': path,
    ...(query === undefined ? {} : { 'url.query': 'REDACTED' }),
  });
  span.rename(`${method} ${firstSegments(path)}`);
  response.once('close', () => {
    span.set({ 'http.response.status_code': response.statusCode });
    span.end(response.statusCode >= 500 ? String(response.statusCode) : undefined);
  });
  tracing.run(span, handle);
}

/** Distinguishes endpoints without ids, because span names must have few values. */
const firstSegments = (path: string): string =>
  path
    .split('/')
    .slice(0, 4)
    .map((segment) => (/\d|[A-Z_]{2}|.{25}/.test(segment) && !/^v\d/.test(segment) ? '{id}' : segment))
    .join('/');

/** Node's codes for requests that never reach a handler; all others the parser rejects are malformed. */
const CODES: Readonly<Record<string, ErrorCode>> = {
  HPE_HEADER_OVERFLOW: 'header_too_large',
  ERR_HTTP_REQUEST_TIMEOUT: 'request_timeout',
};
const REASONS: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  408: 'Request Timeout',
  431: 'Request Header Fields Too Large',
};
const REQUEST_LINE = /^[A-Z]{1,20} (\/[^ ?#\r\n]{0,2000})/;

interface ParserError extends Error {
  readonly code?: string;
  /** The bytes last passed to the parser, a Buffer. */
  readonly rawPacket?: unknown;
}

/** Sockets whose request was rejected, with the number of bytes they had received by then. */
const refused = new WeakMap<Socket, number>();

/** Longest time for which input is received and dropped after an early refusal. */
const LINGER_MS = 1_000;
const LINGER_BYTES = 1024 * 1024;

/**
 * Answers a request the HTTP parser rejected like other errors: in the envelope of its path, if that was received, with
 * a request id. The connection is closed, because the start of the next request cannot be determined.
 */
function sendParserError(error: ParserError, socket: Socket, locale: Locale): { id: string; code: ErrorCode } {
  const code = CODES[error.code ?? ''] ?? 'malformed_request';
  const id = toRequestId(undefined);
  // The parser fails again on all further input.
  const refusedAt = refused.get(socket);
  if (refusedAt !== undefined) {
    if (socket.bytesRead - refusedAt > LINGER_BYTES) socket.destroy();
    return { id, code };
  }
  refused.set(socket, socket.bytesRead);
  if (socket.writable && !isAnswering(socket)) {
    const path =
      REQUEST_LINE.exec(Buffer.isBuffer(error.rawPacket) ? error.rawPacket.toString('latin1') : '')?.[1] ?? '/';
    const { status, headers, contentType, body } = toErrorResponse(
      new AppError(code),
      envelopeOfPath(path),
      locale,
      id,
    );
    const lines = Object.entries({
      ...headers,
      'content-type': contentType,
      'content-length': String(Buffer.byteLength(body)),
      'x-content-type-options': 'nosniff',
      'x-request-id': id,
      connection: 'close',
    }).map(([name, value]) => `${name}: ${value}\r\n`);
    socket.end(`HTTP/1.1 ${status} ${REASONS[status] ?? ''}\r\n${lines.join('')}\r\n${body}`);
  }
  // A reset would destroy the response for a peer that is still writing.
  if (socket.writableEnded) setTimeout(() => socket.destroy(), LINGER_MS).unref();
  else socket.destroySoon();
  return { id, code };
}

/** Whether a response is being sent on the connection; bytes of another one would corrupt it. */
const isAnswering = (socket: Socket): boolean =>
  (socket as Socket & { readonly _httpMessage?: { readonly headersSent: boolean } })._httpMessage?.headersSent === true;
