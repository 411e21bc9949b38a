import type { Readable } from 'node:stream';

/** One request that leaves this service. Times are milliseconds, sizes are bytes. */
export interface OutboundRequest {
  readonly method: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'DELETE';
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer | Readable;
  /** Default 5 000. */
  readonly connectTimeoutMs?: number;
  /** Until the status line has come; default 30 000. */
  readonly headersTimeoutMs?: number;
  /** Longest silence inside a body; default 60 000. */
  readonly idleTimeoutMs?: number;
  /** The whole exchange; default none for streams, 60 000 for `json`. */
  readonly totalTimeoutMs?: number;
  readonly signal?: AbortSignal;
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

/**
 * The one door out.
 *
 * `configured` serves hosts from our own configuration and may carry credentials; private addresses only with
 * `private: true` on the channel. `stranger` serves addresses a caller or an upstream named: http(s) to public unicast
 * addresses only, checked on the address that is dialled, redirects (at most 3) re-checked, no credentials.
 */
export interface Outbound {
  configured(request: OutboundRequest & { readonly private?: boolean }): Promise<OutboundResponse>;
  /** `alsoHosts` names host:port pairs that are allowed although private: a private channel's own artifact hosts. */
  stranger(request: OutboundRequest & { readonly alsoHosts?: readonly string[] }): Promise<OutboundResponse>;
  /** Reads a whole JSON answer through `configured`; `maxBytes` default 8 MiB, JSON depth at most 64. */
  json(request: OutboundRequest & { readonly private?: boolean; readonly maxBytes?: number }): Promise<OutboundAnswer>;
  /** Ends idle sockets; requests under way are given `graceMs` to finish. */
  close(graceMs?: number): Promise<void>;
}
