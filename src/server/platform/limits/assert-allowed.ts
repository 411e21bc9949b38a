import type { ErrorCode } from '../../../contract/errors.ts';
import { AppError } from '../errors.ts';
import type { LimitVerdict } from './limits.ts';

/**
 * Turns a refused verdict into the answer with Retry-After.
 *
 * @param publicCode the word for clients that know only the codes of RFC 6749 and RFC 8628
 * @throws rate_limit_exceeded
 */
export function assertAllowed(
  { allowed, retryAfterMs }: Pick<LimitVerdict, 'allowed' | 'retryAfterMs'>,
  publicCode?: ErrorCode,
): void {
  if (allowed) return;
  const seconds = Math.max(1, Math.ceil(retryAfterMs / 1000));
  throw new AppError('rate_limit_exceeded', {
    params: { seconds },
    retryAfterSeconds: seconds,
    ...(publicCode === undefined ? {} : { publicCode }),
  });
}
