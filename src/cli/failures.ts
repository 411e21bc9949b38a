import { ReelgateError } from '../sdk/index.ts';
import { EXIT } from './exit-codes.ts';

/** Something about how the command was called; the exit status tells it from a refusal of the service. */
export class UsageError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'UsageError';
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
}

interface Row {
  readonly status?: number;
  readonly advice?: string;
}

const SIGN_IN: Row = { status: EXIT.signIn, advice: 'Sign in with "reelgate login", or set REELGATE_API_KEY.' };

/** By code, else by `http_STATUS`. */
const ROWS: Readonly<Record<string, Row>> = {
  network: { status: EXIT.network, advice: 'Is it running? Set the address with --url or REELGATE_URL.' },
  not_json: { status: EXIT.network, advice: 'Set the address of the service with --url or REELGATE_URL.' },
  timeout: { status: EXIT.timeout, advice: 'The task goes on. Wait for it with "reelgate video wait ID".' },
  task_failed: { status: EXIT.taskFailed },
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

export function tell(error: unknown): Told {
  if (error instanceof UsageError) return { status: EXIT.usage, code: 'usage', message: error.message };
  if (error instanceof ReelgateError) {
    const row = ROWS[error.code] ?? ROWS[`http_${error.status}`] ?? {};
    const { requestId } = error;
    return {
      status: row.status ?? EXIT.failed,
      code: error.code,
      message: error.message,
      advice: row.advice,
      requestId,
    };
  }
  const { code, path, message } = error as NodeJS.ErrnoException;
  const trouble = FILE_TROUBLE[code ?? ''];
  if (trouble !== undefined && path !== undefined)
    return { status: EXIT.failed, code: 'file', message: `${path}: ${trouble}.` };
  return { status: EXIT.failed, code: 'failed', message: error instanceof Error ? message : String(error) };
}
