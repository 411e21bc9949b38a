import { createPrivateKey, type KeyObject, sign } from 'node:crypto';
import { asObject, defined, type UntrustedObject } from '../../../contract/objects.ts';
import type { FailureCause } from '../../../contract/task-states.ts';
import { type BufferedResponse, OutboundError } from '../../platform/outbound/outbound.ts';
import type { AdapterContext, ErrorReason, VendorError } from '../../upstreams/upstream.ts';
import type { Json, QueryOutcome } from '../adapter.ts';
import {
  classifyByWords,
  type ErrorClass,
  failedTask,
  isPolicyText,
  readReason,
  reasonForStatus,
  toVendorError,
} from '../json-calls.ts';
import { asArray, asText, isSuccessStatus, ownEntry } from '../untrusted-json.ts';

interface StatusRow {
  readonly grpc: number;
  readonly http: number;
  readonly reason: ErrorReason;
}

/**
 * Google's canonical codes (google/rpc/code.proto): HTTP errors carry the name, operations the number.
 *
 * FAILED_PRECONDITION means disabled billing or an unsupported region, so another account may succeed; INTERNAL is also
 * reported by an overloaded Veo inside an operation.
 */
export const GOOGLE_STATUS: Readonly<Record<string, StatusRow>> = {
  CANCELLED: { grpc: 1, http: 499, reason: 'other' },
  UNKNOWN: { grpc: 2, http: 500, reason: 'capacity' },
  INVALID_ARGUMENT: { grpc: 3, http: 400, reason: 'user' },
  DEADLINE_EXCEEDED: { grpc: 4, http: 504, reason: 'capacity' },
  NOT_FOUND: { grpc: 5, http: 404, reason: 'missing' },
  ALREADY_EXISTS: { grpc: 6, http: 409, reason: 'other' },
  PERMISSION_DENIED: { grpc: 7, http: 403, reason: 'auth' },
  RESOURCE_EXHAUSTED: { grpc: 8, http: 429, reason: 'rate' },
  FAILED_PRECONDITION: { grpc: 9, http: 400, reason: 'billing' },
  ABORTED: { grpc: 10, http: 409, reason: 'capacity' },
  OUT_OF_RANGE: { grpc: 11, http: 400, reason: 'user' },
  UNIMPLEMENTED: { grpc: 12, http: 501, reason: 'model' },
  INTERNAL: { grpc: 13, http: 500, reason: 'capacity' },
  UNAVAILABLE: { grpc: 14, http: 503, reason: 'capacity' },
  DATA_LOSS: { grpc: 15, http: 500, reason: 'capacity' },
  UNAUTHENTICATED: { grpc: 16, http: 401, reason: 'auth' },
};

/** `google.rpc.ErrorInfo.reason` in `details`, which is more specific than the canonical code. */
export const ERROR_INFO: Readonly<Record<string, ErrorReason>> = {
  // Google reports an invalid Gemini key as 400, where other vendors return 401.
  API_KEY_INVALID: 'auth',
  API_KEY_EXPIRED: 'auth',
  API_KEY_SERVICE_BLOCKED: 'auth',
  ACCESS_TOKEN_EXPIRED: 'auth',
  SERVICE_DISABLED: 'auth',
  CONSUMER_SUSPENDED: 'auth',
  BILLING_DISABLED: 'billing',
  RATE_LIMIT_EXCEEDED: 'rate',
};

/** Refused content is an INVALID_ARGUMENT like any other, and only its text differs. Veo ends it with support codes. */
const POLICY_PATTERN =
  /support codes?:|usage guidelines|responsible ai|safety (?:filter|polic|violation)|harmful content/i;

/** Whether a message reports refused content. */
export const isRefusalText = (message: string): boolean => POLICY_PATTERN.test(message) || isPolicyText(message);

/** Support codes of filters against likenesses (Vertex AI, "Responsible AI for Veo": celebrity, person or face). */
const LIKENESS_PATTERN = /\b(?:29310472|15236754|39322892)\b|celebrit|likeness/i;

/** A more specific cause than `policy`, if the text of a refusal contains one. */
export const refusalCause = (message: string): FailureCause | undefined =>
  LIKENESS_PATTERN.test(message) ? 'likeness_refused' : undefined;

const parseDetails = (error: UntrustedObject): readonly UntrustedObject[] =>
  (asArray(error.details) ?? []).map(asObject).filter((detail) => detail !== undefined);

