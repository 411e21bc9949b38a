import { defined } from '../../../contract/omit-undefined.ts';
import { AppError } from '../../platform/app-error.ts';
import type { VendorError } from '../../upstreams/vendor-errors.ts';

/**
 * The error returned to the caller when every attempt was refused. A fault of the channel's own account is the operator's, so its
 * details go to the log only. Undefined: no channel could be reached.
 */
export function toUpstreamFailure(error: VendorError | undefined): AppError {
  if (error === undefined) return new AppError('upstream_unavailable');
  const log = { upstream: error };
  switch (error.reason) {
    case 'auth':
    case 'billing':
    case 'model':
      return new AppError('upstream_error', { log });
    case 'rate':
      return new AppError(
        'upstream_unavailable',
        defined({ log, retryAfterSeconds: error.retryAfterMs === undefined ? undefined : error.retryAfterMs / 1000 }),
      );
    case 'capacity':
      return new AppError('upstream_unavailable', { log });
    default:
      if (error.retryable) return new AppError('upstream_error', { log });
      return new AppError(
        'upstream_refused',
        defined({ message: error.message, publicCode: error.code || undefined, param: error.param }),
      );
  }
}
