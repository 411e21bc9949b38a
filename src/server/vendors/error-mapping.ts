import { asObject, defined } from '../../contract/objects.ts';
import type { FailureCause } from '../../contract/task-states.ts';
import { HOUR_MS } from '../../contract/time-units.ts';
import { type BufferedResponse, OutboundError } from '../platform/outbound/outbound.ts';
import { type ErrorReason, PollFailed, type VendorError } from '../upstreams/upstream.ts';
import type { Json, QueryOutcome } from './adapter.ts';
import { isSuccessWord } from './task-state.ts';
import { asArray, asCode } from './untrusted-json.ts';

/** Meaning of a vendor's code; `retryable` and `cause` only where they differ from the reason's own. */
export interface ErrorClass {
  readonly reason: ErrorReason;
  readonly retryable?: boolean;
  readonly cause?: FailureCause;
}

/** The class of a failure whose code is missing or unknown. */
export const UNKNOWN_FAILURE: ErrorClass = { reason: 'other' };

/**
 * Whether another channel should be tried: yes if the fault lies with this channel, its account or its vendor, no if it
 * lies with the request.
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

/**
 * Statuses of a gateway that timed out waiting for the vendor, which may have started the job: RFC 9110, Cloudflare.
 */
const GAVE_UP_WAITING: ReadonlySet<number> = new Set([504, 524]);

/**
 * Whether a refused submit may have started a job nevertheless:
 * a gateway timed out, and no code of the vendor says otherwise.
 */
export const mayHaveBegun = ({ status }: BufferedResponse, error: VendorError): boolean =>
  GAVE_UP_WAITING.has(status) && error.isPage === true;

/** Words of content checks in the messages and codes of all vendors. */
const POLICY_WORDS =
  /risk.?control|risk not pass|sensitive|content.?(?:security|safety|policy|filter|moderation)|moderat(?:ed|ion)|policy.?violation|violat\w* .{0,40}polic|prohibited|nsfw|safety (?:filter|system|check)|responsible ai|风控|敏感|违规|审核(?:不|未)通过/i;

/** Whether a vendor's text names its content check as the reason. */
export const isPolicyText = (text: string): boolean => POLICY_WORDS.test(text);

/** Members that hold a reason in words, or its code, at some vendor. */
const MESSAGE_KEYS = [
  ...['message', 'msg', 'error_message', 'errorMessage', 'error_msg', 'err_msg', 'errmsg', 'task_status_msg'],
  ...['status_msg', 'fail_reason', 'failReason', 'failure_reason', 'failureReason', 'fail_msg', 'failMsg', 'failure'],
  ...['reason', 'detail', 'details', 'description'],
] as const;
const CODE_KEYS = [
  ...['code', 'error_code', 'errorCode', 'err_code', 'errcode', 'failureCode', 'failure_code', 'fail_code'],
  ...['status_code', 'reason', 'type'],
] as const;
const NESTED_KEYS = ['error', 'err', 'errors', 'failure', 'base_resp', 'detail', 'details'] as const;
const MAX_REASON_DEPTH = 4;

/** A reason as the vendor reported it. */
export interface ToldReason {
  /** Empty where there is none. */
  readonly code: string;
  readonly message: string | undefined;
}

/**
 * Finds the reason of a failure, wherever the vendor or a gateway put it: a text, an object, or an object inside one of
 * those. The first place with a message wins, and the first with a code. Codes and messages of success are ignored.
 *
 * @param places the vendor's own place first
 */
export function readReason(...places: readonly unknown[]): ToldReason {
  let code: string | undefined;
  let message: string | undefined;
  const visit = (place: unknown, depth: number): void => {
    if (depth > MAX_REASON_DEPTH || (code !== undefined && message !== undefined)) return;
    if (typeof place === 'string') message ??= toReasonText(place);
    for (const item of asArray(place)?.slice(0, 3) ?? []) visit(item, depth + 1);
    const object = asObject(place);
    if (object === undefined) return;
    message ??= MESSAGE_KEYS.map((key) => toReasonText(object[key])).find((text) => text !== undefined);
    code ??= CODE_KEYS.map((key) => toReasonCode(object[key])).find((text) => text !== undefined);
    for (const key of NESTED_KEYS) visit(object[key], depth + 1);
  };
  for (const place of places) visit(place, 0);
  return { code: code ?? '', message };
}

