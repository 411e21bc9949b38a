import type { IncomingMessage, ServerResponse } from 'node:http';
import type { RequestHandler } from './hold-requests-during-start.ts';

/** Paths that programs of other origins may call with their own key. */
const SHARED_PATH = /^\/v1(?:beta)?(?:\/|$|\?)/;
const ALLOWED_METHODS = 'GET, HEAD, POST, PUT, DELETE';
/** What browsers hide from scripts unless it is named. */
const EXPOSED_HEADERS = 'x-request-id, retry-after, content-disposition, content-range, deprecation, sunset';
const HEADER_NAMES = /^[A-Za-z0-9-]{1,64}(?:, ?[A-Za-z0-9-]{1,64}){0,31}$/;
const PREFLIGHT_SECONDS = '600';

/**
 * Lets web pages of the configured origins call the model API (Fetch standard, CORS protocol). Never with cookies: a page
 * brings a key of its own, so that what it may do follows from that key alone.
 */
export class CorsPolicy {
  readonly #origins: ReadonlySet<string>;
  readonly #anyOrigin: boolean;

  /** @param origins `https://app.example`, or `*` for all; empty switches CORS off */
  constructor(origins: readonly string[]) {
    this.#origins = new Set(origins);
    this.#anyOrigin = this.#origins.has('*');
  }

  /** Whether the request comes from a page that may read the response. */
  allows({ url = '', headers: { origin } }: IncomingMessage): boolean {
    if (origin === undefined || this.#origins.size === 0 || !SHARED_PATH.test(url)) return false;
    return this.#anyOrigin || this.#origins.has(origin);
  }

  /**
   * Adds the headers that let a page read the response, whoever writes it.
   *
   * @param beforeResponse called where this sends the response itself
   * @returns true when the request was a preflight and the response has been sent
   */
  handle(request: IncomingMessage, response: ServerResponse, beforeResponse: RequestHandler = () => {}): boolean {
    if (this.#origins.size === 0 || !SHARED_PATH.test(request.url ?? '')) return false;
    // What is cached for one origin must not be served to another.
    if (!this.#anyOrigin) response.setHeader('vary', 'Origin');
    if (!this.allows(request)) return false;
    response.setHeader('access-control-allow-origin', this.#anyOrigin ? '*' : (request.headers.origin ?? ''));
    response.setHeader('access-control-expose-headers', EXPOSED_HEADERS);
    if (request.method !== 'OPTIONS' || request.headers['access-control-request-method'] === undefined) return false;
    beforeResponse(request, response);
    const wanted = request.headers['access-control-request-headers'];
    response.writeHead(204, {
      'access-control-allow-methods': ALLOWED_METHODS,
      ...(wanted !== undefined && HEADER_NAMES.test(wanted) && { 'access-control-allow-headers': wanted }),
      'access-control-max-age': PREFLIGHT_SECONDS,
      'content-length': '0',
    });
    response.end();
    return true;
  }
}
