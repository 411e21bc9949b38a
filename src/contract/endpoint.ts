import type { Static, TSchema } from 'typebox';
import type { OrganizationRole } from './organization-roles.ts';

/**
 * Who may call an endpoint. Every endpoint declares a policy; a route without one fails to register.
 * - `public`: no authentication
 * - `account`: session, user access token or device access token, with the user-id header
 * - `owner`: session or user access token only, for operations that outlive a device sign-in or change the account
 * - `admin`, `root`: like `owner`, with that role or a higher one
 * - `model`: an `sk-` token, an llm_token, or an OAuth access_token with the scope `models`
 * - `mcp`: an `sk-` token, an llm_token, or an OAuth access_token for /mcp
 * - `claude-code`: an access_token of a Claude Code sign-in
 * - `self`: the handler authenticates the request itself (device logout, signed URLs, OAuth client authentication)
 */
export type Policy = 'public' | 'account' | 'owner' | 'admin' | 'root' | ModelPolicy | 'self';

/** Policies of programs that call models. */
export const MODEL_POLICIES = ['model', 'mcp', 'claude-code'] as const;
export type ModelPolicy = (typeof MODEL_POLICIES)[number];

/** Whether endpoints of the policy are for programs that call models. */
export const isModelPolicy = (policy: Policy): policy is ModelPolicy =>
  (MODEL_POLICIES as readonly string[]).includes(policy);

/**
 * Error format.
 * - `api`: `{success: false, message}`
 * - `video`: `{code, message, data: null}`
 * - `openai-video`: like `video`, plus `error: {message, type, param, code}`
 * - `model`: `{error: {message, type, param, code}}`
 * - `anthropic`: `{type: "error", error: {type, message}, request_id}`
 * - `gemini`: `{error: {code, message, status}}`
 * - `device`: `{success: false, error, message}`, HTTP 200 for every documented failure, missing fields included
 * - `oauth`: `{error, error_description}` (RFC 6749 section 5.2)
 * - `claude-code`: like `anthropic`, with the statuses and headers that Claude Code expects of a gateway
 * - `claude-code-oauth`: like `oauth`, likewise
 * - `mcp`: a JSON-RPC error response without the id of a request
 * - `kling`, `jimeng`: the vendor's own format, statuses and codes
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
  | 'claude-code'
  | 'claude-code-oauth'
  | 'mcp'
  | 'kling'
  | 'jimeng'
  | 'page';

type Method = 'GET' | 'POST' | 'PUT' | 'DELETE';

/** One endpoint of the contract. Server, SDK, CLI, console and OpenAPI document are derived from it. */
export interface Endpoint {
  readonly method: Method;
  /** In Fastify's syntax: `/api/tokens/:id`. */
  readonly path: string;
  /** One line, shown in the API reference. */
  readonly summary: string;
  /** Group in the API reference: `accounts`, `video`, … */
  readonly tag: string;
  readonly policy: Policy;
  readonly envelope: EnvelopeKind;
  readonly params?: TSchema;
  /** All query values arrive as strings. */
  readonly query?: TSchema;
  readonly body?: TSchema;
  /** The body may be omitted; the handler then receives `{}`. */
  readonly optionalBody?: boolean;
  /**
   * The complete JSON body of a success; keys missing from the schema are not sent. Undefined for streams, files and
   * pages.
   */
  readonly response?: TSchema;
  /** Used by the OpenAPI document only, where `response` leaves a pass-through value open. */
  readonly documentedResponse?: TSchema;
  /** Media types of a success; default `application/json`. */
  readonly responseTypes?: readonly string[];
  /** Statuses with this body; default 200. */
  readonly responseStatuses?: readonly (200 | 201 | 202 | 204 | 206 | 302 | 303 | 304 | 416 | 503)[];
  /** Names of the multipart fields that carry files. */
  readonly files?: readonly string[];
  /**
   * Members of a JSON body whose Base64 is decoded if it is 64 KiB or longer; the parsed body then holds only its
   * start.
   */
  readonly imageFields?: readonly string[];
  /** Bytes; default 64 KiB. */
  readonly bodyLimit?: number;
  /** Limit of a JSON body in bytes, where lower than the limit of a multipart body; default `bodyLimit`. */
  readonly jsonBodyLimit?: number;
  /** Maximum number of values in a JSON body, counting elements and members at every depth; default 50 000. */
  readonly maxBodyValues?: number;
  /**
   * Accepted body formats; default `json`. `upload`: a multipart form with one file of any size, which the handler reads
   * as it arrives; `body` then only documents the other parts. `discard`: any format and coding, received and dropped.
   */
  readonly accepts?: 'json' | 'form' | 'json-or-multipart' | 'upload' | 'discard';
  /** An alias of another endpoint's path: served, but omitted from the OpenAPI document. */
  readonly isOtherSpelling?: boolean;
  /** Also for accounts that still have to set up the second factor that `REQUIRE_SECOND_FACTOR` demands. */
  readonly withoutSecondFactor?: boolean;
  /**
   * Least role of a member for whom the endpoint acts for an organization, which the header `X-Organization` or the
   * credential names. Undefined: it concerns the person.
   */
  readonly organization?: OrganizationRole;
  /** Spends quota on a management path; refused to OAuth access_tokens, which spend on the model paths only. */
  readonly spends?: boolean;
  /** The response contains tokens, passwords or keys and is sent with `Cache-Control: no-store`. */
  readonly secret?: boolean;
  /**
   * The response is large and mixes no secrets with text written by others, so compression is safe where the caller
   * accepts it.
   */
  readonly compressed?: boolean;
}

