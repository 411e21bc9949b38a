import { Readable, type Transform } from 'node:stream';
import { constants, createBrotliDecompress, createGunzip, createInflate, createZstdDecompress } from 'node:zlib';
import { type Dispatcher, errors } from 'undici';
import { BlockedIpError, HostNotFoundError } from './guard.ts';

/** A request that leaves this service. Times are milliseconds, sizes are bytes. */
export interface OutboundRequest {
  readonly method: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'DELETE';
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer | Readable;
  /** Default 5 000, at most 10 000; includes waiting for a free socket. */
  readonly connectTimeoutMs?: number;
  /** Time until the status line arrives; default 30 000. */
  readonly headersTimeoutMs?: number;
  /** Longest pause within a body; default 60 000. */
  readonly idleTimeoutMs?: number;
  /**
   * Time for the entire exchange; default none for streams, 60 000 for `requestJson`, 15 minutes for
   * `requestUntrusted`.
   */
  readonly totalTimeoutMs?: number;
  /**
   * Extends `totalTimeoutMs` by the time the received bytes take at this rate, so that a faster response is never cut
   * off; default none.
   */
  readonly minBytesPerSecond?: number;
  /** A larger body fails with phase `body`; default none for `request` and `stream`, 1 GiB for `requestUntrusted`. */
  readonly maxBytes?: number;
  /** Bytes of a streamed body received ahead of its reader; default 64 KiB. */
  readonly readAheadBytes?: number;
  readonly signal?: AbortSignal;
}

/**
 * A request to a host in our own configuration. Without `private` it uses https to public IPs only, because it may
 * carry credentials.
 */
export interface ConfiguredRequest extends OutboundRequest {
  readonly private?: boolean;
  /**
   * URL of an http or https proxy, including its credentials; the request is tunnelled through it (RFC 9110 section
   * 9.3.6).
   */
  readonly proxy?: string;
}

/** A request, with its body in memory, whose response is relayed as it arrives. */
export interface StreamedRequest extends ConfiguredRequest {
  readonly method: 'GET' | 'POST';
  readonly body?: string | Buffer;
}

/**
 * A request to a URL from a caller or an upstream. Only `accept`, `range` and the conditional headers are sent;
 * `user-agent` and all others are dropped, so that no credential can be sent by mistake.
 */
export interface UntrustedRequest extends Omit<OutboundRequest, 'method' | 'body'> {
  readonly method: 'GET' | 'HEAD';
  /** Default: 3. */
  readonly maxRedirects?: number;
  /** `host:port` pairs permitted although private: a private channel's own artifact hosts. */
  readonly allowedPrivateHosts?: readonly string[];
}

/**
 * A webhook: a POST to a URL from a caller, without credentials of ours. Redirects are returned like any other
 * response. The status is the answer: a body beyond `maxBytes` is cut off, and one that breaks off, stalls or cannot be
 * decoded is empty.
 */
export interface UntrustedPost extends Pick<OutboundRequest, 'url' | 'totalTimeoutMs' | 'maxBytes' | 'signal'> {
  readonly body: string;
  /** The complete headers; only those of HTTP itself are added. */
  readonly headers: Readonly<Record<string, string>>;
  /** Without it only https is permitted. */
  readonly allowHttp: boolean;
  /** `host:port` pairs permitted although private, also by http. */
  readonly allowedPrivateHosts: readonly string[];
}

/** A response whose body is a stream. */
export interface OutboundResponse {
  readonly status: number;
  /** Lower-case names; repeated headers joined by ", ". */
  readonly headers: Readonly<Record<string, string>>;
  /** Undecoded bytes as they arrive; the receiver must consume or destroy the stream. */
  readonly body: Readable;
}

/** A complete response read into memory within its limits. */
export interface BufferedResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** The body as text, always present, cut off at the limit. */
  readonly text: string;
  /**
   * Parsed JSON, or undefined when the text is not JSON (HTML pages of gateways), too deep or too large. Whole numbers
   * beyond 2^53 become text with all their digits, because vendors write identifiers of 17 to 20 digits as JSON
   * numbers.
   */
  readonly json: unknown;
}

