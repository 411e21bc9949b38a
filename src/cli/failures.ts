import { ReelgateError } from '../sdk/index.ts';
import type { Proof } from './caller.ts';
import { EXIT } from './exit-codes.ts';
import { Interrupted } from './interrupted.ts';

/** Something about how the command was called; the exit status tells it from a refusal of the service. */
export class UsageError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'UsageError';
  }
}

/** The tokens are in a keychain that does not hand them out now. */
export class KeychainError extends Error {
  constructor(keychain: string, cause?: unknown) {
    super(`The tokens of this sign-in are in ${keychain}, which cannot be opened from here.`, { cause });
    this.name = 'KeychainError';
  }
}

/** A failure as people and scripts are told it. */
export interface Told {
  readonly status: number;
  readonly code: string;
  readonly message: string;
  /** What to do now. */
  readonly advice?: string | undefined;
  readonly requestId?: string | undefined;
  /** A task that was started and may go on. */
  readonly taskId?: string | undefined;
}

interface Row {
  readonly status?: number;
  /** In place of the service's words, where those are for programs. */
  readonly message?: string;
  readonly advice?: string;
}

const SIGN_IN: Row = { status: EXIT.signIn };

/** By code, else by `http_STATUS`. */
const ROWS: Readonly<Record<string, Row>> = {
  network: { status: EXIT.network, advice: 'Is it running? Set the address with --url or REELGATE_URL.' },
  not_json: { status: EXIT.network, advice: 'Set the address of the service with --url or REELGATE_URL.' },
  timeout: { status: EXIT.timeout },
  task_failed: { status: EXIT.taskFailed },
  task_not_exist: {
    message: 'There is no such task.',
    advice: 'A task is seen by the key that started it. See yours with "reelgate video list".',
  },
  quota_not_enough: {
    status: EXIT.quota,
    advice: 'Redeem a code with "reelgate redeem CODE", or ask the administrator for quota.',
  },
  token_quota_not_enough: {
    status: EXIT.quota,
    advice: 'The limit of this token is used up; another token has its own.',
  },
  invalid_api_key: SIGN_IN,
  unauthorized: SIGN_IN,
  http_401: SIGN_IN,
  wrong_password: SIGN_IN,
  model_not_found: { advice: 'See what there is with "reelgate models".' },
  access_denied: { status: EXIT.signIn },
  expired_token: { status: EXIT.signIn, advice: 'Get a new code with "reelgate login".' },
  invalid_grant: { status: EXIT.signIn, advice: 'Start again with "reelgate login".' },
  invalid_client: {
    status: EXIT.signIn,
    advice: 'The service does not admit this command line; its administrator can.',
  },
  http_429: { advice: 'Try again a little later.' },
};

/** What to do when the service refuses what was presented. */
const REFUSED: Readonly<Record<Proof, string>> = {
  REELGATE_API_KEY:
    'It was REELGATE_API_KEY that was sent. Make a key in the console under Tokens, or unset it to sign in.',
  REELGATE_ACCESS_TOKEN:
    'It was REELGATE_ACCESS_TOKEN that was sent, with REELGATE_USER_ID. Make a new one in the console, or unset it to sign in.',
  'sign-in': 'Sign in with "reelgate login", or set REELGATE_API_KEY for videos and models.',
};

/** What the file system says, in words. */
const FILE_TROUBLE: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file or folder',
  EACCES: 'permission denied',
  EPERM: 'not permitted',
  EISDIR: 'it is a folder',
  ENOTDIR: 'a part of the path is no folder',
  ENOSPC: 'the disk is full',
  EROFS: 'the disk is read-only',
};

export function tell(error: unknown, proof: Proof = 'sign-in'): Told {
  if (error instanceof UsageError) return { status: EXIT.usage, code: 'usage', message: error.message };
  if (error instanceof Interrupted)
    return { status: EXIT.interrupted, code: 'interrupted', message: error.message, taskId: error.taskId };
  if (error instanceof KeychainError)
    return {
      status: EXIT.signIn,
      code: 'keychain',
      message: error.message,
      advice:
        'Unlock it, or sign in anew with REELGATE_KEYCHAIN=0, which keeps the tokens in a file only you can read.',
    };
  if (error instanceof ReelgateError) return tellRefusal(error, proof);
  const { code, path, message } = error as NodeJS.ErrnoException;
  const trouble = FILE_TROUBLE[code ?? ''];
  if (trouble !== undefined && path !== undefined)
    return { status: EXIT.failed, code: 'file', message: `${path}: ${trouble}.` };
  return { status: EXIT.failed, code: 'failed', message: error instanceof Error ? message : String(error) };
}

function tellRefusal({ code, status, message, requestId, taskId }: ReelgateError, proof: Proof): Told {
  const row = ROWS[code] ?? ROWS[`http_${status}`] ?? {};
  const goesOn = taskId !== undefined && code !== 'task_failed';
  return {
    status: row.status ?? EXIT.failed,
    code,
    message: row.message ?? message,
    advice: goesOn ? adviceToWait(taskId) : row === SIGN_IN && code !== 'wrong_password' ? REFUSED[proof] : row.advice,
    requestId,
    taskId,
  };
}

/** For a task nobody waits for any more. */
export const adviceToWait = (taskId: string): string =>
  `The task goes on. Wait for it with "reelgate video wait ${taskId}".`;