/** Declares an endpoint and keeps its literal types. */
export const endpoint = <const E extends Endpoint>(declaration: E): E => declaration;

/** The static type of one part of an endpoint; `undefined` if the endpoint lacks that part. */
export type EndpointPart<E extends Endpoint, Part extends 'params' | 'query' | 'body' | 'response'> = E extends {
  readonly [K in Part]: infer Schema extends TSchema;
}
  ? Static<Schema>
  : undefined;

/** Google's model methods, which share a path prefix with OpenAI's list of models. */
const GEMINI_CALL = /^\/v1\/models\/[^/]+:\w+\/$/;

/** Base URLs without the version, of other services, or with the path of an endpoint. */
const WRONG_BASES = [
  '/openai(?:/v1|/deployments/[^/?]+)?',
  '/anthropic(?:/v1)?',
  '/gemini(?:/v1(?:beta)?)?',
  '/compatible-mode/v1',
  '/api(?:/paas)?/v\\d',
  '/v[3-9]',
  '/v1(?:beta)?/openai(?:/v1)?',
  '/v1/(?:chat/completions|responses|messages|embeddings)(?:/v1)?',
].join('|');
const MISPLACED_PATH = new RegExp(
  `^(?:${WRONG_BASES})?/(chat/completions|completions|responses|messages|embeddings|images/generations|models(?:/[^?]+:\\w+)?)/?(?:\\?|$)`,
);

/** The path that a client means whose base URL is wrong; undefined for other paths. */
export function intendedPath(url: string): string | undefined {
  const [, rest] = MISPLACED_PATH.exec(url) ?? [];
  return rest === undefined ? undefined : `/v1/${rest}`;
}

/**
 * Picks the error format by client, because one path of the model lists serves clients of three vendors. Anthropic's
 * clients send an API version header, Google's a key header.
 */
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

/** The error format of a path that matched no route. */
export function envelopeOfPath(url: string): EnvelopeKind {
  const path = `${url.split('?', 1)[0]}/`;
  if (intendedPath(url) !== undefined) return 'model';
  if (path.startsWith('/api/')) return 'api';
  if (path.startsWith('/v1/video')) return 'openai-video';
  if (path.startsWith('/v1/messages/')) return 'anthropic';
  if (path.startsWith('/v1beta/') || GEMINI_CALL.test(path)) return 'gemini';
  if (path.startsWith('/kling/native/')) return 'kling';
  if (path.startsWith('/jimeng/native')) return 'jimeng';
  if (path.startsWith('/kling/') || path.startsWith('/jimeng/')) return 'video';
  if (/^\/v\d(?:beta)?\//.test(path)) return 'model';
  if (path.startsWith('/oauth/') || path.endsWith('/backchannel-logout/')) return 'oauth';
  if (path.startsWith('/claude-code/oauth/')) return 'claude-code-oauth';
  if (path.startsWith('/claude-code/')) return 'claude-code';
  if (path.startsWith('/mcp/')) return 'mcp';
  return 'page';
}