/**
 * Phase in which an exchange failed.
 * - `blocked`: the IP guard refused it; nothing left this machine
 * - `resolve`, `connect`: no byte of the request was sent
 * - `sent`: the request, or part of it, was sent and no status came back: the outcome is unknown
 * - `body`: a status arrived, then the body broke off, stalled or exceeded its limit
 * - `aborted`: our own signal ended it
 */
export type OutboundPhase = 'blocked' | 'resolve' | 'connect' | 'sent' | 'body' | 'aborted';

/** The only error thrown by the outbound client. */
export class OutboundError extends Error {
  readonly phase: OutboundPhase;
  /** True when the peer may have acted on the request. */
  readonly mayHaveArrived: boolean;
  constructor(phase: OutboundPhase, message: string, options: { cause?: unknown; mayHaveArrived?: boolean } = {}) {
    super(message, { cause: options.cause });
    this.name = 'OutboundError';
    this.phase = phase;
    this.mayHaveArrived = options.mayHaveArrived ?? (phase === 'sent' || phase === 'body');
  }
}

/** Controls an exchange in progress. */
export interface ExchangeControl {
  /** Stops reading from the socket, and suspends the idle timeout. */
  pause(): void;
  resume(): void;
  /** Aborts the exchange; `fail` follows with phase `aborted` unless the exchange has already ended. */
  abort(): void;
}

/**
 * Receives a response as it arrives, without a stream object: one `head`, any number of `chunk`, then exactly one of
 * `end` and `fail`. Without a response only `fail` is called. Nothing is called after `end` or `fail`. If a method
 * throws, the exchange ends with `fail`.
 */
export interface ExchangeHandler {
  /** `headers` have lower-case names; repeated headers are joined by ", ". */
  head(status: number, headers: Readonly<Record<string, string>>, control: ExchangeControl): void;
  /** Undecoded bytes. Call `control.pause()` to receive no more until `control.resume()`. */
  chunk(bytes: Buffer, control: ExchangeControl): void;
  end(): void;
  fail(error: OutboundError): void;
}

/**
 * The only HTTP client for requests that leave the service.
 *
 * `request`, `requestJson` and `stream` serve hosts in our own configuration and may carry credentials. Private IPs and
 * plain http require `private: true` on the channel; a cloud's metadata service is never permitted. Redirects are
 * returned like any other response.
 *
 * `requestUntrusted` serves URLs from a caller or an upstream: http(s) on ports 80 and 443 to public unicast IPs only,
 * checked on the IP that is connected to, with redirects (at most 3) checked again, and without credentials.
 *
 * All methods fail only with OutboundError.
 */
export interface OutboundClient {
  request(request: ConfiguredRequest): Promise<OutboundResponse>;
  requestUntrusted(request: UntrustedRequest): Promise<OutboundResponse>;
  /**
   * Permits ports 80, 443 and those above 1023. Not counted among the exchanges of `requestUntrusted`: the callers
   * limit their number.
   */
  postUntrusted(request: UntrustedPost): Promise<BufferedResponse>;
  /**
   * Reads a complete JSON response; `maxBytes` defaults to 8 MiB, JSON depth is at most 64. A longer response is cut
   * off and has no `json`. Requests an unencoded response, but decodes one encoding (gzip, deflate, br) within
   * `maxBytes`, as some gateways compress anyway; stacked and unknown encodings fail with phase `body`.
   */
  requestJson(request: ConfiguredRequest): Promise<BufferedResponse>;
  /** Relays a response chunk by chunk, without a stream object. Never throws; reports through `handler`. */
  stream(request: StreamedRequest, handler: ExchangeHandler): ExchangeControl;
  /** Closes idle sockets; requests in flight get `graceMs` (default 0) to finish. */
  close(graceMs?: number): Promise<void>;
}

const DEFAULT_CONNECT_TIMEOUT_MS = 5_000;
const DEFAULT_HEADERS_TIMEOUT_MS = 30_000;
const DEFAULT_IDLE_TIMEOUT_MS = 60_000;

/** Extra time before our own timer ends a wait that undici's coarse timers should have ended. */
const BACKSTOP_MS = 1_000;

/** Destination of a request: a checked and parsed URL. */
export interface Target {
  readonly origin: string;
  /** Path and query. */
  readonly path: string;
}

