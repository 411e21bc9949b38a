import type { Readable } from 'node:stream';

/** One request that leaves this service. Times are milliseconds, sizes are bytes. */
export interface OutboundRequest {
  readonly method: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'DELETE';
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer | Readable | undefined;
  /** Default 5 000, at most 10 000; waiting for a free socket counts too. */
  readonly connectTimeoutMs?: number;
  /** Until the status line has come; default 30 000. */
  readonly headersTimeoutMs?: number;
  /** Longest silence inside a body; default 60 000. */
  readonly idleTimeoutMs?: number;
  /** The whole exchange; default none for streams, 60 000 for `requestJson`, 15 minutes for `requestUntrusted`. */
  readonly totalTimeoutMs?: number;
  /** Extends `totalTimeoutMs` by the received bytes at this rate: a faster response is never cut off; default none. */
  readonly minBytesPerSecond?: number;
  /** A body that outgrows this ends with phase `body`; default none for `request` and `stream`, 1 GiB for `requestUntrusted`. */
  readonly maxBytes?: number;
  /** Bytes of a streamed body that are received before they are read; default 64 KiB. */
  readonly readAheadBytes?: number;
  readonly signal?: AbortSignal | undefined;
}

/**
 * A request to a host of our own configuration. Without `private` it goes by https to public IPs only, as it may
 * carry credentials.
 */
export interface ConfiguredRequest extends OutboundRequest {
  readonly private?: boolean;
  /** URL of an http or https proxy, with its credentials; the request goes through a tunnel of it (RFC 9110 section 9.3.6). */
  readonly proxy?: string | undefined;
}

/** A request whose response is relayed as it arrives, its body in memory. */
export interface StreamedRequest extends ConfiguredRequest {
  readonly method: 'GET' | 'POST';
  readonly body?: string | Buffer | undefined;
}

/**
 * A request to a URL from a caller or an upstream. Only `accept`, `range` and the conditional headers pass, `user-agent` and
 * whatever else is dropped, so that no credential can be sent by mistake.
 */
export interface UntrustedRequest extends Omit<OutboundRequest, 'method' | 'body'> {
  readonly method: 'GET' | 'HEAD';
  /** `host:port` pairs that are allowed although private: a private channel's own artifact hosts. */
  readonly allowedPrivateHosts?: readonly string[];
}

/**
 * A POST to a URL from a caller that carries no credential of ours: a webhook. Redirects are responses like any other, and
 * a body beyond `maxBytes` is cut.
 */
export interface UntrustedPost extends Pick<OutboundRequest, 'url' | 'totalTimeoutMs' | 'maxBytes' | 'signal'> {
  readonly body: string;
  /** All headers that are sent, none is added but those of HTTP itself. */
  readonly headers: Readonly<Record<string, string>>;
  /** Without it only https is allowed. */
  readonly allowHttp: boolean;
  /** `host:port` pairs that are allowed although private, and by http. */
  readonly allowedPrivateHosts: readonly string[];
}

export interface OutboundResponse {
  readonly status: number;
  /** Lower-case names; repeated headers joined by ", ". */
  readonly headers: Readonly<Record<string, string>>;
  /** Undecoded bytes as they arrive; must be consumed or destroyed by the receiver. */
  readonly body: Readable;
}

/** A complete response read into memory within its limits. */
export interface BufferedResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** The body as text, always there, cut at the bound. */
  readonly text: string;
  /**
   * Parsed JSON, or undefined where the text is not JSON (HTML pages of gateways), too deep or too large. Whole numbers beyond 2^53
   * are text with all their digits: vendors write identifiers of 17 to 20 digits as JSON numbers.
   */
  readonly json: unknown;
}

/**
 * Phase in which an exchange failed.
 * - `blocked`: the IP guard refused it; nothing left this machine
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

/** Controls an exchange in progress. */
export interface ExchangeControl {
  /** Stops reading from the socket; the idle timeout is suspended meanwhile. */
  pause(): void;
  resume(): void;
  /** Ends the exchange; `fail` follows with phase `aborted` unless the exchange has ended already. */
  abort(): void;
}

/**
 * Receives a response as it arrives, without a stream object: one `head`, any number of `chunk`, then exactly one of `end`
 * and `fail`. Without a response only `fail` is called. After `end` or `fail` nothing is called any more. A method that
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
 * The one HTTP client for requests that leave the service.
 *
 * `request`, `requestJson` and `stream` serve hosts from our own configuration and may carry credentials; private IPs and plain
 * http only with `private: true` on the channel, never a cloud's metadata service; redirects are responses like any other.
 * `requestUntrusted` serves URLs from a caller or an upstream: http(s) on ports 80 and 443 to public unicast IPs only, checked
 * on the IP that is connected to, redirects (at most 3) re-checked, no credentials. All fail with OutboundError and nothing else.
 */
export interface OutboundClient {
  request(request: ConfiguredRequest): Promise<OutboundResponse>;
  requestUntrusted(request: UntrustedRequest): Promise<OutboundResponse>;
  /** To ports 80, 443 and those above 1023. Takes no place among the exchanges of `requestUntrusted`: its callers bound their number. */
  postUntrusted(request: UntrustedPost): Promise<BufferedResponse>;
  /**
   * Reads a complete JSON response; `maxBytes` default 8 MiB, JSON depth at most 64. A longer one is cut and has no `json`.
   * Requests an unencoded response; one encoding (gzip, deflate, br) is decoded within `maxBytes`, as some gateways
   * compress anyway; stacked and unknown encodings end with phase `body`.
   */
  requestJson(request: ConfiguredRequest): Promise<BufferedResponse>;
  /** The cheapest way to relay a response chunk by chunk; never throws, reports through `handler`. */
  stream(request: StreamedRequest, handler: ExchangeHandler): ExchangeControl;
  /** Ends idle sockets; requests in progress are given `graceMs` (default 0) to finish. */
  close(graceMs?: number): Promise<void>;
}
