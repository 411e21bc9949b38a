import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { LaneTools } from '../platform/http/server.ts';
import type { Dialect } from './dialects.ts';

/** What happens at the caller's end while an answer is under way. */
export interface Audience {
  /** The caller went away before the answer was complete. */
  left(): void;
  /** The caller has read what was written: more may be sent. */
  drained(): void;
}

const STREAM_HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache, no-transform',
  // nginx would collect the events otherwise.
  'x-accel-buffering': 'no',
  'x-content-type-options': 'nosniff',
} as const;

/** The one who made a model call, on the wire: a whole answer, or a stream of events, or a failure in the right form. */
export class Client {
  readonly id: string;
  /** Of this call's reservation: unlike the request's id, which callers may choose, never the same twice. */
  readonly ref: string;
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #tools: LaneTools;
  #audience: Audience | undefined;
  /** Where chunks of the stream go directly; undefined where the response writes them. */
  #socket: Socket | undefined;
  readonly #onDrain = (): void => this.#audience?.drained();
  #opened = false;
  #closed = false;

  constructor(request: IncomingMessage, response: ServerResponse, id: string, tools: LaneTools) {
    this.#request = request;
    this.#response = response;
    this.#tools = tools;
    this.id = id;
    this.ref = `req_${request.headers['x-request-id'] === id ? `${id}.${tools.newId()}` : id}`;
    response.once('close', () => {
      this.#closed = true;
      this.#socket?.off('drain', this.#onDrain);
      if (!response.writableFinished) this.#audience?.left();
    });
    response.on('drain', this.#onDrain);
  }

  /** Tells `audience` from now on; at once when the caller has left already. */
  watch(audience: Audience): void {
    this.#audience = audience;
    if (this.#closed) audience.left();
  }

  get gone(): boolean {
    return this.#closed;
  }

  /** Whether a stream has begun, so that its status can no longer tell of a failure. */
  get streaming(): boolean {
    return this.#opened;
  }

  openStream(): void {
    this.#opened = true;
    const { socket } = this.#response;
    this.#response.writeHead(200, { ...STREAM_HEADERS, 'x-request-id': this.id });
    if (socket === null || !this.#response.chunkedEncoding) return;
    this.#response.flushHeaders();
    this.#socket = socket;
    socket.on('drain', this.#onDrain);
  }

  /** False when the caller reads more slowly than this: `drained` follows. */
  write(bytes: Buffer | string): boolean {
    return this.#socket?.write(toChunk(bytes)) ?? this.#response.write(bytes);
  }

  end(): void {
    this.#response.end();
  }

  /** A whole answer. */
  answer(contentType: string, body: Buffer | string): void {
    this.#response.writeHead(200, {
      'content-type': contentType,
      'content-length': Buffer.byteLength(body),
      'x-request-id': this.id,
      'x-content-type-options': 'nosniff',
    });
    this.#response.end(body);
  }

  /** A failure: as the whole answer, or where a stream has begun as its last event. */
  fail(error: unknown, dialect: Dialect): void {
    if (this.#closed) return;
    if (!this.#opened) {
      this.#tools.fail(this.#request, this.#response, this.id, error);
      return;
    }
    this.#response.end(dialect.errorEvent(this.#tools.failure(this.#request, this.id, error).body));
  }

  /** Breaks the connection: the caller has stopped reading. */
  cut(): void {
    this.#response.destroy();
  }
}

/**
 * One chunk of a body (RFC 9112 section 7.1) in one piece. The response would write size, data and line ends as four, each
 * event anew, which takes longer than everything else that is done with an event.
 */
function toChunk(data: Buffer | string): Buffer {
  const length = Buffer.byteLength(data);
  const size = `${length.toString(16)}\r\n`;
  const head = size.length;
  const chunk = Buffer.allocUnsafe(head + length + 2);
  chunk.write(size, 'latin1');
  if (typeof data === 'string') chunk.write(data, head);
  else chunk.set(data, head);
  chunk.write('\r\n', chunk.length - 2, 'latin1');
  return chunk;
}
