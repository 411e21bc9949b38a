import type { Dispatcher } from 'undici';
import type { DispatchRequest } from '../outbound.ts';
import { toRequestPieces } from './request-pieces.ts';
import type { ResponseReceiver } from './response-parser.ts';

/** The connection as the handler of the request on it may use it. */
export interface ConnectionControl {
  pause(): void;
  resume(): void;
  /** Fails the request for that reason. */
  close(reason: Error): void;
}

/**
 * A request from the moment it is asked for to its end, and what its handler controls it with. Behind the end it reaches the
 * connection, which the next request may have, no more.
 */
export class Http1Request implements Dispatcher.DispatchController, ResponseReceiver {
  readonly #handler: Dispatcher.DispatchHandler;
  readonly #headersTimeout: number;
  readonly #bodyTimeout: number;
  #pieces: readonly Buffer[] = [];
  #connection: ConnectionControl | undefined;
  hasHead = false;
  paused = false;
  aborted = false;
  reason: Error | null = null;

  constructor({ headersTimeout, bodyTimeout }: DispatchRequest, handler: Dispatcher.DispatchHandler) {
    this.#handler = handler;
    this.#headersTimeout = headersTimeout;
    this.#bodyTimeout = bodyTimeout;
  }

  /** @throws InvalidArgumentError where the request cannot be written */
  prepare(request: DispatchRequest): void {
    this.#pieces = toRequestPieces(request);
  }

  /** The longest silence of the other side now, in ms. */
  get silenceMs(): number {
    return this.hasHead ? this.#bodyTimeout : this.#headersTimeout;
  }

  /**
   * Told right before the first byte is written.
   *
   * @returns the bytes to write, which are kept no longer; none when the handler has given the request up
   */
  start(connection: ConnectionControl): readonly Buffer[] | undefined {
    this.#handler.onRequestStart?.(this, undefined);
    if (this.reason !== null) {
      this.fail(this.reason);
      return undefined;
    }
    this.#connection = connection;
    const pieces = this.#pieces;
    this.#pieces = [];
    return pieces;
  }

  written(): void {
    this.#handler.onRequestSent?.();
  }

  pause(): void {
    if (this.#connection === undefined || this.paused) return;
    this.paused = true;
    this.#connection.pause();
  }

  resume(): void {
    if (this.#connection === undefined || !this.paused) return;
    this.paused = false;
    this.#connection.resume();
  }

  /** Closes the connection, if there is one: what would come on it belongs to this request. */
  abort(reason: Error): void {
    if (this.aborted) return;
    this.aborted = true;
    this.reason = reason;
    this.#connection?.close(reason);
  }

  head(status: number, headers: Record<string, string>): void {
    this.hasHead = true;
    this.#handler.onResponseStart?.(this, status, headers);
  }

  data(bytes: Buffer): void {
    this.#handler.onResponseData?.(this, bytes);
  }

  /** What the handler throws is a failure here as in the methods before, which the connection catches. */
  end(): void {
    this.#connection = undefined;
    try {
      this.#handler.onResponseEnd?.(this, {});
    } catch (error) {
      this.fail(error as Error);
    }
  }

  fail(reason: Error): void {
    this.#connection = undefined;
    this.aborted = true;
    // Ends the parser's loop.
    this.paused = true;
    this.reason = reason;
    this.#handler.onResponseError?.(this, reason);
  }
}
