import type { DeviceStatus } from '../../contract/device-auth.ts';
import type { ErrorCode } from '../../contract/errors.ts';
import type { DeviceCodeRow } from './device-code-store.ts';

/** How long the record of an ended code, or of an approval that no device collected, is kept to report what happened. */
export const ENDED_CODE_RETENTION_MS = 24 * 60 * 60_000;

/**
 * How long a sign-in may be renewed, from its approval on (OWASP ASVS 5.0, 10.4.8): a stolen chain of refresh_tokens
 * ends as well.
 */
export const MAX_SIGN_IN_MS = 365 * 24 * 60 * 60_000;

/** The status of a record now; the only place where `expired` is decided. */
export function toDeviceStatus(
  code: Pick<DeviceCodeRow, 'status' | 'expires_at'> | undefined,
  now: number,
): DeviceStatus {
  if (code === undefined) return 'invalid';
  return code.status === 'pending' && code.expires_at <= now ? 'expired' : code.status;
}

/** Why a code that is not pending cannot be decided, logged in for or approved. */
export const ERROR_BY_STATUS: Readonly<Record<Exclude<DeviceStatus, 'pending'>, ErrorCode>> = {
  invalid: 'user_code_invalid',
  expired: 'user_code_expired',
  approved: 'user_code_processed',
  denied: 'user_code_processed',
  used: 'user_code_processed',
};
