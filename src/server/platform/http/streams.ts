import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';
import type { RequestContext } from './route-registry.ts';

/** Conditions that end a stream of events. */
interface StreamEnds {
  /** Aborted when the client disconnects or the service stops. */
  readonly disconnected: AbortSignal;
  /**
   * Calls back once when the credential that opened the stream ends.
   * @returns a function that unregisters the callback
   */
  watchAccess(onEnd: () => void): () => void;
}

/** Headers of a stream of server-sent events (WHATWG HTML, section 9.2). */
const EVENT_STREAM_HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  // Compressing proxies such as Traefik's and Caddy's would hold back the first kilobyte, headers included.
  'cache-control': 'no-store, no-transform',
  // Keeps nginx from buffering the events.
  'x-accel-buffering': 'no',
} as const;

/**
 * Answers HEAD with the headers alone.
 * @returns whether it did
 */
export function answerHeadRequest(reply: FastifyReply): boolean {
  if (reply.request.method !== 'HEAD') return false;
  void reply.headers({ ...reply.getHeaders(), ...EVENT_STREAM_HEADERS }).send();
  return true;
}

/**
 * Starts a stream of events, which the caller then writes to `reply.raw`.
 * @returns a signal that is aborted when the stream must end
 */
export function beginEventStream(reply: FastifyReply, ends: StreamEnds): AbortSignal {
  const headers = { ...reply.getHeaders(), ...EVENT_STREAM_HEADERS };
  reply.hijack();
  reply.raw.writeHead(200, headers as Record<string, string>);
  reply.raw.on('error', () => {});
  const accessEnded = new AbortController();
  const stopWatching = ends.watchAccess(() => accessEnded.abort());
  // A client that left while its credential was checked is watched no longer: its response has been closed already.
  if (reply.raw.destroyed) stopWatching();
  else reply.raw.once('close', stopWatching);
  return AbortSignal.any([ends.disconnected, accessEnded.signal]);
}

/** The parts of a request that select which bytes of a file are sent. */
export function toFileRequest({ headers, disconnected }: RequestContext) {
  const ifRange = headers['if-range'];
  return {
    ifMatch: headers['if-match'],
    ifNoneMatch: headers['if-none-match'],
    ifModifiedSince: headers['if-modified-since'],
    ifUnmodifiedSince: headers['if-unmodified-since'],
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