/**
 * One request and its response at undici's dispatch level. `onRequestStart` is called right before undici writes the
 * first byte of this request to a connected socket, on fresh and reused sockets alike. That call is the boundary
 * between "nothing was sent" and "may have arrived".
 */
export class Exchange implements Dispatcher.DispatchHandler, ExchangeControl {
  readonly #handler: ExchangeHandler;
  readonly #request: OutboundRequest;
  readonly #maxBytes: number;
  readonly #begunAt = performance.now();
  #control: Dispatcher.DispatchController | undefined;
  #bodySentAt: number | undefined;
  #status = 0;
  #bytes = 0;
  #ended = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(request: OutboundRequest, handler: ExchangeHandler, maxBytes = request.maxBytes) {
    this.#request = request;
    this.#handler = handler;
    this.#maxBytes = maxBytes ?? Number.POSITIVE_INFINITY;
  }

  /** Sends the request. Never throws: every failure reaches the handler. */
  begin(dispatcher: Pick<Dispatcher, 'dispatch'>, target: Target, headers: Readonly<Record<string, string>>): this {
    const { method, body, signal, headersTimeoutMs, idleTimeoutMs } = this.#request;
    if (signal?.aborted) {
      this.abort();
      return this;
    }
    if (!areWritable(headers)) {
      this.#fail('blocked', 'a header of the request cannot be written');
      return this;
    }
    signal?.addEventListener('abort', this.#onSignal);
    this.#armTimer();
    dispatcher.dispatch(
      {
        origin: target.origin,
        path: target.path,
        method,
        ...toWrittenBody(headers, body),
        headersTimeout: headersTimeoutMs ?? DEFAULT_HEADERS_TIMEOUT_MS,
        bodyTimeout: idleTimeoutMs ?? DEFAULT_IDLE_TIMEOUT_MS,
      },
      this,
    );
    return this;
  }

  pause(): void {
    this.#control?.pause();
  }

  resume(): void {
    this.#control?.resume();
  }

  abort(): void {
    this.#fail('aborted', 'the exchange was ended by this side');
  }

  readonly #onSignal = (): void => this.abort();

  onRequestStart(control: Dispatcher.DispatchController): void {
    // A request aborted while it waited for a socket must not be written, and none is ever written twice.
    if (this.#ended || this.#control !== undefined) {
      control.abort(new errors.RequestAbortedError());
      return;
    }
    this.#control = control;
    // A body in memory is not waited for, however slowly the peer reads it.
    if (!(this.#request.body instanceof Readable)) this.#bodySentAt = performance.now();
  }

  onRequestSent(): void {
    this.#bodySentAt ??= performance.now();
  }

  onResponseStart(_control: Dispatcher.DispatchController, status: number, headers: ReceivedHeaders): void {
    if (this.#ended || status < 200) return;
    if (!hasKnownFraming(headers)) {
      this.#fail('sent', 'the response has an unknown transfer coding');
      return;
    }
    this.#status = status;
    this.#handler.head(status, joinRepeated(headers), this);
  }

  onResponseData(_control: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#ended) return;
    this.#bytes += chunk.length;
    if (this.#bytes > this.#maxBytes) this.#fail('body', `the answer is longer than ${this.#maxBytes} bytes`);
    else this.#handler.chunk(chunk, this);
  }

  onResponseEnd(): void {
    if (this.#ended) return;
    this.#finish();
    this.#handler.end();
  }

  onResponseError(_control: Dispatcher.DispatchController | null, error: Error): void {
    if (this.#ended) return;
    const phase = this.#phaseOf(error);
    this.#fail(phase, error.message, error);
  }

  #phaseOf(error: Error): OutboundPhase {
    if (this.#status !== 0) return 'body';
    if (this.#control !== undefined) return 'sent';
    if (error instanceof BlockedIpError || error instanceof errors.InvalidArgumentError) return 'blocked';
    return error instanceof HostNotFoundError ? 'resolve' : 'connect';
  }

  #finish(): void {
    this.#ended = true;
    clearTimeout(this.#timer);
    this.#request.signal?.removeEventListener('abort', this.#onSignal);
  }

  #fail(phase: OutboundPhase, message: string, cause?: Error): void {
    if (this.#ended) return;
    this.#finish();
    const failure = new OutboundError(phase, message, { cause, mayHaveArrived: this.#control !== undefined });
    if (this.#control !== undefined && !this.#control.aborted) this.#control.abort(failure);
    this.#handler.fail(failure);
  }

  /** One timer is reused for all phases, so that a quick exchange arms and clears a timer only once. */
  #armTimer(): void {
    const { at } = this.#nextDeadline();
    if (at === Number.POSITIVE_INFINITY) return;
    this.#timer = setTimeout(this.#onTimer, Math.max(1, at - performance.now()));
  }

  readonly #onTimer = (): void => {
    const { at, phase, message } = this.#nextDeadline();
    if (at > performance.now() + 1) this.#armTimer();
    else this.#fail(phase, message);
  };

  #nextDeadline(): { at: number; phase: OutboundPhase; message: string } {
    const { totalTimeoutMs, minBytesPerSecond, connectTimeoutMs, headersTimeoutMs } = this.#request;
    const earnedMs = minBytesPerSecond === undefined ? 0 : (this.#bytes / minBytesPerSecond) * 1000;
    const total = this.#begunAt + (totalTimeoutMs ?? Number.POSITIVE_INFINITY) + earnedMs;
    const phase = this.#status !== 0 ? 'body' : this.#control !== undefined ? 'sent' : 'connect';
    const wait =
      phase === 'connect'
        ? { at: this.#begunAt + (connectTimeoutMs ?? DEFAULT_CONNECT_TIMEOUT_MS), message: 'no connection in time' }
        : phase === 'sent'
          ? {
              // While an upload is in progress, each check extends the deadline; it is fixed once the body has been
              // sent.
              at:
                (this.#bodySentAt ?? performance.now()) +
                (headersTimeoutMs ?? DEFAULT_HEADERS_TIMEOUT_MS) +
                BACKSTOP_MS,
              message: 'no answer in time',
            }
          : { at: Number.POSITIVE_INFINITY, message: '' };
    return wait.at < total
      ? { ...wait, phase }
      : { at: total, phase, message: `not finished within ${Math.round(total - this.#begunAt)} ms` };
  }
}

const NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;
/**
 * Headers that undici writes itself because they frame a message or keep a connection alive (RFC 9110 section 7.6.1,
 * RFC 9112 section 6).
 */
const OWN_HEADERS: ReadonlySet<string> = new Set([
  'connection',
  'expect',
  'host',
  'keep-alive',
  'transfer-encoding',
  'upgrade',
]);

/**
 * Whether undici accepts these headers. A pool mistakes a refused request for a sign that its connection is full, and
 * never uses that connection again.
 */
const areWritable = (headers: Readonly<Record<string, string>>): boolean =>
  Object.entries(headers).every(
    ([name, value]) => NAME.test(name) && VALUE.test(value) && !OWN_HEADERS.has(name.toLowerCase()),
  );

/** The write buffer of a socket: undici reuses a connection even when more than this still waits to be sent on it. */
const MAX_SINGLE_WRITE_BYTES = 64 * 1024;

/**
 * Headers and body in the form undici accepts. A large body is written piece by piece: only then does undici notice a
 * response that precedes the body's end and close the connection, on which the next request would otherwise wait behind
 * the rest of the body.
 */
function toWrittenBody(
  headers: Readonly<Record<string, string>>,
  body: OutboundRequest['body'],
): Pick<Dispatcher.DispatchOptions, 'headers' | 'body'> {
  if (body === undefined || body instanceof Readable || body.length <= MAX_SINGLE_WRITE_BYTES)
    return { headers, body: body ?? null };
  const bytes = typeof body === 'string' ? Buffer.from(body) : body;
  const pieces: Iterable<Buffer> = piecesOf(bytes);
  // undici writes any iterable, but its types allow only streams.
  return { headers: { ...headers, 'content-length': String(bytes.length) }, body: pieces as unknown as Readable };
}

function* piecesOf(bytes: Buffer): Generator<Buffer> {
  for (let at = 0; at < bytes.length; at += MAX_SINGLE_WRITE_BYTES)
    yield bytes.subarray(at, at + MAX_SINGLE_WRITE_BYTES);
}

type ReceivedHeaders = Record<string, string | string[] | undefined>;

/**
 * Only `chunked`, once, has an end that every reader sees at the same position; undici frames other codings
 * differently.
 */
function hasKnownFraming({ 'transfer-encoding': coding }: ReceivedHeaders): boolean {
  return coding === undefined || (typeof coding === 'string' && coding.toLowerCase() === 'chunked');
}

/** Joins repeated headers, which undici returns as arrays, and trims blanks after values. */
const joinRepeated = (headers: ReceivedHeaders): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(headers).map(([name, value = '']) => [
      name,
      typeof value === 'string' ? trimEnd(value) : value.map(trimEnd).join(', '),
    ]),
  );

/**
 * Trims only blanks and tabs, because other Unicode white space is part of a value. A regular expression would take
 * quadratic time.
 */
function trimEnd(value: string): string {
  let end = value.length;
  while (end > 0 && ' \t'.includes(value.charAt(end - 1))) end--;
  return value.slice(0, end);
}

const SECONDS = /^\d{1,9}(?:\.\d{1,9})?$/;

/**
 * The wait that a response asks for (RFC 9110 section 10.2.3, and OpenAI's header in milliseconds). A date is compared
 * with the sender's own clock if the response has its time.
 * @returns milliseconds, 0 for a date in the past; undefined if missing or invalid
 */
export function parseRetryAfter(headers: Readonly<Record<string, string>>, nowMs: number): number | undefined {
  const { 'retry-after': after = '', 'retry-after-ms': afterMs = '', date = '' } = headers;
  if (SECONDS.test(afterMs.trim())) return Math.ceil(Number(afterMs));
  const text = after.trim();
  if (SECONDS.test(text)) return Math.ceil(Number(text) * 1_000);
  const until = /^[A-Z][a-z]{2}/i.test(text) ? Date.parse(text) : Number.NaN;
  const sentAt = Date.parse(date);
  return Number.isNaN(until) ? undefined : Math.max(0, until - (Number.isNaN(sentAt) ? nowMs : sentAt));
}

const DECODERS: Readonly<Record<string, () => Transform>> = {
  gzip: () => createGunzip({ finishFlush: constants.Z_SYNC_FLUSH }),
  'x-gzip': () => createGunzip({ finishFlush: constants.Z_SYNC_FLUSH }),
  deflate: () => createInflate(),
  br: () => createBrotliDecompress(),
  zstd: () => createZstdDecompress(),
};

/** The content coding of a response; undefined if there is none. */
export function codingOf(headers: Readonly<Record<string, string>>): string | undefined {
  const coding = headers['content-encoding']?.trim().toLowerCase();
  return coding === undefined || coding === '' || coding === 'identity' ? undefined : coding;
}

/** Receives decoded bytes; exactly one of `end` and `fail` comes last. */
interface DecodedHandler {
  chunk(bytes: Buffer): void;
  end(): void;
  fail(error: OutboundError): void;
}

/**
 * Decodes a response as it arrives, for upstreams that compress despite a request for `identity`. The handler limits
 * how much it accepts; after `destroy` it receives nothing more.
 */
export class ContentDecoder {
  readonly #stream: Transform | undefined;
  readonly #handler: DecodedHandler;

  constructor(coding: string, handler: DecodedHandler, onDrain: () => void) {
    this.#handler = handler;
    this.#stream = Object.hasOwn(DECODERS, coding) ? DECODERS[coding]?.() : undefined;
    this.#stream?.on('data', (bytes: Buffer) => handler.chunk(bytes));
    this.#stream?.on('drain', onDrain);
    this.#stream?.once('end', () => handler.end());
    this.#stream?.once('error', (cause) =>
      handler.fail(new OutboundError('body', 'the answer could not be decoded', { cause })),
    );
  }

  /** False when more bytes wait to be decoded than should. */
  write(bytes: Buffer): boolean {
    return this.#stream?.write(bytes) ?? true;
  }

  end(): void {
    if (this.#stream === undefined)
      this.#handler.fail(new OutboundError('body', 'the answer has a content coding that was not asked for'));
    else this.#stream.end();
  }

  destroy(): void {
    this.#stream
      ?.removeAllListeners('data')
      .removeAllListeners('end')
      .on('error', () => {});
    this.#stream?.destroy();
  }
}
