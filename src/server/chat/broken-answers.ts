import { AppError } from '../platform/errors.ts';
import type { Refusal } from './upstreams/openai.ts';

/** Answers that had begun well and came to nothing: no other channel is asked, as this one may have billed them. */
const broken = (message: string, code: string): Refusal => ({
  outcome: 'capacity',
  retryable: false,
  error: new AppError('upstream_error'),
  message,
  code,
});
export const tooLong = (): Refusal => broken('the answer is longer than it may be', 'too_long');
export const malformed = (): Refusal => broken('the answer is not JSON', 'malformed');
export const cutShort = (): Refusal => broken('the stream ended without its end', 'cut');

const SAYS_FREE: ReadonlySet<string> = new Set(['upstream_error', 'upstream_unavailable']);

/** Of an answer that is paid as far as it came nobody is told that it cost nothing. */
export const asBrokenOff = (error: AppError): AppError =>
  SAYS_FREE.has(error.code) ? new AppError('answer_broken_off') : error;
