import { AppError } from '../platform/app-error.ts';
import type { UpstreamFailure } from './upstream-errors.ts';

/** Responses that began with success and proved invalid: no other channel is tried, as this one may have billed them. */
const invalidResponse = (message: string, code: string): UpstreamFailure => ({
  outcome: 'capacity',
  retryable: false,
  error: new AppError('upstream_error'),
  message,
  code,
});
export const responseTooLong = (): UpstreamFailure =>
  invalidResponse('the answer is longer than it may be', 'too_long');
export const malformedResponse = (): UpstreamFailure => invalidResponse('the answer is not JSON', 'malformed');
/** Nothing was generated, so another channel may be tried. */
export const emptyResponse = (): UpstreamFailure => ({
  ...invalidResponse('the answer is empty', 'empty'),
  retryable: true,
});
export const unknownStopReason = (reason: string): UpstreamFailure =>
  invalidResponse(`the answer ended for the reason ${reason}`, 'stop_reason');
export const onlyComments = (): UpstreamFailure => ({
  ...invalidResponse('the stream has comments and no events', 'comments'),
  error: new AppError('upstream_timeout'),
});
export const truncatedStream = (): UpstreamFailure => invalidResponse('the stream ended without its end', 'cut');

const CODES_THAT_IMPLY_NO_CHARGE: ReadonlySet<string> = new Set(['upstream_error', 'upstream_unavailable']);

/** A partial response is charged, so its error must not have a code that implies no charge. */
export const toPartialResponseError = (error: AppError): AppError =>
  CODES_THAT_IMPLY_NO_CHARGE.has(error.code) ? new AppError('answer_broken_off') : error;
