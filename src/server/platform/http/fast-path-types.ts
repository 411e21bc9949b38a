import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ErrorResponse } from './error-responses.ts';

/**
 * A handler called before Fastify, for the most frequent paths; false passes the request on. It runs after the request
 * guards, and does everything else itself: credentials, body, envelope, the `x-request-id` header.
 */
export type FastPath = (request: IncomingMessage, response: ServerResponse) => boolean;

/** Functions for responses outside of Fastify, so that these have the same format as all others. */
export interface FastPathTools {
  /** An id that was never given before. */
  newRequestId(): string;
  /** The caller's own request id where it is harmless, else a new one. */
  requestIdOf(request: IncomingMessage): string;
  isCrossSite(request: IncomingMessage): boolean;
  /** The client's IP address; trusted proxies are skipped. */
  clientIpOf(request: IncomingMessage): string;
  /** An error in the envelope of its path; what is our fault is logged. */
  renderError(request: IncomingMessage, id: string, error: unknown): ErrorResponse;
  /** What every response has; Fastify's get it elsewhere. Headers given at once are written faster than those set one by one. */
  readonly commonHeaders: Readonly<Record<string, string>>;
  /** Sends it as the whole response. */
  sendError(request: IncomingMessage, response: ServerResponse, id: string, error: unknown): void;
  /** For the metrics. */
  recordRequest(route: string, method: string, status: number, seconds: number): void;
}
