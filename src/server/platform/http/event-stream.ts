import type { FastifyReply } from 'fastify';

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
  'cache-control': 'no-store',
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
  reply.raw.once(
    'close',
    ends.watchAccess(() => accessEnded.abort()),
  );
  return AbortSignal.any([ends.disconnected, accessEnded.signal]);
}
