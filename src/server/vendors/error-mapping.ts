import { defined } from '../../contract/omit-undefined.ts';
import { HOUR_MS } from '../../contract/time-units.ts';
import type { FailureCause } from '../../contract/video-failure-causes.ts';
import { type BufferedResponse, OutboundError } from '../platform/outbound/outbound-types.ts';
import { type ErrorReason, PollFailed, type VendorError } from '../upstreams/vendor-errors.ts';
import type { Json, QueryOutcome } from './adapter-types.ts';

/** What a vendor's code means; `retryable` and `cause` only where they differ from the reason's own. */
export interface ErrorClass {
  readonly reason: ErrorReason;
  readonly retryable?: boolean;
  readonly cause?: FailureCause;
}

/** The class of a failure whose code is missing or unknown. */
export const UNKNOWN_FAILURE: ErrorClass = { reason: 'other' };

/**
 * Whether another channel should be tried: where the fault lies with this channel, its account or its vendor, yes; where it
 * lies with the request, no.
 */
const RETRYABLE_BY_REASON: Readonly<Record<ErrorReason, boolean>> = {
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

const REASON_BY_STATUS: Readonly<Record<number, ErrorReason>> = {
  401: 'auth',
  402: 'billing',
  403: 'auth',
  404: 'user',
  408: 'capacity',
  409: 'capacity',
  429: 'rate',
};

/** The fallback where the vendor's own code is missing or unknown (RFC 9110 section 15). */
export function reasonForStatus(status: number): ErrorReason {
  if (status >= 500) return 'capacity';
  return REASON_BY_STATUS[status] ?? (status >= 400 ? 'user' : 'other');
}

const MAX_RETRY_AFTER_MS = HOUR_MS;

/** Retry-After in milliseconds, from seconds or an HTTP date (RFC 9110 section 10.2.3), at most an hour; invalid: undefined. */
export function parseRetryAfter(headers: Readonly<Record<string, string>>, nowMs: number): number | undefined {
  const text = headers['retry-after']?.trim() ?? '';
  const waitMs = /^\d{1,9}$/.test(text)
    ? Number(text) * 1_000
    : /^[A-Z][a-z]{2}, /.test(text)
      ? Date.parse(text) - nowMs
      : NaN;
  return waitMs >= 0 ? Math.min(waitMs, MAX_RETRY_AFTER_MS) : undefined;
}

/** Builds an error: by the vendor's code first, by the HTTP status where there is no known code. */
export function toVendorError(
  response: BufferedResponse,
  nowMs: number,
  details: {
    readonly code?: string;
    readonly message?: string;
    readonly param?: string;
    readonly meaning?: ErrorClass | undefined;
  },
): VendorError {
  const reason = details.meaning?.reason ?? reasonForStatus(response.status);
  return defined({
    reason,
    cause: details.meaning?.cause,
    retryable: details.meaning?.retryable ?? RETRYABLE_BY_REASON[reason],
    httpStatus: response.status,
    code: details.code ?? '',
    message: details.message || `The upstream answered HTTP ${response.status} without a reason.`,
    param: details.param,
    retryAfterMs: parseRetryAfter(response.headers, nowMs),
  });
}

/** A failure of the task itself, details by a poll's response. */
export function failedTask(
  raw: Json,
  details: {
    readonly reason: ErrorReason;
    readonly cause?: FailureCause | undefined;
    readonly code?: string;
    readonly message?: string | undefined;
    readonly httpStatus?: number | undefined;
  },
): QueryOutcome {
  const error: VendorError = defined({
    reason: details.reason,
    cause: details.cause,
    retryable: false,
    httpStatus: details.httpStatus ?? 200,
    code: details.code ?? '',
    message: details.message || 'The upstream says that the task failed, without a reason.',
  });
  return { state: 'FAILURE', error, raw };
}

/** Success without a video is a failure. */
export const successWithoutArtifact = (raw: Json, code = ''): QueryOutcome =>
  failedTask(raw, {
    reason: 'other',
    cause: 'no_result',
    code,
    message: 'The upstream says that the task succeeded, but gives no video.',
  });

/**
 * A submit response that is neither success nor refusal: HTTP 200 with a page, half a body, no id. The job may exist, so it
 * is thrown as a lost response and the submit is never repeated.
 */
export function ambiguousSubmit(response: BufferedResponse): OutboundError {
  return new OutboundError('body', `the upstream answered HTTP ${response.status} without a task id`, {
    mayHaveArrived: true,
  });
}

/** A poll whose response cannot be read, or is about another task. */
export const unreadablePoll = (response: BufferedResponse): PollFailed =>
  new PollFailed(`the upstream answered HTTP ${response.status} with something else than the task`);

/** A poll that was refused: too fast, wrong key, out of order. */
export const rejectedPoll = (error: VendorError): PollFailed => new PollFailed(error.message, error);
