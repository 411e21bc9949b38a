import { createHash } from 'node:crypto';
import { invalidRequest } from '../../platform/app-error.ts';

/** A submit that is to happen once. */
export interface IdempotencyClaim {
  /** Whose key it is: keys of different scopes never meet. */
  readonly scope: number;
  readonly key: string;
  /** SHA-256 of everything two submits must have in common to be the same one. */
  readonly requestHash: string;
}

/**
 * The claim of a request with an Idempotency-Key; undefined without one.
 * @param content what was asked for: the body's bytes, and what else decides about the video
 * @throws AppError `invalid_request` for a key that is empty, too long or not visible ASCII
 */
export function toIdempotencyClaim(
  scope: number,
  key: string | string[] | undefined,
  content: () => readonly (Buffer | string)[],
): IdempotencyClaim | undefined {
  if (typeof key !== 'string') return undefined;
  if (!/^[\x21-\x7e]{1,255}$/.test(key))
    throw invalidRequest('Idempotency-Key must be 1 to 255 visible ASCII characters.', 'Idempotency-Key');
  const hash = createHash('sha256');
  for (const part of content()) hash.update(part);
  return { scope, key, requestHash: hash.digest('hex') };
}
