import type { Readable } from 'node:stream';

/** One request that leaves this service. Times are milliseconds, sizes are bytes. */
export interface OutboundRequest {
  readonly method: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'DELETE';
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer | Readable;
  /** Default 5 000, at most 10 000; waiting for a free socket counts too. */
  readonly connectTimeoutMs?: number;
  /** Until the status line has come; default 30 000. */
  readonly headersTimeoutMs?: number;
  /** Longest silence inside a body; default 60 000. */
  readonly idleTimeoutMs?: number;
  /** The whole exchange; default none for streams, 60 000 for `json`, 15 minutes for `stranger`. */
  readonly totalTimeoutMs?: number;
  /** Bytes a second of the answer that put `totalTimeoutMs` off: whoever keeps up with it is never cut; default none. */
  readonly leastRate?: number;
  /** A body that outgrows this ends with phase `body`; default none for `configured` and `stream`, 1 GiB for `stranger`. */
  readonly maxBytes?: number;
  readonly signal?: AbortSignal;
}

/**
 * A request to a host of our own configuration. Without `private` it goes by https to public addresses only, as it may
 * carry credentials.
 */
export interface ConfiguredRequest extends OutboundRequest {
  readonly private?: boolean;
}

/**
 * A request to an address somebody else named. Only `accept`, `range` and the conditional headers pass, `user-agent` and
 * whatever else is dropped, so that no credential can be sent by mistake.
 */
export interface StrangerRequest extends Omit<OutboundRequest, 'method' | 'body'> {
  readonly method: 'GET' | 'HEAD';
  /** `host:port` pairs that are allowed although private: a private channel's own artifact hosts. */
  readonly alsoHosts?: readonly string[];
}

export interface OutboundResponse {
  readonly status: number;
  /** Lower-case names; repeated headers joined by ", ". */
  readonly headers: Readonly<Record<string, string>>;
  /** Undecoded bytes as they arrive; must be consumed or destroyed by the receiver. */
  readonly body: Readable;
}

/** A whole answer read into memory within its bounds. */
export interface OutboundAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** The body as text, always there, cut at the bound. */
  readonly text: string;
  /** Parsed JSON, or undefined where the text is not JSON (HTML pages of gateways), too deep or too large. */
  readonly json: unknown;
}

/**
 * Why an exchange did not come to an answer.
 * - `blocked`: the address guard refused it; nothing left this machine
 * - `resolve`, `connect`: no byte of the request left
 * - `sent`: the request, or a part of it, left and no status came back: the outcome is unknown
 * - `body`: a status came, then the body broke, stalled or outgrew its bound
 * - `aborted`: our own signal ended it
 */
export type OutboundPhase = 'blocked' | 'resolve' | 'connect' | 'sent' | 'body' | 'aborted';

export class OutboundError extends Error {
  readonly phase: OutboundPhase;
  /** True when the other side may have acted on the request. */
  readonly mayHaveArrived: boolean;
  constructor(phase: OutboundPhase, message: string, options: { cause?: unknown; mayHaveArrived?: boolean } = {}) {
    super(message, { cause: options.cause });
    this.name = 'OutboundError';
    this.phase = phase;
    this.mayHaveArrived = options.mayHaveArrived ?? (phase === 'sent' || phase === 'body');
  }
}

/** Steers an exchange under way. */
export interface ExchangeControl {
  /** Stops reading from the socket; the idle timeout rests meanwhile. */
  pause(): void;
  resume(): void;
  /** Ends the exchange; `fail` follows with phase `aborted` unless the exchange has ended already. */
  abort(): void;
}

/**
 * Receives an answer as it arrives, without a stream object between: one `head`, any number of `chunk`, then exactly one
 * of `end` and `fail`. `fail` alone comes when there was no answer. After it nothing is called any more. A method that
 * throws ends the exchange with `fail`.
 */
export interface ExchangeHandler {
  /** `headers` have lower-case names, repeated ones joined by ", ". */
  head(status: number, headers: Readonly<Record<string, string>>, control: ExchangeControl): void;
  /** Undecoded bytes. Call `control.pause()` to be given no more until `control.resume()`. */
  chunk(bytes: Buffer, control: ExchangeControl): void;
  end(): void;
  fail(error: OutboundError): void;
}

/**
 * The one door out.
 *
 * `configured`, `json` and `stream` serve hosts from our own configuration and may carry credentials; private addresses
 * and plain http only with `private: true` on the channel, never a cloud's metadata service; redirects are answers like any other. `stranger` serves
 * addresses a caller or an upstream named: http(s) on ports 80 and 443 to public unicast addresses only, checked on the
 * address that is dialled, redirects (at most 3) re-checked, no credentials. All fail with OutboundError and nothing else.
 */
export interface Outbound {
  configured(request: ConfiguredRequest): Promise<OutboundResponse>;
  stranger(request: StrangerRequest): Promise<OutboundResponse>;
  /**
   * Reads a whole JSON answer; `maxBytes` default 8 MiB, JSON depth at most 64. A longer answer is cut and has no `json`.
   * Asks for an uncoded answer; one coding (gzip, deflate, br) is decoded within `maxBytes`, as some gateways compress
   * whatever was asked; stacked and unknown codings end with phase `body`.
   */
  json(request: ConfiguredRequest): Promise<OutboundAnswer>;
  /** The cheapest way to relay an answer chunk by chunk; never throws, reports through `handler`. */
  stream(request: ConfiguredRequest, handler: ExchangeHandler): ExchangeControl;
  /** Ends idle sockets; requests under way are given `graceMs` (default 0) to finish. */
  close(graceMs?: number): Promise<void>;
}
