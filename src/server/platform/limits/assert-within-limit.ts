import type { ErrorCode } from '../../../contract/error-codes.ts';
import { defined } from '../../../contract/omit-undefined.ts';
import { AppError } from '../app-error.ts';
import type { RateLimitResult } from './rate-limits.ts';

/**
 * Turns a refused result into the error response with Retry-After.
 *
 * @param publicCode the error code for clients that know only the codes of RFC 6749 and RFC 8628
 * @throws rate_limit_exceeded
 */
export function assertWithinLimit(
  { allowed, retryAfterMs }: Pick<RateLimitResult, 'allowed' | 'retryAfterMs'>,
  publicCode?: ErrorCode,
): void {
  if (allowed) return;
  const seconds = Math.max(1, Math.ceil(retryAfterMs / 1000));
  throw new AppError('rate_limit_exceeded', defined({ params: { seconds }, retryAfterSeconds: seconds, publicCode }));
}
