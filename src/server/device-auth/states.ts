import type { DeviceStatus } from '../../contract/device-auth.ts';
import type { ErrorCode } from '../../contract/errors.ts';
import type { CodeRow } from './code-store.ts';

/** How long a code that came to an end, or an approval nobody collected, still tells what happened. */
export const TOMBSTONE_MS = 24 * 60 * 60_000;

/**
 * How long a sign-in may be renewed, from its approval on (OWASP ASVS 5.0, 10.4.8): a stolen chain of refresh_tokens has an
 * end too.
 */
export const AUTHORIZATION_MS = 365 * 24 * 60 * 60_000;

/** The state of a record now; the one place where `expired` is decided. */
export function stateOf(code: Pick<CodeRow, 'status' | 'expires_at'> | undefined, now: number): DeviceStatus {
  if (code === undefined) return 'invalid';
  return code.status === 'pending' && code.expires_at <= now ? 'expired' : code.status;
}

/** Why a code that is not pending cannot be decided, logged in for or approved. */
export const REFUSAL_OF: Readonly<Record<Exclude<DeviceStatus, 'pending'>, ErrorCode>> = {
  invalid: 'user_code_invalid',
  expired: 'user_code_expired',
  approved: 'user_code_processed',
  denied: 'user_code_processed',
  used: 'user_code_processed',
};
