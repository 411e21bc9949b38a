import { invalidRequest } from './app-error.ts';

/**
 * The Idempotency-Key of a request; undefined without one.
 * @param header its value in `request.headers`
 * @throws AppError `invalid_request` for a key that is empty, too long or not visible ASCII
 */
export function readIdempotencyKey(header: string | string[] | undefined): string | undefined {
  if (typeof header !== 'string') return undefined;
  if (!/^[\x21-\x7e]{1,255}$/.test(header))
    throw invalidRequest('Idempotency-Key must be 1 to 255 visible ASCII characters.', 'Idempotency-Key');
  return header;
}
