import type { Static, TSchema } from 'typebox';

/**
 * Who may call. Every endpoint declares one; a route without does not register.
 * - `public`: nobody is asked who they are
 * - `account`: session, user access token or device access token, with the user-id header
 * - `owner`: session or user access token only: what could outlive a device sign-in or change the account
 * - `admin`, `root`: as `owner`, with that role or a higher one
 * - `model`: an `sk-` token or an llm_token
 * - `self`: the handler reads its credential itself (device logout, signed addresses, OAuth client authentication)
 */
export type Policy = 'public' | 'account' | 'owner' | 'admin' | 'root' | 'model' | 'self';

/**
 * How failures are written.
 * - `api`: `{success: false, message}`
 * - `video`: `{code, message, data: null}`
 * - `openai-video`: the same with `error: {message, type, param, code}` beside it
 * - `model`: `{error: {message, type, param, code}}`
 * - `device`: `{success: false, error, message}`, HTTP 200 for every documented failure, missing fields included
 * - `oauth`: `{error, error_description}` (RFC 6749 section 5.2)
 * - `page`: an HTML page
 */
export type EnvelopeKind = 'api' | 'video' | 'openai-video' | 'model' | 'device' | 'oauth' | 'page';

export type Method = 'GET' | 'POST' | 'PUT' | 'DELETE';

/** One line of the contract: server, SDK, CLI, console and OpenAPI follow from it. */
export interface Endpoint {
  readonly method: Method;
  /** Fastify's form: `/api/tokens/:id`. */
  readonly path: string;
  /** One line for the reference. */
  readonly summary: string;
  /** Groups the reference: `accounts`, `video`, … */
  readonly tag: string;
  readonly policy: Policy;
  readonly envelope: EnvelopeKind;
  readonly params?: TSchema;
  /** All query values arrive as strings. */
  readonly query?: TSchema;
  readonly body?: TSchema;
  /** The body may be left out; the handler is given `{}` then. */
  readonly optionalBody?: boolean;
  /** The whole success body; keys it does not name are not sent. Undefined: streams, pages, empty answers. */
  readonly answer?: TSchema;
  /** Bytes; default 64 KiB. */
  readonly bodyLimit?: number;
  /** What a body may be; default `json`. */
  readonly accepts?: 'json' | 'form' | 'json-or-multipart';
  /** The answer holds tokens, passwords or keys: sent with `Cache-Control: no-store`. */
  readonly secret?: boolean;
}

/** Declares an endpoint with its types kept. */
export const endpoint = <const Line extends Endpoint>(line: Line): Line => line;

/** The static type of one part of an endpoint; `undefined` where it has none. */
export type PartOf<Line extends Endpoint, Part extends 'params' | 'query' | 'body' | 'answer'> = Line extends {
  readonly [K in Part]: infer Schema extends TSchema;
}
  ? Static<Schema>
  : undefined;
