import type { Static, TSchema } from 'typebox';

/**
 * Who may call. Every endpoint declares one; a route without does not register.
 * - `public`: no authentication
 * - `account`: session, user access token or device access token, with the user-id header
 * - `owner`: session or user access token only: what could outlive a device sign-in or change the account
 * - `admin`, `root`: as `owner`, with that role or a higher one
 * - `model`: an `sk-` token or an llm_token
 * - `self`: the handler reads its credential itself (device logout, signed URLs, OAuth client authentication)
 */
export type Policy = 'public' | 'account' | 'owner' | 'admin' | 'root' | 'model' | 'self';

/**
 * How failures are written.
 * - `api`: `{success: false, message}`
 * - `video`: `{code, message, data: null}`
 * - `openai-video`: the same with `error: {message, type, param, code}` beside it
 * - `model`: `{error: {message, type, param, code}}`
 * - `anthropic`: `{type: "error", error: {type, message}, request_id}`
 * - `gemini`: `{error: {code, message, status}}`
 * - `device`: `{success: false, error, message}`, HTTP 200 for every documented failure, missing fields included
 * - `oauth`: `{error, error_description}` (RFC 6749 section 5.2)
 * - `kling`, `jimeng`: in that vendor's own format, statuses and codes
 * - `page`: an HTML page
 */
export type EnvelopeKind =
  | 'api'
  | 'video'
  | 'openai-video'
  | 'model'
  | 'anthropic'
  | 'gemini'
  | 'device'
  | 'oauth'
  | 'kling'
  | 'jimeng'
  | 'page';

type Method = 'GET' | 'POST' | 'PUT' | 'DELETE';

/** One endpoint of the contract: server, SDK, CLI, console and OpenAPI follow from it. */
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
  /** The body may be omitted; the handler then receives `{}`. */
  readonly optionalBody?: boolean;
  /** The complete JSON body of a success; keys it does not name are not sent. Undefined: streams, files, pages. */
  readonly response?: TSchema;
  /** For the OpenAPI document only, where `response` leaves a value open because it is passed through as it is. */
  readonly documentedResponse?: TSchema;
  /** Media types of a success; default `application/json`. */
  readonly responseTypes?: readonly string[];
  /** Statuses with this body; default 200. */
  readonly responseStatuses?: readonly (200 | 201 | 202 | 204 | 206 | 302 | 303 | 304 | 416 | 503)[];
  /** Files of a multipart body, by field. */
  readonly files?: readonly string[];
  /** Members of a JSON body in which Base64 of 64 KiB and more is decoded: the body has only its start. */
  readonly imageFields?: readonly string[];
  /** Bytes; default 64 KiB. */
  readonly bodyLimit?: number;
  /** Bytes of a JSON body where it may be smaller than a multipart one; default `bodyLimit`. */
  readonly jsonBodyLimit?: number;
  /** Most values of a JSON body, elements and members all together; default 50 000. */
  readonly maxBodyValues?: number;
  /** Accepted body formats; default `json`. */
  readonly accepts?: 'json' | 'form' | 'json-or-multipart';
  /** The same endpoint under another spelling of its path: served, and left out of the OpenAPI document. */
  readonly isOtherSpelling?: boolean;
  /** The response holds tokens, passwords or keys: sent with `Cache-Control: no-store`. */
  readonly secret?: boolean;
  /** The response is large, and holds nothing secret beside what others wrote: sent as gzip where the caller accepts it. */
  readonly compressed?: boolean;
}

/** Declares an endpoint with its types kept. */
export const endpoint = <const E extends Endpoint>(declaration: E): E => declaration;

/** The static type of one part of an endpoint; `undefined` where it has none. */
export type EndpointPart<E extends Endpoint, Part extends 'params' | 'query' | 'body' | 'response'> = E extends {
  readonly [K in Part]: infer Schema extends TSchema;
}
  ? Static<Schema>
  : undefined;

/** Google's methods on a model, beside OpenAI's models of the same path. */
const GEMINI_CALL = /^\/v1\/models\/[^/]+:\w+\/$/;

/** Paths of the model APIs below a base URL whose version was left out. */
const UNVERSIONED_PATH =
  /^\/(?:chat\/completions|completions|responses|messages|embeddings|images\/generations|models\/[^?]+:\w+)\/?(?:\?|$)/;

/** Whether a client was given a base URL without the version it needs. */
export const lacksVersion = (url: string): boolean => UNVERSIONED_PATH.test(url);

/** The lists of models have one path for the clients of three vendors: Anthropic's name a version of their API, Google's have a header for the key. */
export const envelopeForClient = (
  envelope: EnvelopeKind,
  url: string,
  headers: Readonly<Record<string, unknown>>,
): EnvelopeKind =>
  envelope !== 'model' || !/^\/v1\/models(?:[/?]|$)/.test(url)
    ? envelope
    : headers['anthropic-version'] !== undefined
      ? 'anthropic'
      : headers['x-goog-api-key'] !== undefined
        ? 'gemini'
        : envelope;

/** The envelope of a path that matched no route. */
export function envelopeOfPath(url: string): EnvelopeKind {
  const path = `${url.split('?', 1)[0]}/`;
  if (path.startsWith('/api/')) return 'api';
  if (path.startsWith('/v1/video')) return 'openai-video';
  if (path.startsWith('/v1/messages/')) return 'anthropic';
  if (path.startsWith('/v1beta/') || GEMINI_CALL.test(path)) return 'gemini';
  if (path.startsWith('/kling/native/')) return 'kling';
  if (path.startsWith('/jimeng/native')) return 'jimeng';
  if (path.startsWith('/kling/') || path.startsWith('/jimeng/')) return 'video';
  if (/^\/v\d(?:beta)?\//.test(path) || lacksVersion(url)) return 'model';
  if (path.startsWith('/oauth/')) return 'oauth';
  return 'page';
}
