import type { DeviceStatus } from '../../contract/device-auth.ts';
import type { ErrorCode } from '../../contract/error-codes.ts';
import type { DeviceCodeRow } from './device-code-store.ts';

/** The status of a record now; the only place where `expired` is decided. */
export function toDeviceCodeStatus(
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
