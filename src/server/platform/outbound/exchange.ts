import type { Dispatcher } from 'undici';
import { BlockedIpError, HostNotFoundError } from './guarded-connector-and-resolvers.ts';
import {
  type ExchangeControl,
  type ExchangeHandler,
  OutboundError,
  type OutboundPhase,
  type OutboundRequest,
} from './outbound-types.ts';
import { errors } from './undici-without-fetch.ts';

const DEFAULT_CONNECT_TIMEOUT_MS = 5_000;
const DEFAULT_HEADERS_TIMEOUT_MS = 30_000;
const DEFAULT_IDLE_TIMEOUT_MS = 60_000;

/** Extra time before our own timer ends a wait that undici's coarse timers should have ended. */
const BACKSTOP_MS = 1_000;

/** Where a request goes, its URL checked and taken apart. */
export interface Target {
  readonly origin: string;
  /** Path and query. */
  readonly path: string;
}

/** A request as it is given to what sends it; times are milliseconds. */
export interface DispatchRequest extends Target {
  readonly method: OutboundRequest['method'];
  readonly headers: Readonly<Record<string, string>>;
  readonly body: NonNullable<OutboundRequest['body']> | null;
  /** Longest wait for the status line. */
  readonly headersTimeout: number;
  /** Longest silence inside the body. */
  readonly bodyTimeout: number;
}

/** What sends requests: undici's agents, and `Http1Agent`. */
export interface ExchangeDispatcher {
  dispatch(request: DispatchRequest, handler: Dispatcher.DispatchHandler): unknown;
}

/**
 * One request and its response at undici's dispatch level.
 *
 * `onRequestStart` is called right before it writes the first byte of this request to a connected socket, on fresh and
 * reused sockets alike. That call is the border between "nothing left" and "may have arrived".
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

  /** Sends the request. Never throws: whatever happens reaches the handler. */
  begin(dispatcher: ExchangeDispatcher, target: Target, headers: Readonly<Record<string, string>>): this {
    const { method, body, signal, headersTimeoutMs, idleTimeoutMs } = this.#request;
    if (signal?.aborted) {
      this.abort();
      return this;
    }
    signal?.addEventListener('abort', this.#onSignal);
    this.#armTimer();
    dispatcher.dispatch(
      {
        origin: target.origin,
        path: target.path,
        method,
        headers,
        body: body ?? null,
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
    // A request given up while it waited for a socket must not be written, and none is ever written twice.
    if (this.#ended || this.#control !== undefined) {
      control.abort(new errors.RequestAbortedError());
      return;
    }
    this.#control = control;
  }

  onRequestSent(): void {
    this.#bodySentAt = performance.now();
  }

  onResponseStart(
    _control: Dispatcher.DispatchController,
    status: number,
    headers: Record<string, string | string[] | undefined>,
  ): void {
    if (this.#ended || status < 200) return;
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

  /** One timer serves every bound in turn, so that a quick exchange arms and clears a single one. */
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
              // While an upload is in progress, each check moves the deadline on; it is fixed once the body has been sent.
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

/** undici gives repeated headers as arrays; most responses have none, and then its object is used as it is. */
function joinRepeated(headers: Record<string, string | string[] | undefined>): Readonly<Record<string, string>> {
  for (const name in headers) {
    const value = headers[name];
    if (typeof value !== 'string') headers[name] = Array.isArray(value) ? value.join(', ') : '';
  }
  return headers as Record<string, string>;
}
