import { asObject, type UntrustedObject } from '../../contract/is-object.ts';
import { defined } from '../../contract/omit-undefined.ts';
import type { CallOutcome, Channel } from '../channels/directory.ts';
import { AppError } from '../platform/app-error.ts';
import { maskSecrets } from '../platform/log.ts';
import type { OutboundError } from '../platform/outbound/outbound.ts';
import { toWellFormedText } from '../platform/text.ts';
import { credentialMaskOf } from '../upstreams/upstream.ts';
import type { ErrorReason } from '../upstreams/vendor-errors.ts';
import { tryParse } from './try-parse-json.ts';

/** What the errors of chat upstreams mean. Sources: platform.openai.com/docs/guides/error-codes, docs.claude.com/en/api/errors. */

/** What an upstream's failure means: for the channel, for the next channel, and for the caller. */
export interface UpstreamFailure {
  readonly outcome: Exclude<CallOutcome['outcome'], 'ok'>;
  readonly retryable: boolean;
  readonly error: AppError;
  readonly message: string;
  readonly code: string;
  readonly retryAfterMs?: number | undefined;
}

const REASON_BY_STATUS: Readonly<Record<number, ErrorReason>> = {
  401: 'auth',
  402: 'billing',
  403: 'auth',
  404: 'capacity',
  405: 'capacity',
  408: 'capacity',
  409: 'capacity',
  429: 'rate',
};

/** Codes that say more than the status they come with. */
const REASON_BY_CODE: Readonly<Record<string, ErrorReason>> = {
  insufficient_quota: 'billing',
  billing_hard_limit_reached: 'billing',
  billing_not_active: 'billing',
  account_deactivated: 'auth',
  invalid_api_key: 'auth',
  unsupported_country_region_territory: 'auth',
  model_not_found: 'model',
  rate_limit_exceeded: 'rate',
  content_policy_violation: 'policy',
  content_filter: 'policy',
  moderation_blocked: 'policy',
  // Anthropic's types of errors, which come without a code.
  authentication_error: 'auth',
  permission_error: 'auth',
  billing_error: 'billing',
  not_found_error: 'model',
  rate_limit_error: 'rate',
  timeout_error: 'capacity',
  overloaded_error: 'capacity',
  api_error: 'capacity',
  // Google's words, which say more than the numbers beside them.
  UNAUTHENTICATED: 'auth',
  PERMISSION_DENIED: 'auth',
  FAILED_PRECONDITION: 'auth',
  RESOURCE_EXHAUSTED: 'rate',
  NOT_FOUND: 'model',
  UNAVAILABLE: 'capacity',
  INTERNAL: 'capacity',
  DEADLINE_EXCEEDED: 'capacity',
};

/** The fault lies with the channel, not with the request. */
const RETRYABLE_REASONS: ReadonlySet<ErrorReason> = new Set(['auth', 'billing', 'model', 'rate', 'capacity']);

const MAX_MESSAGE = 2_000;
const MAX_RETRY_AFTER_S = 3_600;

/** Parses an error response. The result contains none of the channel's secrets, even if the upstream repeats them. */
export function parseUpstreamError(
  channel: Channel,
  path: string,
  status: number,
  headers: Readonly<Record<string, string>>,
  body: string,
): UpstreamFailure {
  const value = tryParse(body);
  // Google wraps the error of a stream into a list.
  const parsed = asObject(Array.isArray(value) ? value[0] : value);
  const reported = asObject(parsed?.error) ?? parsed ?? {};
  const refusal = toUpstreamFailure(channel, status, reported, parseRetryAfter(headers['retry-after']));
  return isUnsupportedByChannel(path, status, reported) ? { ...refusal, outcome: 'missing' } : refusal;
}

/**
 * Whether the call requested something the channel does not have: an endpoint besides chat, or embeddings of a chat model
 * (OpenAI's 403 without a code). Other calls are not affected, so it does not open the channel's circuit.
 */
function isUnsupportedByChannel(path: string, status: number, told: UntrustedObject): boolean {
  if (Object.hasOwn(REASON_BY_CODE, toCode(told))) return false;
  if (status === 404 || status === 405) return path !== CHAT_PATH;
  return status === 403 && told.type === 'invalid_request_error';
}

/** Every upstream of this kind has it. */
const CHAT_PATH = '/v1/chat/completions';

