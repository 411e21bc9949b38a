import type { ErrorCode } from '../../contract/error-codes.ts';
import type { DeviceClient } from './client-service.ts';
import { toDeviceCodeStatus } from './device-code-status.ts';
import type { DeviceCodeRow } from './device-code-store.ts';

/** What is known when a device polls. */
export interface Poll {
  /** The client whose id and secret were right; undefined: they were not. */
  readonly client: DeviceClient | undefined;
  /** The record of the device_code. */
  readonly code: DeviceCodeRow | undefined;
  readonly now: number;
}

interface TokenCheck {
  readonly failure: ErrorCode;
  isFailing(poll: Poll): boolean;
}

const hasStatus = (state: ReturnType<typeof toDeviceCodeStatus>) => (poll: Poll) =>
  toDeviceCodeStatus(poll.code, poll.now) === state;

/**
 * The order of the checks of a poll; the first check that fails determines the error. The format of the request is checked
 * before them (`invalid_request`), the account's state after them, in the transaction that issues the tokens. A wrong secret
 * reveals nothing about the code, and polling too fast never hides that a code has ended.
 */
export const POLL_CHECKS: readonly TokenCheck[] = [
  { failure: 'invalid_client', isFailing: ({ client }) => client === undefined },
  { failure: 'device_code_invalid', isFailing: hasStatus('invalid') },
  { failure: 'device_code_invalid', isFailing: ({ client, code }) => code?.client_id !== client?.id },
  { failure: 'device_code_used', isFailing: hasStatus('used') },
  { failure: 'access_denied', isFailing: hasStatus('denied') },
  { failure: 'expired_token', isFailing: hasStatus('expired') },
  { failure: 'authorization_pending', isFailing: hasStatus('pending') },
  { failure: 'record_incomplete', isFailing: ({ code }) => code === undefined || !isComplete(code) },
];

/** The first failure, or undefined when tokens may be issued. */
export const findPollFailure = (poll: Poll): ErrorCode | undefined =>
  POLL_CHECKS.find((check) => check.isFailing(poll))?.failure;

export type ApprovedCode = DeviceCodeRow & {
  readonly user_id: number;
  readonly decided_at: number;
  readonly access_expires_at: number;
  readonly refresh_expires_at: number;
};

export const isComplete = (code: DeviceCodeRow): code is ApprovedCode =>
  code.user_id !== null &&
  code.decided_at !== null &&
  code.access_expires_at !== null &&
  code.refresh_expires_at !== null;
