import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { FastPathTools } from '../platform/http/server.ts';
import type { Dialect } from './dialects.ts';

/** Events of the caller's connection while a response is in progress. */
export interface ClientEvents {
  /** The caller disconnected before the response was complete. */
  disconnected(): void;
  /** The caller has read the written bytes, so more may be sent. */
  drained(): void;
}

const MAX_CLIENT_LENGTH = 64;
/** Largest body that Node.js writes together with the headers without allocating memory of its own. */
const MAX_JOINED_BYTES = 15 * 1024;
const DROPPED_HEADER = 'x-reelgate-dropped';
const STREAM_HEADERS = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache, no-transform',
  // nginx would buffer the events otherwise.
  'x-accel-buffering': 'no',
  'x-content-type-options': 'nosniff',
} as const;

/** Sends the response of a model call to its caller: a complete body, a stream of events, or an error in the dialect's format. */
export class ClientResponse {
  readonly id: string;
  /** Reference of this call's reservation. Unlike the request's id, which callers may choose, it is unique. */
  readonly ref: string;
  /** When the request arrived, by `performance.now()`. */
  readonly begunAt = performance.now();
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #tools: FastPathTools;
  readonly #idHeader: string | undefined;
  /** Path of the endpoint under which the request is counted once it has ended; undefined: it is counted elsewhere. */
  #recordedPath: string | undefined;
  #listener: ClientEvents | undefined;
  /** Socket that chunks of the stream are written to directly; undefined where the response writes them. */
  #socket: Socket | undefined;
  readonly #onDrain = (): void => this.#listener?.drained();
  /** Paths of the request's members that were dropped on their way to the upstream. */
  #dropped: Set<string> | undefined;
  #successHeaders: Readonly<Record<string, string>> | undefined;
  #opened = false;
  #closed = false;

  /** @param idHeader a second header for the id of the request */
  constructor(request: IncomingMessage, response: ServerResponse, id: string, tools: FastPathTools, idHeader?: string) {
    this.#request = request;
    this.#response = response;
    this.#tools = tools;
    this.#idHeader = idHeader;
    this.id = id;
    this.ref = `req_${request.headers['x-request-id'] === id ? `${id}.${tools.newRequestId()}` : id}`;
    response.once('close', () => {
      this.#closed = true;
      this.#socket?.off('drain', this.#onDrain);
      if (!response.writableFinished) this.#listener?.disconnected();
      if (this.#recordedPath !== undefined) this.#record(this.#recordedPath);
    });
  }

  /** Counts the request in the metrics when it ends. */
  recordAs(path: string): void {
    this.#recordedPath = path;
  }

  #record(path: string): void {
    this.#tools.recordRequest(path, 'POST', this.#response.statusCode, (performance.now() - this.begunAt) / 1_000);
  }

  /** Sets the listener of later events; calls its `disconnected` at once if the caller has already disconnected. */
  setListener(listener: ClientEvents): void {
    this.#listener = listener;
    if (this.#closed) listener.disconnected();
  }

  /** Names the dropped parts of the request, instead of those of an earlier attempt. */
  setDropped(paths: readonly string[]): void {
    this.#dropped = paths.length === 0 ? undefined : new Set(paths);
  }

  /** Names a dropped part of the request in the response header `x-reelgate-dropped`. */
  addDropped(path: string): void {
    this.#dropped ??= new Set();
    this.#dropped.add(path);
  }

  /** Adds headers to the response, unless it has started. */
  setHeaders(headers: Readonly<Record<string, string>>): void {
    if (this.#response.headersSent) return;
    for (const [name, value] of Object.entries(headers)) this.#response.setHeader(name, value);
  }

  /** Sets headers that the response has unless it is an error. */
  setSuccessHeaders(headers: Readonly<Record<string, string>>): void {
    this.#successHeaders = headers;
  }

  /** The caller's User-Agent, cut to a length that suits a list. */
  get client(): string {
    return (this.#request.headers['user-agent'] ?? '').slice(0, MAX_CLIENT_LENGTH);
  }

  get disconnected(): boolean {
    return this.#closed;
  }

  /** Whether a stream has started, so that its status can no longer report a failure. */
  get streaming(): boolean {
    return this.#opened;
  }

  /** Starts a stream, unless it has started. */
  openStream(): void {
    if (this.#opened) return;
    this.#opened = true;
    const { socket } = this.#response;
    this.#setOptionalHeaders();
    this.#response.writeHead(200, this.#withIds({ ...this.#tools.commonHeaders, ...STREAM_HEADERS }));
    if (socket === null || !this.#response.chunkedEncoding) {
      this.#response.on('drain', this.#onDrain);
      return;
    }
    this.#response.flushHeaders();
    this.#socket = socket;
    socket.on('drain', this.#onDrain);
  }

  /** Returns false when the caller reads more slowly than this; `drained` follows. */
  write(bytes: Buffer | string): boolean {
    return this.#socket?.write(toChunk(bytes)) ?? this.#response.write(bytes);
  }

  end(): void {
    this.#response.end();
  }

  /** Sends a complete body. */
  sendBody(contentType: string, body: Buffer | string): void {
    this.#setOptionalHeaders();
    const headers = this.#withIds({ ...this.#tools.commonHeaders });
    headers['content-type'] = contentType;
    headers['content-length'] = Buffer.byteLength(body);
    headers['x-content-type-options'] = 'nosniff';
    this.#response.writeHead(200, headers);
    // Text in the encoding of the headers is sent in one write with them; bytes would be a second write.
    if (typeof body === 'string' || body.length > MAX_JOINED_BYTES) this.#response.end(body);
    else this.#response.end(body.toString('latin1'), 'latin1');
  }

  #setOptionalHeaders(): void {
    if (this.#successHeaders !== undefined) this.setHeaders(this.#successHeaders);
    if (this.#dropped !== undefined) this.#response.setHeader(DROPPED_HEADER, [...this.#dropped].join(', '));
  }

  #withIds(headers: Record<string, string | number>): Record<string, string | number> {
    headers['x-request-id'] = this.id;
    if (this.#idHeader !== undefined) headers[this.#idHeader] = this.id;
    return headers;
  }

  /** Sends an error: as the complete body, or as the last event of a stream in progress. */
  fail(error: unknown, dialect: Dialect): void {
    if (this.#closed) return;
    if (!this.#opened) {
      this.#tools.sendError(this.#request, this.#response, this.id, error);
      return;
    }
    this.#response.end(dialect.toErrorEvent(this.#tools.renderError(this.#request, this.id, error).body));
  }

  /** Closes the connection because the caller has stopped reading. */
  destroy(): void {
    this.#response.destroy();
  }
}

/**
 * Formats a chunk of a body (RFC 9112 section 7.1) as one buffer. The response would write size, data and line ends
 * separately for every event, which takes longer than all other processing of an event.
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
