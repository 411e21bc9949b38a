import type { ErrorCode } from '../../contract/errors.ts';
import type { Client } from './clients.ts';
import type { CodeRow } from './code-store.ts';
import { stateOf } from './states.ts';

/** What is known when a device polls. */
export interface Poll {
  /** The client whose id and secret were right; undefined: they were not. */
  readonly client: Client | undefined;
  /** The record of the device_code. */
  readonly code: CodeRow | undefined;
  readonly now: number;
}

interface TokenCheck {
  readonly failure: ErrorCode;
  fails(poll: Poll): boolean;
}

const is = (state: ReturnType<typeof stateOf>) => (poll: Poll) => stateOf(poll.code, poll.now) === state;

/**
 * The order in which a poll is judged; the first check that fails is the answer. Before all of them stands the form of the
 * request (`invalid_request`), behind them the account's state, looked at again in the transaction that mints the tokens.
 * A wrong secret learns nothing about the code, and how fast a client polls never hides an end.
 */
export const TOKEN_CHECKS: readonly TokenCheck[] = [
  { failure: 'invalid_client', fails: ({ client }) => client === undefined },
  { failure: 'device_code_invalid', fails: is('invalid') },
  { failure: 'device_code_invalid', fails: ({ client, code }) => code?.client_id !== client?.id },
  { failure: 'device_code_used', fails: is('used') },
  { failure: 'access_denied', fails: is('denied') },
  { failure: 'expired_token', fails: is('expired') },
  { failure: 'authorization_pending', fails: is('pending') },
  { failure: 'record_incomplete', fails: ({ code }) => code === undefined || !isComplete(code) },
];

/** The first failure, or undefined when tokens may be minted. */
export const judgePoll = (poll: Poll): ErrorCode | undefined =>
  TOKEN_CHECKS.find((check) => check.fails(poll))?.failure;

export type ApprovedCode = CodeRow & {
  readonly user_id: number;
  readonly decided_at: number;
  readonly access_expires_at: number;
  readonly refresh_expires_at: number;
};

export const isComplete = (code: CodeRow): code is ApprovedCode =>
  code.user_id !== null &&
  code.decided_at !== null &&
  code.access_expires_at !== null &&
  code.refresh_expires_at !== null;
