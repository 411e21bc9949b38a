import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';
import type { RequestContext } from './route-registry.ts';

/** The parts of a request that select which bytes of a file are sent. */
export function toFileRequest({ headers, disconnected }: RequestContext) {
  const ifRange = headers['if-range'];
  return {
    ifNoneMatch: headers['if-none-match'],
    range: headers.range,
    ifRange: typeof ifRange === 'string' ? ifRange : undefined,
    signal: disconnected,
  };
}

/** A file, or the part of it that was requested. */
interface FileContent {
  readonly status: 200 | 206 | 304 | 416;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Readable;
}

/**
 * A client that reads nothing for this long loses its connection to the file host, because all callers share a limited
 * number.
 */
const STALL_TIMEOUT_MS = 60_000;

/**
 * Streams a file to the client. HEAD is served by a GET whose body is dropped, because vendors' signed URLs often
 * permit GET only.
 */
export function sendFile(reply: FastifyReply, content: FileContent, stallMs = STALL_TIMEOUT_MS): FastifyReply {
  const { status, headers, body } = content;
  void reply.status(status).headers(headers);
  if (reply.request.method !== 'HEAD') {
    reply.raw.setTimeout(stallMs, () => reply.raw.destroy());
    return reply.send(body);
  }
  body.destroy();
  // An empty stream: without a body, Fastify would announce a length of 0.
  return reply.send(Readable.from([]));
}
