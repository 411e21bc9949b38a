import { ERRORS, type ErrorCode } from '../../contract/error-codes.ts';
import type { Localized, MessageKey, MessageParams } from '../../contract/messages/format-message.ts';
import { defined } from '../../contract/objects.ts';

/** Contents of a coded error: the public part, and `log` for the log alone. */
export interface AppErrorOptions {
  /** Values for the placeholders of the code's message. */
  readonly params?: MessageParams;
  /** The invalid field, for OpenAI's `error.param`. */
  readonly param?: string;
  /** Another message of `contract/localized-messages`, replacing the code's own. */
  readonly messageKey?: MessageKey;
  /** A literal message for the caller, replacing the code's own (an upstream's words). */
  readonly message?: string;
  /** A code for the caller, replacing ours, where the contract passes on an upstream's. */
  readonly publicCode?: string;
  /** A status for the caller, replacing the code's own, where an upstream's is kept. */
  readonly status?: number;
  /** Quota that was left, where too little of it was. */
  readonly quotaLeft?: number;
  /** Seconds for the Retry-After header. */
  readonly retryAfterSeconds?: number;
  /** Additional response headers, in lower case. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Details for the log only. */
  readonly log?: Readonly<Record<string, unknown>>;
  readonly cause?: unknown;
}

/** The error type of all expected failures, with a code from the contract's table. */
export class AppError extends Error {
  readonly code: ErrorCode;
  readonly options: AppErrorOptions;
  constructor(code: ErrorCode, options: AppErrorOptions = {}) {
    super(options.message ?? code, { cause: options.cause });
    this.name = 'AppError';
    this.code = code;
    this.options = options;
  }
}

/** An invalid field: HTTP 400 in every envelope. */
export const invalidRequest = (detail: string | Localized, param?: string): AppError =>
  new AppError('invalid_request', defined({ params: { detail }, param }));

/** The error for a model that a token or a plan does not permit. */
export const modelNotAllowedError = (model: string): AppError =>
  new AppError('model_not_allowed', { params: { model }, param: 'model' });

/** The price of a model has no entry for this request, so the request cannot be charged and is not started. */
export const noPriceError = (): AppError => invalidRequest('The model has no price for this request.');

/** The error for a missing object. */
export const notExistError = (what: string): AppError => new AppError('not_exist', { params: { what } });

/** Whether an error is an AppError, optionally with the given code. */
export const isAppError = (error: unknown, code?: ErrorCode): error is AppError =>
  error instanceof AppError && (code === undefined || error.code === code) && error.code in ERRORS;