function toReasonText(value: unknown): string | undefined {
  const text = typeof value === 'string' ? value.trim() : '';
  return text === '' || isSuccessCode(text) ? undefined : text;
}

function toReasonCode(value: unknown): string | undefined {
  const code = asCode(value);
  return code === undefined || isSuccessCode(code) || code.length > 100 ? undefined : code;
}

/** Whether an envelope's code, as `asCode` reads it, reports success: `0`, `200`, `success`, `ok`. */
export const isSuccessCode = (code: string): boolean => /^(?:0+|200|ok)$/i.test(code) || isSuccessWord(code);

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

/**
 * A 4xx or 3xx that did not come from the vendor: the connection
 * between channel and vendor is at fault, not the caller.
 */
const PAGE: ErrorClass = { reason: 'capacity' };

/**
 * Builds an error from the vendor's code, or from the HTTP status if the code is unknown.
 *
 * @param details `isPage`: the response lacks the vendor's envelope. Default: true if it has no code, message or known
 * meaning.
 */
export function toVendorError(
  response: BufferedResponse,
  nowMs: number,
  details: {
    readonly code?: string;
    readonly message?: string;
    readonly param?: string;
    readonly meaning?: ErrorClass;
    readonly isPage?: boolean;
  },
): VendorError {
  const { code = '', message = '', isPage = !code && !message && !details.meaning } = details;
  const meaning = details.meaning ?? classifyUnknown(response.status, `${code} ${message}`, isPage);
  return defined({
    reason: meaning.reason,
    cause: meaning.cause,
    retryable: meaning.retryable ?? RETRYABLE_BY_REASON[meaning.reason],
    httpStatus: response.status,
    code,
    message: message || `The upstream answered HTTP ${response.status} without a reason.`,
    param: details.param,
    retryAfterMs: parseRetryAfter(response.headers, nowMs),
    isPage: isPage || undefined,
  });
}

/** The class of an error without a known code. */
function classifyUnknown(status: number, text: string, isPage: boolean): ErrorClass {
  const reason = reasonForStatus(status);
  if (isPage) return status === 403 || reason === 'user' || reason === 'other' ? PAGE : { reason };
  return reason === 'user' && isPolicyText(text) ? { reason: 'policy' } : { reason };
}

/** A failure of the task itself, with the details of a poll's response. */
export function failedTask(
  raw: Json,
  details: {
    readonly reason: ErrorReason;
    readonly cause?: FailureCause;
    readonly code?: string;
    readonly message?: string;
    readonly httpStatus?: number;
  },
): QueryOutcome {
  const { code = '', message = '', cause } = details;
  const isPolicy = details.reason === 'other' && cause === undefined && isPolicyText(`${code} ${message}`);
  const error: VendorError = defined({
    reason: isPolicy ? 'policy' : details.reason,
    cause,
    retryable: false,
    httpStatus: details.httpStatus ?? 200,
    code,
    message: message || 'The upstream says that the task failed, without a reason.',
  });
  return { state: 'FAILURE', error, raw };
}

/** Treats success without a video as a failure. */
export const successWithoutArtifact = (raw: Json, code = ''): QueryOutcome =>
  failedTask(raw, {
    reason: 'other',
    cause: 'no_result',
    code,
    message: 'The upstream says that the task succeeded, but gives no video.',
  });

/**
 * A submit response that is neither success nor refusal: HTTP 200 with a page, half a body, no id. The job may exist,
 * so it is thrown as a lost response and the submit is never repeated.
 */
export function ambiguousSubmit(response: BufferedResponse): OutboundError {
  return new OutboundError('body', `the upstream answered HTTP ${response.status} without a task id`, {
    mayHaveArrived: true,
  });
}

/** A poll whose response cannot be read, contradicts itself or is about another task. */
export const unreadablePoll = (response: BufferedResponse): PollFailed =>
  new PollFailed(`the upstream answered HTTP ${response.status} with something else than the task`);

/** A poll that was refused: sent too early, with a wrong key, or during an outage. */
export const rejectedPoll = (error: VendorError): PollFailed => new PollFailed(error.message, error);