/** RetryInfo's protobuf duration as JSON writes it: seconds and an `s`, such as `34.5s`. */
function parseRetryDelay(details: readonly UntrustedObject[]): number | undefined {
  for (const { retryDelay } of details) {
    const match = /^(\d{1,4}(?:\.\d+)?)s$/.exec(asText(retryDelay) ?? '');
    if (match) return Math.round(Number(match[1]) * 1000);
  }
  return undefined;
}

function refineReason(reason: ErrorReason, message: string, details: readonly UntrustedObject[]): ErrorReason {
  for (const detail of details) {
    const word = asText(detail.reason) ?? '';
    const meaning = ownEntry(ERROR_INFO, word);
    if (meaning) return meaning;
  }
  return reason === 'user' && isRefusalText(message) ? 'policy' : reason;
}

/**
 * The name of an error code. Interactions give an error's type as a text or a URI, in its last segment: `…/not_found`
 * is `NOT_FOUND`.
 */
export const toCode = (code: unknown): string => (asText(code)?.split(/[/#]/).at(-1) ?? '').toUpperCase();

/**
 * Parses an HTTP error of either route: `{error: {code, message,
 * status, details}}`, which some proxies put into an array.
 *
 * @param notFound Meaning of NOT_FOUND: at a submit the model is withdrawn or was never enabled for this account, which
 * another channel may not share; later the operation is gone.
 */
export function parseGoogleError(
  response: BufferedResponse,
  nowMs: number,
  notFound: 'model' | 'missing',
): VendorError {
  const outer = asObject(asArray(response.json)?.[0] ?? response.json);
  const error = asObject(outer?.error) ?? {};
  const details = parseDetails(error);
  const reported = readReason(error, outer);
  const code = asText(error.status) ?? (toCode(error.code) || reported.code);
  const message = reported.message ?? '';
  if (code === '' && message === '') return toVendorError(response, nowMs, {});
  const row = ownEntry(GOOGLE_STATUS, code) ?? classifyByWords({ code, message });
  const reason = refineReason(
    row?.reason ?? (response.status === 404 ? 'missing' : reasonForStatus(response.status)),
    message,
    details,
  );
  const cause = reason === 'policy' ? refusalCause(message) : undefined;
  const meaning: ErrorClass = defined({ reason: reason === 'missing' ? notFound : reason, cause });
  const read = toVendorError(response, nowMs, { code, message, meaning });
  const delayMs = parseRetryDelay(details);
  return delayMs === undefined ? read : { ...read, retryAfterMs: delayMs };
}

/** Parses `error` of a finished operation, `{code, message, details?}`; the number is mapped to its canonical name. */
export function toFailedOperation(error: UntrustedObject, raw: Json): QueryOutcome {
  const found = Object.entries(GOOGLE_STATUS).find(([, row]) => row.grpc === error.code);
  const { message = '' } = readReason(error);
  const code = found?.[0] ?? (typeof error.code === 'number' ? String(error.code) : '');
  const reason = refineReason(found?.[1].reason ?? 'other', message, parseDetails(error));
  const cause = reason === 'policy' ? refusalCause(message) : code === 'CANCELLED' ? 'cancelled' : undefined;
  return failedTask(raw, { reason, cause, code, message, httpStatus: found?.[1].http });
}

/** The used fields of a Google service-account key file. */
export interface ServiceAccount {
  readonly client_email: string;
  /** PKCS #8 in PEM. */
  readonly private_key: string;
  readonly private_key_id?: string;
  readonly token_uri?: string;
}

const DEFAULT_TOKEN_URI = 'https://oauth2.googleapis.com/token';
const SCOPE = 'https://www.googleapis.com/auth/cloud-platform';
const GRANT_TYPE = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
const ASSERTION_LIFETIME_SECONDS = 3600;
/** A token is replaced this long before it expires, so that none expires between sending a request and its verification. */
const RENEWAL_MARGIN_MS = 5 * 60_000;
const MIN_LIFETIME_SECONDS = 60;

/** No access token could be obtained; nothing was sent to the video service, so another channel may be tried safely. */
export class TokenRequestFailed extends Error {
  readonly error: VendorError;
  constructor(error: VendorError) {
    super(error.message);
    this.name = 'TokenRequestFailed';
    this.error = error;
  }
}

const invalidServiceAccount = (message: string): TokenRequestFailed =>
  new TokenRequestFailed({ reason: 'auth', retryable: true, httpStatus: 0, code: 'service_account', message });

const toBase64Url = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');

/**
 * Signs the assertion of RFC 7523 section 2.1, as Google's service accounts use it: RS256, one hour.
 *
 * @param nowMs Unix milliseconds.
 */
function signAssertion(account: ServiceAccount, key: KeyObject, audience: string, nowMs: number): string {
  const issuedAt = Math.floor(nowMs / 1000);
  const header = { alg: 'RS256', typ: 'JWT', kid: account.private_key_id };
  const claims = {
    iss: account.client_email,
    scope: SCOPE,
    aud: audience,
    iat: issuedAt,
    exp: issuedAt + ASSERTION_LIFETIME_SECONDS,
  };
  const text = `${toBase64Url(header)}.${toBase64Url(claims)}`;
  return `${text}.${sign('RSA-SHA256', Buffer.from(text), key).toString('base64url')}`;
}

function parsePrivateKey(pem: string): KeyObject {
  try {
    // In keys passed through an environment variable the line ends are written as `\n`.
    return createPrivateKey(pem.replaceAll('\\n', '\n'));
  } catch {
    throw invalidServiceAccount("the service account's private_key is not a readable PEM key");
  }
}

/**
 * The URL for assertions, which the key file contains; plain HTTP is accepted only when the channel itself is private.
 */
function tokenUriOf(account: ServiceAccount, context: AdapterContext): string {
  const text = account.token_uri ?? DEFAULT_TOKEN_URI;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol === 'https:' || (url?.protocol === 'http:' && context.options.private === true)) return text;
  throw invalidServiceAccount("the service account's token_uri must be an https address");
}

/**
 * Exchanges the service account's key for an access token.
 * @throws TokenRequestFailed
 */
async function fetchToken(
  account: ServiceAccount,
  context: AdapterContext,
): Promise<{ value: string; expiresAtMs: number }> {
  const url = tokenUriOf(account, context);
  const assertion = signAssertion(account, parsePrivateKey(account.private_key), url, context.now());
  const response = await context.sendJson({
    method: 'POST',
    url,
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({ grant_type: GRANT_TYPE, assertion }).toString(),
    signal: context.signal,
  });
  const reply = asObject(response.json) ?? {};
  const token = asText(reply.access_token);
  if (isSuccessStatus(response) && token !== undefined) {
    const lifeS = typeof reply.expires_in === 'number' ? reply.expires_in : MIN_LIFETIME_SECONDS;
    const lifeMs = Math.min(Math.max(lifeS, MIN_LIFETIME_SECONDS), ASSERTION_LIFETIME_SECONDS) * 1000;
    return { value: token, expiresAtMs: context.now() + Math.max(lifeMs - RENEWAL_MARGIN_MS, lifeMs / 2) };
  }
  // RFC 6749 section 5.2: `error` is a string here; it is an object in all other APIs of Google.
  const code = asText(reply.error);
  if (code !== undefined) {
    const message = asText(reply.error_description) ?? code;
    throw new TokenRequestFailed({ reason: 'auth', retryable: true, httpStatus: response.status, code, message });
  }
  // Neither a token nor a refusal (a gateway's page): the exchange failed, whatever the status.
  const error = parseGoogleError(response, context.now(), 'missing');
  throw new TokenRequestFailed({ ...error, reason: error.reason === 'rate' ? 'rate' : 'capacity', retryable: true });
}

/**
 * An access token of the channel's service account, fetched about once an hour.
 *
 * @param rejected A token the vendor has just refused, which must be replaced.
 * @throws TokenRequestFailed
 */
export async function accessToken(
  account: ServiceAccount,
  context: AdapterContext,
  rejected?: string,
): Promise<string> {
  const key = `google:${account.client_email}:${account.private_key_id ?? ''}`;
  try {
    return await context.cachedSecret(key, () => fetchToken(account, context), rejected);
  } catch (error) {
    // If the token request itself failed, the generation was never sent, so its outcome is certain.
    if (!(error instanceof OutboundError)) throw error;
    if (error.phase === 'aborted') throw new OutboundError('aborted', error.message, { mayHaveArrived: false });
    throw new TokenRequestFailed({
      reason: 'capacity',
      retryable: true,
      httpStatus: 0,
      code: '',
      message: 'no access token: the token endpoint could not be reached',
    });
  }
}
