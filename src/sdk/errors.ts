/** Anything the service refused, in one form whichever envelope it came in. */
export class ReelgateError extends Error {
  /** HTTP status; 0 when there was no answer at all. */
  readonly status: number;
  /** The service's code, or `network`, `timeout`, `task_failed`, `not_json`, `broken_off`. */
  readonly code: string;
  readonly retryAfterSeconds: number | undefined;
  readonly requestId: string | undefined;
  /** The task it is about, where one was started: it is known to the service and may go on. */
  readonly taskId: string | undefined;

  constructor(
    message: string,
    details: {
      readonly status?: number;
      readonly code?: string;
      readonly retryAfterSeconds?: number | undefined;
      readonly requestId?: string | undefined;
      readonly taskId?: string | undefined;
      readonly cause?: unknown;
    } = {},
  ) {
    super(message, { cause: details.cause });
    this.name = 'ReelgateError';
    this.status = details.status ?? 0;
    this.code = details.code ?? 'unknown';
    this.retryAfterSeconds = details.retryAfterSeconds;
    this.requestId = details.requestId;
    this.taskId = details.taskId;
  }

  /** Whether the same request may succeed a little later. */
  get isPassing(): boolean {
    return (
      this.code === 'network' ||
      this.status === 429 ||
      this.status === 502 ||
      this.status === 503 ||
      this.status === 504
    );
  }
}

interface FailureBody {
  readonly success?: unknown;
  readonly code?: unknown;
  readonly message?: unknown;
  readonly error?: unknown;
  readonly error_description?: unknown;
}

/** Reads a failure out of an answer; undefined when the answer is a success. */
export function readFailure(status: number, headers: Headers, body: unknown): ReelgateError | undefined {
  const parts: FailureBody = typeof body === 'object' && body !== null ? body : {};
  if (status < 400 && parts.success !== false) return undefined;
  const nested = typeof parts.error === 'object' && parts.error !== null ? (parts.error as FailureBody) : {};
  const message = [nested.message, parts.message, parts.error_description].find(
    (each) => typeof each === 'string' && each !== '',
  );
  const code = [nested.code, parts.code, typeof parts.error === 'string' ? parts.error : undefined].find(
    (each) => typeof each === 'string' && each !== '',
  );
  const retryAfter = Number(headers.get('retry-after') ?? Number.NaN);
  return new ReelgateError(typeof message === 'string' ? message : `The service answered with status ${status}.`, {
    status,
    code: typeof code === 'string' ? code : status >= 400 ? `http_${status}` : 'refused',
    retryAfterSeconds: Number.isFinite(retryAfter) ? retryAfter : undefined,
    requestId: headers.get('x-request-id') ?? undefined,
  });
}
