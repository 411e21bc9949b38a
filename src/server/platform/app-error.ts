import { ERRORS, type ErrorCode } from '../../contract/error-codes.ts';
import type { Localized, MessageKey, MessageParams } from '../../contract/messages/format-message.ts';
import { defined } from '../../contract/objects.ts';

/** What a coded failure carries: what the caller may hear and, apart, what only the log may know. */
export interface AppErrorOptions {
  /** Fills the places of the code's text. */
  readonly params?: MessageParams;
  /** The field at fault, for OpenAI's `error.param`. */
  readonly param?: string;
  /** Another text of `contract/localized-messages` in place of the code's own. */
  readonly messageKey?: MessageKey;
  /** A text for the caller in place of the code's own (an upstream's words). */
  readonly message?: string;
  /** A code for the caller in place of ours, where the contract passes an upstream's through. */
  readonly publicCode?: string;
  /** A status for the caller in place of the code's own, where an upstream's is kept. */
  readonly status?: number;
  /** Seconds for the Retry-After header. */
  readonly retryAfterSeconds?: number;
  /** Further headers of the response, in lower case. */
  readonly headers?: Readonly<Record<string, string>>;
  /** Only for the log. */
  readonly log?: Readonly<Record<string, unknown>>;
  readonly cause?: unknown;
}

/** The one way a capability fails: a code of the contract's table. */
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

/** A failure of fields: HTTP 400 in every envelope. */
export const invalidRequest = (detail: string | Localized, param?: string): AppError =>
  new AppError('invalid_request', defined({ params: { detail }, param }));

/** A model outside what a token or a plan admits. */
export const modelNotAllowedError = (model: string): AppError =>
  new AppError('model_not_allowed', { params: { model }, param: 'model' });

/** The price of a model has no line for this request, so it cannot be charged and is not begun. */
export const noPriceError = (): AppError => invalidRequest('The model has no price for this request.');

export const notExistError = (what: string): AppError => new AppError('not_exist', { params: { what } });

export const isAppError = (error: unknown, code?: ErrorCode): error is AppError =>
  error instanceof AppError && (code === undefined || error.code === code) && error.code in ERRORS;
