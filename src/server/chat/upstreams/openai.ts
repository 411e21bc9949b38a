import type { Channel, ChannelNews } from '../../channels/channels.ts';
import { AppError } from '../../platform/errors.ts';
import { toWellFormedText } from '../../platform/json.ts';
import { maskSecrets } from '../../platform/log.ts';
import type { ConfiguredRequest, OutboundError } from '../../platform/outbound/outbound.ts';
import type { ErrorReason } from '../../video/vendor.ts';
import { asObject, type Untrusted } from '../untrusted.ts';
import { tryParse } from '../usage.ts';

/** Anything that speaks OpenAI's protocol. Source: platform.openai.com/docs/guides/error-codes. */

export interface UpstreamTimes {
  /** Until the answer begins; an answer that is not streamed begins when it is complete. */
  readonly firstByteMs: number;
  /** Longest silence inside an answer. */
  readonly idleMs: number;
  readonly totalMs: number;
}

export function toRequest(
  channel: Channel,
  path: string,
  body: Buffer,
  times: UpstreamTimes,
  headers: Readonly<Record<string, string>> = {},
): ConfiguredRequest {
  return {
    method: 'POST',
    url: channel.baseUrl + path,
    headers: {
      'accept-encoding': 'identity',
      'content-type': 'application/json',
      authorization: `Bearer ${keyOf(channel)}`,
      ...headers,
    },
    body,
    private: channel.private,
    headersTimeoutMs: times.firstByteMs,
    idleTimeoutMs: times.idleMs,
    totalTimeoutMs: times.totalMs,
  };
}

/** What an upstream's failure means: for the channel, for the next channel, and for the caller. */
export interface Refusal {
  readonly outcome: Exclude<ChannelNews['outcome'], 'ok'>;
  readonly retryable: boolean;
  readonly error: AppError;
  readonly message: string;
  readonly code: string;
  readonly retryAfterMs?: number;
}

const BY_STATUS: Readonly<Record<number, ErrorReason>> = {
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
const BY_CODE: Readonly<Record<string, ErrorReason>> = {
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
};

/** The fault lies with the channel, not with the request. */
const RETRYABLE: ReadonlySet<ErrorReason> = new Set(['auth', 'billing', 'model', 'rate', 'capacity']);

const MAX_MESSAGE = 2_000;
const MAX_RETRY_AFTER_S = 3_600;

/** Reads an answer that is no success. Never quotes the channel's key, whatever the upstream wrote. */
export function readRefusal(
  channel: Channel,
  path: string,
  status: number,
  headers: Readonly<Record<string, string>>,
  body: string,
): Refusal {
  const parsed = asObject(tryParse(body));
  const told = asObject(parsed?.error) ?? parsed ?? {};
  const refusal = toRefusal(channel, status, told, readRetryAfter(headers['retry-after']));
  return lacks(path, status, told) ? { ...refusal, outcome: 'missing' } : refusal;
}

/**
 * Whether this asked for something the channel does not have: an address besides chat, or vectors of a model that speaks
 * (OpenAI's 403 without a code). It says nothing of the calls of others, so the channel does not rest for it.
 */
function lacks(path: string, status: number, told: Untrusted): boolean {
  if (Object.hasOwn(BY_CODE, toCode(told))) return false;
  if (status === 404 || status === 405) return path !== CHAT_PATH;
  return status === 403 && told.type === 'invalid_request_error';
}

/** Every upstream of this kind has it. */
const CHAT_PATH = '/v1/chat/completions';

function toRefusal(channel: Channel, status: number, told: Untrusted, retryAfterMs: number | undefined): Refusal {
  const code = toCode(told);
  const reason =
    (Object.hasOwn(BY_CODE, code) ? BY_CODE[code] : undefined) ??
    BY_STATUS[status] ??
    // Redirects are not followed: it is the channel's address that is wrong.
    (status >= 500 || status < 400 ? 'capacity' : 'user');
  const message = mask(channel, typeof told.message === 'string' ? told.message : '').slice(0, MAX_MESSAGE);
  const param = typeof told.param === 'string' ? mask(channel, told.param).slice(0, 200) : undefined;
  return {
    outcome: reason,
    retryable: RETRYABLE.has(reason),
    message: message || `HTTP ${status}`,
    code,
    error: shown(reason, status, { message, code: mask(channel, code), param, retryAfterMs }),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  };
}

function shown(
  reason: ErrorReason,
  status: number,
  told: { message: string; code: string; param: string | undefined; retryAfterMs: number | undefined },
): AppError {
  if (reason === 'rate') {
    const seconds = Math.max(1, Math.ceil((told.retryAfterMs ?? 1_000) / 1_000));
    return new AppError('rate_limit_exceeded', { params: { seconds }, retryAfterSeconds: seconds });
  }
  if (reason === 'user' || reason === 'policy') {
    return new AppError('upstream_refused', {
      params: { detail: `The model provider refused the request with HTTP ${status}.` },
      ...(told.message === '' ? {} : { message: told.message }),
      ...(told.code === '' ? {} : { publicCode: told.code }),
      ...(told.param === undefined ? {} : { param: told.param }),
    });
  }
  if (status === 503) return new AppError('upstream_unavailable');
  return new AppError(status === 504 || status === 408 ? 'upstream_timeout' : 'upstream_error');
}

/** An error told inside a stream that had begun; there is nobody to ask in its place. */
export function readStreamError(channel: Channel, told: Untrusted): Refusal {
  const code = toCode(told);
  const status = typeof told.status === 'number' ? told.status : Number(/^[45]\d\d$/.exec(code)?.[0] ?? '502');
  return toRefusal(channel, status, told, undefined);
}

/** The same for exchanges that came to no answer. */
export function readLoss(error: OutboundError): Refusal {
  const late = isTimeout(error);
  return {
    outcome: 'unreachable',
    // A lost connection tells nothing before the first byte; a time-out has taken the caller's patience already.
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

const toCode = ({ code, type }: Untrusted): string => {
  const word =
    typeof code === 'string' ? code : typeof code === 'number' ? String(code) : typeof type === 'string' ? type : '';
  return /^[\w.:-]{1,100}$/.test(word) ? word : '';
};

/** Some upstreams quote the key they were sent. */
const mask = (channel: Channel, text: string): string => toWellFormedText(withoutKey(channel, maskSecrets(text)));

function withoutKey(channel: Channel, text: string): string {
  const key = keyOf(channel);
  return key.length < SHORTEST_KEY ? text : text.replaceAll(key, '[masked]');
}

const keyOf = ({ credentials }: Channel): string => String(credentials.api_key);

/** A shorter one would be found in any text. */
const SHORTEST_KEY = 6;

/** What an upstream said as it may go on: the very same bytes, unless they quote the channel's key. */
export function withoutKeyIn(channel: Channel, bytes: Buffer): Buffer {
  const key = keyOf(channel);
  if (key.length < SHORTEST_KEY || !bytes.includes(key)) return bytes;
  return Buffer.from(withoutKey(channel, bytes.toString('utf8')));
}

function readRetryAfter(text: string | undefined): number | undefined {
  return text !== undefined && /^\d{1,6}$/.test(text.trim())
    ? Math.min(Number(text), MAX_RETRY_AFTER_S) * 1_000
    : undefined;
}