function toUpstreamFailure(
  channel: Channel,
  status: number,
  told: UntrustedObject,
  retryAfterMs: number | undefined,
): UpstreamFailure {
  const code = toCode(told);
  const reason =
    (isOutOfCredit(told) ? 'billing' : undefined) ??
    (isWrongGoogleKey(told) ? 'auth' : undefined) ??
    (Object.hasOwn(REASON_BY_CODE, code) ? REASON_BY_CODE[code] : undefined) ??
    REASON_BY_STATUS[status] ??
    // Redirects are not followed: a redirect means that the channel's base URL is wrong.
    (status >= 500 || status < 400 ? 'capacity' : 'user');
  const message = mask(channel, typeof told.message === 'string' ? told.message : '').slice(0, MAX_MESSAGE);
  const shownCode = mask(channel, code);
  const param = typeof told.param === 'string' ? mask(channel, told.param).slice(0, 200) : undefined;
  return {
    outcome: reason,
    retryable: RETRYABLE_REASONS.has(reason),
    message: message || `HTTP ${status}`,
    code: shownCode,
    error: toClientError(reason, status, { message, code: shownCode, param, retryAfterMs }),
    retryAfterMs,
  };
}

/** Anthropic's only sign of an account without money, in an error of the type of wrong requests. */
const isOutOfCredit = ({ type, message }: UntrustedObject): boolean =>
  type === 'invalid_request_error' && typeof message === 'string' && /\bcredit balance is too low\b/.test(message);

/** Google answers 400 to a key it does not know. */
const isWrongGoogleKey = ({ details }: UntrustedObject): boolean =>
  Array.isArray(details) && details.some((each) => asObject(each)?.reason === 'API_KEY_INVALID');

function toClientError(
  reason: ErrorReason,
  status: number,
  details: { message: string; code: string; param: string | undefined; retryAfterMs: number | undefined },
): AppError {
  if (reason === 'rate') {
    const seconds = Math.max(1, Math.ceil((details.retryAfterMs ?? 1_000) / 1_000));
    return new AppError('rate_limit_exceeded', { params: { seconds }, retryAfterSeconds: seconds });
  }
  if (reason === 'user' || reason === 'policy') {
    const options = defined({
      params: { detail: `The model provider refused the request with HTTP ${status}.` },
      message: details.message || undefined,
      publicCode: details.code || undefined,
      param: details.param,
      status: isAboutRequest(status) ? status : undefined,
    });
    return new AppError('upstream_refused', options);
  }
  if (status === 503 || status === 529) {
    const seconds = details.retryAfterMs === undefined ? undefined : Math.ceil(details.retryAfterMs / 1_000);
    return new AppError('upstream_unavailable', defined({ retryAfterSeconds: seconds }));
  }
  return new AppError(status === 504 || status === 408 ? 'upstream_timeout' : 'upstream_error');
}

/** Statuses a caller may take for an answer of its own; those of credentials would speak of the wrong ones. */
const isAboutRequest = (status: number): boolean => status >= 400 && status < 500 && status !== 401 && status !== 407;

/** An error reported inside a stream that had begun; no other channel can be tried any more. */
export function parseStreamError(channel: Channel, told: UntrustedObject): UpstreamFailure {
  const code = toCode(told);
  const status = typeof told.status === 'number' ? told.status : Number(/^[45]\d\d$/.exec(code)?.[0] ?? '502');
  return toUpstreamFailure(channel, status, told, undefined);
}

/** The same for exchanges without a response. */
export function toConnectionFailure(error: OutboundError): UpstreamFailure {
  const late = isTimeout(error);
  return {
    outcome: 'unreachable',
    // A connection lost before the first byte may be retried; after a timeout the caller has already waited too long.
    retryable: !late && error.phase !== 'body',
    error: new AppError(late ? 'upstream_timeout' : error.phase === 'body' ? 'upstream_error' : 'upstream_unavailable'),
    message: error.message,
    code: error.phase,
  };
}

/** Our own clock ended it (no cause), or undici's. */
function isTimeout({ phase, cause }: OutboundError): boolean {
  if (phase !== 'sent' && phase !== 'body') return false;
  const code = (cause as { code?: unknown } | undefined)?.code;
  return cause === undefined || code === 'UND_ERR_HEADERS_TIMEOUT' || code === 'UND_ERR_BODY_TIMEOUT';
}

const toCode = ({ code, type, status }: UntrustedObject): string => {
  const word =
    typeof status === 'string' && typeof code === 'number'
      ? status
      : typeof code === 'string'
        ? code
        : typeof code === 'number'
          ? String(code)
          : typeof type === 'string'
            ? type
            : '';
  return /^[\w.:-]{1,100}$/.test(word) ? word : '';
};

/** Some upstreams quote the headers they were sent. */
const mask = (channel: Channel, text: string): string =>
  toWellFormedText(credentialMaskOf(channel).text(maskSecrets(text)));

function parseRetryAfter(text: string | undefined): number | undefined {
  return text !== undefined && /^\d{1,6}$/.test(text.trim())
    ? Math.min(Number(text), MAX_RETRY_AFTER_S) * 1_000
    : undefined;
}
