import type { IncomingHttpHeaders, IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { defined } from '../../../contract/objects.ts';
import { toIpLimitKey } from '../client-ip.ts';
import { KeyedCounter } from '../concurrency.ts';
import { CollectedRequest } from './body.ts';
import type { RequestHandler } from './lifecycle.ts';

/**
 * Whether a request target is in canonical form. Doubled slashes, dot segments, encoded separators and control
 * characters serve to bypass checks, so later rules never see them.
 */
export function isCanonicalRequestTarget(target: string): boolean {
  const query = target.indexOf('?');
  const path = query === -1 ? target : target.slice(0, query);
  return path.startsWith('/') && target.length <= 8192 && !/\/\/|%2f|%5c|%00|\\|\/\.{1,2}(?:\/|$)|%2e/i.test(path);
}

const ABSOLUTE_FORM = /^https?:\/\/([^/?#]+)(\/[^#]*)?$/i;
/**
 * A model API path with the usual mistakes in base URLs: doubled slashes, several versions of which the last counts, a
 * trailing slash.
 */
const VERSIONED_PATH = /^\/+(?:v\d+(?:beta)?\/+)*(v\d+(?:beta)?)(\/[^?]*?)?\/*(\?.*)?$/;
/** Models in paths; their ids may contain slashes, plain or encoded. */
const MODEL_PATH = /^(\/(?:v\d+(?:beta)?|api\/admin)\/models\/)([^?]+)(.*)$/;

interface RequestTarget {
  /** In origin form, with the path spelled like the routes. */
  readonly url: string;
  /** The authority of a target in absolute form, which overrides `Host` (RFC 9112 section 3.2.2). */
  readonly host: string | undefined;
}

/** The address of the Model Context Protocol as many programs store it. */
const MCP_WITH_SLASH = /^\/mcp\/+(?=\?|$)/;

/**
 * Parses the target of a request before any rule sees it; undefined when its form is refused. Model APIs and MCP are
 * called with URLs typed by people, so their paths are parsed leniently, all others strictly.
 */
export function parseRequestTarget(target: string): RequestTarget | undefined {
  const [, host, path = '/'] = (target.startsWith('/') ? null : ABSOLUTE_FORM.exec(target)) ?? [];
  const origin = host === undefined ? target : path;
  const [, version, rest = '', query = ''] = VERSIONED_PATH.exec(origin) ?? [];
  const url =
    version === undefined
      ? origin.replace(MCP_WITH_SLASH, '/mcp')
      : `/${version}${rest.replace(/\/{2,}/g, '/')}${query}`;
  const [, models, id = '', more] = MODEL_PATH.exec(url) ?? [];
  if (models === undefined) return isCanonicalRequestTarget(url) ? { url, host } : undefined;
  const plain = id.replace(/%2f/gi, '/');
  if (!isCanonicalRequestTarget(`${models}${plain}${more}`)) return undefined;
  return { url: `${models}${plain.replaceAll('/', '%2F')}${more}`, host };
}

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/i;

const hostName = (host: string): string => host.replace(/:\d{1,5}$/, '').toLowerCase();

/** Links are built from BASE_URL only; a request for another host name is misdirected or forged. */
export function isKnownHost(host: string | undefined, hosts: readonly string[]): boolean {
  if (host === undefined || hosts.includes(host) || LOOPBACK.test(host)) return true;
  const name = hostName(host);
  return LOOPBACK.test(name) || hosts.includes(name);
}

/**
 * Whether there are several `Host` headers: Node uses the first, but a proxy may have used the last (RFC 9112 section
 * 3.2).
 * @param rawHeaders names and values in turn
 */
export function hasMultipleHostHeaders(rawHeaders: readonly string[]): boolean {
  let hosts = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at];
    if (name?.length === 4 && name.toLowerCase() === 'host') hosts++;
  }
  return hosts > 1;
}

const SAFE_METHODS = new Set(['GET', 'HEAD', 'OPTIONS']);

/**
 * Refuses unsafe requests from other sites, judged by fetch metadata or, in browsers without it, by Origin.
 * @param ofPage the request goes to a page of ours: those are sent with `no-referrer`, so a browser without fetch
 * metadata posts their forms with `Origin: null`; each such form carries its own anti-forgery value
 */
export function isCrossSite(
  method: string,
  headers: IncomingHttpHeaders,
  hosts: readonly string[],
  ofPage = false,
): boolean {
  if (SAFE_METHODS.has(method)) return false;
  const site = headers['sec-fetch-site'];
  // A program with a bearer token is not a browser with a cookie.
  if (headers.authorization !== undefined && headers.cookie === undefined) return false;
  if (site !== undefined) return site !== 'same-origin' && site !== 'none';
  if (ofPage && headers.origin === 'null') return false;
  return hasForeignOrigin(headers, hosts);
}

/** Whether a page of another host sent the request. */
export function hasForeignOrigin({ origin }: IncomingHttpHeaders, hosts: readonly string[]): boolean {
  return origin !== undefined && (!URL.canParse(origin) || !isKnownHost(new URL(origin).host, hosts));
}

/** Time that every body may take, regardless of its size. */
export const BODY_GRACE_MS = 15_000;
/** Checks for slow bodies per grace period. */
export const CHECKS_PER_GRACE = 3;
/** After the grace period a body must arrive at this average rate, that of a slow mobile connection. */
const MIN_BODY_BYTES_PER_MS = 8;

interface ConnectionLimitsOptions {
  /** Connections that one IP address (an IPv6 /64) may have open; 0: unlimited. */
  readonly maxPerIp: number;
  /** IP addresses with unlimited connections: trusted proxies and this machine itself. */
  isExempt(ip: string): boolean;
  readonly bodyGraceMs: number;
  /** Ends a request whose body arrives too slowly. */
  onSlowBody(request: IncomingMessage, response: ServerResponse): void;
}

interface Connection {
  key: string | undefined;
  /** The request whose body may still be incomplete. */
  request: IncomingMessage | undefined;
  response: ServerResponse | undefined;
  startedAt: number;
  bytesBefore: number;
}

/**
 * Keeps one client from occupying the service's sockets: limits connections per IP address and ends bodies that arrive
 * slowly. One timer checks all connections, so that no request needs its own.
 */
export class ConnectionLimits {
  readonly #options: ConnectionLimitsOptions;
  readonly #connections = new Map<Socket, Connection>();
  readonly #perIp = new KeyedCounter<string>();
  #timer: NodeJS.Timeout | undefined;

  constructor(options: ConnectionLimitsOptions) {
    this.#options = options;
  }

  attach(server: Server): void {
    server.on('connection', (socket: Socket) => this.#add(socket));
    server.on('close', () => clearInterval(this.#timer));
    const { bodyGraceMs } = this.#options;
    this.#timer = setInterval(() => this.endSlowBodies(performance.now()), bodyGraceMs / CHECKS_PER_GRACE).unref();
  }

  /** Must be called for every request, before its body is read. */
  onRequest(request: IncomingMessage, response: ServerResponse): void {
    const connection = this.#connections.get(request.socket);
    if (connection === undefined) return;
    const { 'content-length': length, 'transfer-encoding': coding } = request.headers;
    if (coding === undefined && (length === undefined || length === '0')) {
      connection.request = undefined;
      connection.response = undefined;
      return;
    }
    connection.request = request;
    connection.response = response;
    connection.startedAt = performance.now();
    connection.bytesBefore = request.socket.bytesRead;
  }

  #add(socket: Socket): void {
    const { maxPerIp, isExempt } = this.#options;
    const ip = socket.remoteAddress ?? '';
    const key = maxPerIp === 0 || isExempt(ip) ? undefined : toIpLimitKey(ip);
    if (key !== undefined && this.#perIp.of(key) >= maxPerIp) {
      socket.destroy();
      return;
    }
    if (key !== undefined) this.#perIp.add(key, 1);
    this.#connections.set(socket, { key, request: undefined, response: undefined, startedAt: 0, bytesBefore: 0 });
    socket.once('close', () => this.#remove(socket));
  }

  #remove(socket: Socket): void {
    const key = this.#connections.get(socket)?.key;
    this.#connections.delete(socket);
    if (key !== undefined) this.#perIp.add(key, -1);
  }

  /**
   * Ends the bodies that are too slow by now, in ms of `performance.now()`. `attach` schedules a call every few
   * seconds.
   */
  endSlowBodies(now: number): void {
    for (const [socket, connection] of this.#connections) {
      const { request, response, startedAt, bytesBefore } = connection;
      if (request === undefined || response === undefined) continue;
      if (request.complete) {
        connection.request = undefined;
        connection.response = undefined;
        continue;
      }
      const allowedMs = this.#options.bodyGraceMs + (socket.bytesRead - bytesBefore) / MIN_BODY_BYTES_PER_MS;
      // The sender is not to blame while the body is not being read because other bodies are.
      if (now - startedAt > allowedMs && isBeingRead(request)) this.#options.onSlowBody(request, response);
    }
  }
}

const isBeingRead = (request: IncomingMessage): boolean =>
  request.readableFlowing === true || (request instanceof CollectedRequest && request.isCollected);

/** Paths that programs of other origins may call with their own key. */
const SHARED_PATH = /^\/(?:v1(?:beta)?|mcp)(?:\/|$|\?)/;
/**
 * Endpoints of OAuth that applications in browsers call: any page may, since cookies have no effect there. The
 * authorization endpoint is not one of them (RFC 9700 section 2.6).
 */
const OAUTH_PATH =
  /^\/(?:oauth\/(?:token|revoke)|\.well-known\/(?:oauth-authorization-server|openid-configuration|oauth-protected-resource(?:\/mcp)?))(?:$|\?)/;
const ALLOWED_METHODS = 'GET, HEAD, POST, PUT, DELETE';
/** Response headers that browsers hide from scripts by default. */
const EXPOSED_HEADERS =
  'x-request-id, retry-after, content-disposition, content-range, deprecation, sunset, mcp-session-id, www-authenticate';
const HEADER_NAMES = /^[A-Za-z0-9-]{1,64}(?:, ?[A-Za-z0-9-]{1,64}){0,31}$/;
const PREFLIGHT_SECONDS = '600';

/**
 * Lets web pages of the configured origins call the model API, and those of any origin obtain tokens for it (Fetch
 * standard, CORS protocol). Never with cookies: a page brings its own key or code, which alone determines its
 * permissions.
 */
export class CorsPolicy {
  readonly #origins: ReadonlySet<string>;
  readonly #anyOrigin: boolean;

  /** @param origins `https://app.example`, or `*` for all; empty disables CORS for the model API */
  constructor(origins: readonly string[]) {
    this.#origins = new Set(origins);
    this.#anyOrigin = this.#origins.has('*');
  }

  /** Whether the request comes from a page that may read the response. */
  allows({ url = '', headers: { origin } }: IncomingMessage): boolean {
    if (origin === undefined) return false;
    if (OAUTH_PATH.test(url)) return true;
    if (this.#origins.size === 0 || !SHARED_PATH.test(url)) return false;
    return this.#anyOrigin || this.#origins.has(origin);
  }

  /**
   * Adds the headers that let a page read the response, whichever code writes that.
   * @param beforeResponse called before this method sends a response itself
   * @returns true when the request was a preflight and the response has been sent
   */
  handle(request: IncomingMessage, response: ServerResponse, beforeResponse: RequestHandler = () => {}): boolean {
    const { url = '', headers } = request;
    const isOpen = this.#anyOrigin || OAUTH_PATH.test(url);
    // A response cached for one origin must not be served to another.
    if (!isOpen && this.#origins.size > 0 && SHARED_PATH.test(url)) response.setHeader('vary', 'Origin');
    if (!this.allows(request)) return false;
    response.setHeader('access-control-allow-origin', isOpen ? '*' : (headers.origin ?? ''));
    response.setHeader('access-control-expose-headers', EXPOSED_HEADERS);
    if (request.method !== 'OPTIONS' || headers['access-control-request-method'] === undefined) return false;
    beforeResponse(request, response);
    const wanted = headers['access-control-request-headers'];
    response.writeHead(204, {
      'access-control-allow-methods': ALLOWED_METHODS,
      ...defined({ 'access-control-allow-headers': HEADER_NAMES.test(wanted ?? '') ? wanted : undefined }),
      'access-control-max-age': PREFLIGHT_SECONDS,
      'content-length': '0',
    });
    response.end();
    return true;
  }
}
