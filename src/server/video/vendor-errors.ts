import { type OutboundAnswer, OutboundError } from '../platform/outbound/outbound.ts';
import { CouldNotAsk, type ErrorReason, type Json, type QueryOutcome, type VendorError } from './vendor.ts';

/** What a vendor's code means; `retryable` only where it differs from its reason's own. */
export interface Meaning {
  readonly reason: ErrorReason;
  readonly retryable?: boolean;
}

/**
 * Whether another channel should be asked: where the fault lies with this channel, its account or its vendor, yes; where it
 * lies with the request, no.
 */
const RETRYABLE: Readonly<Record<ErrorReason, boolean>> = {
  user: false,
  policy: false,
  missing: false,
  other: false,
  rate: true,
  capacity: true,
  auth: true,
  billing: true,
  model: true,
};

const BY_STATUS: Readonly<Record<number, ErrorReason>> = {
  401: 'auth',
  402: 'billing',
  403: 'auth',
  404: 'user',
  408: 'capacity',
  409: 'capacity',
  429: 'rate',
};

/** The fallback where the vendor's own code says nothing (RFC 9110 section 15). */
export function reasonOfStatus(status: number): ErrorReason {
  if (status >= 500) return 'capacity';
  return BY_STATUS[status] ?? (status >= 400 ? 'user' : 'other');
}

const MAX_RETRY_AFTER_MS = 3_600_000;

/** Retry-After in milliseconds, from seconds or an HTTP date (RFC 9110 section 10.2.3), at most an hour; nonsense is absent. */
export function readRetryAfter(headers: Readonly<Record<string, string>>, nowMs: number): number | undefined {
  const text = headers['retry-after']?.trim() ?? '';
  const waitMs = /^\d{1,9}$/.test(text)
    ? Number(text) * 1_000
    : /^[A-Z][a-z]{2}, /.test(text)
      ? Date.parse(text) - nowMs
      : NaN;
  return waitMs >= 0 ? Math.min(waitMs, MAX_RETRY_AFTER_MS) : undefined;
}

/** Puts an error together: the vendor's meaning first, the HTTP status where there is none. */
export function toVendorError(
  answer: OutboundAnswer,
  nowMs: number,
  told: {
    readonly code?: string;
    readonly message?: string;
    readonly param?: string;
    readonly meaning?: Meaning | undefined;
  },
): VendorError {
  const reason = told.meaning?.reason ?? reasonOfStatus(answer.status);
  const retryAfterMs = readRetryAfter(answer.headers, nowMs);
  return {
    reason,
    retryable: told.meaning?.retryable ?? RETRYABLE[reason],
    httpStatus: answer.status,
    code: told.code ?? '',
    message: told.message || `The upstream answered HTTP ${answer.status} without a reason.`,
    ...(told.param === undefined ? {} : { param: told.param }),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  };
}

/** A failure of the task itself, told by a poll's answer. */
export function failedTask(
  raw: Json,
  told: {
    readonly reason: ErrorReason;
    readonly code?: string;
    readonly message?: string;
    readonly httpStatus?: number;
  },
): QueryOutcome {
  const error: VendorError = {
    reason: told.reason,
    retryable: false,
    httpStatus: told.httpStatus ?? 200,
    code: told.code ?? '',
    message: told.message || 'The upstream says that the task failed, without a reason.',
  };
  return { state: 'FAILURE', error, raw };
}

/** Success without a video is a failure. */
export const withoutArtifact = (raw: Json, code = ''): QueryOutcome =>
  failedTask(raw, { reason: 'other', code, message: 'The upstream says that the task succeeded, but gives no video.' });

/**
 * A submit whose answer says neither yes nor no: HTTP 200 with a page, half a body, no id. The job may exist, so the answer
 * is thrown as one that was lost and is never sent again.
 */
export function unreadable(answer: OutboundAnswer): OutboundError {
  return new OutboundError('body', `the upstream answered HTTP ${answer.status} without a task id`, {
    mayHaveArrived: true,
  });
}

/** A poll whose answer cannot be read, or is about another task. */
export const notAnAnswer = (answer: OutboundAnswer): CouldNotAsk =>
  new CouldNotAsk(`the upstream answered HTTP ${answer.status} with something else than the task`);

/** A poll that was refused: too fast, wrong key, out of order. */
export const refusedPoll = (error: VendorError): CouldNotAsk => new CouldNotAsk(error.message, error);
