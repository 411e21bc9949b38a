/** Any error of the service, in one format whichever envelope it was sent in. */
export class ReelgateError extends Error {
  /** HTTP status; 0 when there was no response. */
  readonly status: number;
  /** The service's code, or `network`, `timeout`, `task_failed`, `not_json`, `broken_off`. */
  readonly code: string;
  readonly retryAfterSeconds: number | undefined;
  readonly requestId: string | undefined;
  /** The task it is about, where one was started: the service knows it and may still be working on it. */
  readonly taskId: string | undefined;

  constructor(
    message: string,
    details: {
      readonly status?: number;
      readonly code?: string;
      readonly retryAfterSeconds?: number;
      readonly requestId?: string;
      readonly taskId?: string;
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

interface ErrorBody {
  readonly success?: unknown;
  readonly code?: unknown;
  readonly message?: unknown;
  readonly error?: unknown;
  readonly error_description?: unknown;
}

/** Parses the error of a response; undefined when the response is a success. */
export function parseErrorResponse(status: number, headers: Headers, body: unknown): ReelgateError | undefined {
  const fields: ErrorBody = typeof body === 'object' && body !== null ? body : {};
  if (status < 400 && fields.success !== false) return undefined;
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
    code: typeof code === 'string' ? code : status >= 400 ? `http_${status}` : 'refused',
    retryAfterSeconds: Number.isFinite(retryAfter) ? retryAfter : undefined,
    requestId: headers.get('x-request-id') ?? undefined,
  });
}
