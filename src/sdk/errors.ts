import type { ErrorCode } from '../contract/error-codes.ts';

/** Error codes of the service; docs/errors.md describes each. */
export type ServiceErrorCode = ErrorCode;

/**
 * Error codes set by the client itself.
 * - `network`: no response; `timeout`: the waiting time elapsed; `not_json`: the response is not from this service
 * - `task_failed`: the video failed; the message contains the reason
 * - `broken_off`: a model's answer ended too early; `not_a_stream`: the response to a stream request is not a stream
 * - `refused`: a method of the account was refused for a reason that only the message states. The names in parentheses
 *   behind it are those of docs/errors.md
 * - `unknown`: the response had no code
 */
export type ClientErrorCode =
  | 'network'
  | 'timeout'
  | 'not_json'
  | 'task_failed'
  | 'broken_off'
  | 'not_a_stream'
  | 'refused'
  | 'unknown';

/**
 * Codes known to this release, `http_<status>` for responses without a code, and codes of later releases and upstreams.
 */
export type ReelgateErrorCode = ServiceErrorCode | ClientErrorCode | `http_${number}` | (string & {});

/** Details of an error besides its message. */
export interface ReelgateErrorDetails {
  /** HTTP status; default 0. */
  readonly status?: number;
  /** Default `unknown`. */
  readonly code?: ReelgateErrorCode;
  /** Seconds, from the Retry-After header. */
  readonly retryAfterSeconds?: number;
  /** From the X-Request-Id header. */
  readonly requestId?: string;
  /** Id of the task the error concerns. */
  readonly taskId?: string;
  /** The error that caused this one. */
  readonly cause?: unknown;
}

/** Any error of the service, in one format for all envelopes. */
export class ReelgateError extends Error {
  /** HTTP status; 0 when there was no response. */
  readonly status: number;
  /** Error code for programs; compare the code, not the message. */
  readonly code: ReelgateErrorCode;
  /** Seconds until the service accepts the request again; undefined if the response has no Retry-After. */
  readonly retryAfterSeconds: number | undefined;
  /** Id of the response, with which an administrator can find the request in the log. */
  readonly requestId: string | undefined;
  /** Task the error concerns, if one was started; the service may still be working on it. */
  readonly taskId: string | undefined;

  /** @internal */
  constructor(message: string, details: ReelgateErrorDetails = {}) {
    super(message, { cause: details.cause });
    this.name = 'ReelgateError';
    this.status = details.status ?? 0;
    this.code = details.code ?? 'unknown';
    this.retryAfterSeconds = details.retryAfterSeconds;
    this.requestId = details.requestId;
    this.taskId = details.taskId;
  }

  /** Whether the same request may succeed later. */
  get isTransient(): boolean {
    return (
      this.code === 'network' ||
      this.status === 429 ||
      this.status === 502 ||
      this.status === 503 ||
      this.status === 504
    );
  }
}

/** @internal The error for the page of a proxy in place of a response. */
export const notJsonError = (status: number): ReelgateError =>
  new ReelgateError('The service did not respond with JSON. Is the URL right?', { status, code: 'not_json' });

/**
 * @internal
 * Whether an error leaves the state of the requested object unknown: no response, a rate limit, a failing service, or
 * the page of a proxy. Methods that wait keep polling after such an error.
 */
export const isOutage = (error: ReelgateError): boolean =>
  error.isTransient || error.status >= 500 || error.code === 'not_json';

/** @internal */
interface ErrorBody {
  readonly success?: unknown;
  readonly code?: unknown;
  readonly message?: unknown;
  readonly error?: unknown;
  readonly error_description?: unknown;
}

/** @internal Parses the error of a response; undefined when the response is a success. */
export function parseErrorResponse(status: number, headers: Headers, body: unknown): ReelgateError | undefined {
  const fields: ErrorBody = typeof body === 'object' && body !== null ? body : {};
  return status < 400 && fields.success !== false ? undefined : toResponseError(status, headers, fields);
}

/**
 * @internal Returns a response that is still to be read.
 *
 * @throws ReelgateError if its status is not one of a success
 */
export async function throwForStatus(response: Response): Promise<Response> {
  if (response.ok) return response;
  const body: unknown = await response.json().catch(() => undefined);
  throw toResponseError(response.status, response.headers, typeof body === 'object' && body !== null ? body : {});
}

/** Codes of the errors that methods of the account report without one, by their status. */
const CODES_BY_STATUS: Readonly<Record<number, ErrorCode>> = {
  400: 'invalid_request',
  401: 'unauthorized',
  403: 'forbidden',
  429: 'rate_limit_exceeded',
};

function toResponseError(status: number, headers: Headers, fields: ErrorBody): ReelgateError {
  const nested = typeof fields.error === 'object' && fields.error !== null ? (fields.error as ErrorBody) : {};
  const message = [nested.message, fields.message, fields.error_description].find(
    (each) => typeof each === 'string' && each !== '',
  );
  const code = [nested.code, fields.code, typeof fields.error === 'string' ? fields.error : undefined].find(
    (each) => typeof each === 'string' && each !== '',
  );
  const retryAfter = Number(headers.get('retry-after') ?? Number.NaN);
  return new ReelgateError(typeof message === 'string' ? message : `The service answered with status ${status}.`, {
    status,
    code: typeof code === 'string' ? code : codeOfStatus(status, fields.success === false),
    retryAfterSeconds: Number.isFinite(retryAfter) ? retryAfter : undefined,
    requestId: headers.get('x-request-id') ?? undefined,
  });
}

/** @param isEnvelope whether the service itself responded, and no proxy */
function codeOfStatus(status: number, isEnvelope: boolean): ReelgateErrorCode {
  if (status < 400) return 'refused';
  return (isEnvelope ? CODES_BY_STATUS[status] : undefined) ?? `http_${status}`;
}
