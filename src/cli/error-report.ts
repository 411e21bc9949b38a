import { ReelgateError } from '../sdk/errors.ts';
import type { CredentialSource } from './credential-provider.ts';
import { EXIT, InterruptedError, KeychainError, UsageError, VideoFailedError } from './errors.ts';

/** An error in the form printed for users and for scripts. */
export interface ErrorReport {
  readonly exitCode: number;
  readonly code: string;
  readonly message: string;
  /** Advice for the user. */
  readonly advice?: string;
  readonly requestId?: string;
  /** A started task that may still be running. */
  readonly taskId?: string;
}

interface ErrorPresentation {
  readonly exitCode?: number;
  /** Replaces the service's message where that is written for programs. */
  readonly message?: string;
  readonly advice?: string;
}

const SIGN_IN: ErrorPresentation = { exitCode: EXIT.signIn };

/** Keyed by error code, or else by `status_STATUS`. */
const ERROR_PRESENTATIONS: Readonly<Record<string, ErrorPresentation>> = {
  network: { exitCode: EXIT.network, advice: 'Is it running? Set the URL with --url or REELGATE_URL.' },
  not_json: { exitCode: EXIT.network, advice: 'Set the URL of the service with --url or REELGATE_URL.' },
  timeout: { exitCode: EXIT.timeout },
  task_failed: { exitCode: EXIT.taskFailed },
  task_not_exist: {
    message: 'There is no such task.',
    advice: 'A task is visible only to the key that started it. List your videos with "reelgate video list".',
  },
  quota_not_enough: {
    exitCode: EXIT.quota,
    advice:
      'Redeem a code with "reelgate redeem CODE", or ask the administrator for credits. If the limit of an API key is used up, another key has its own.',
  },
  invalid_api_key: SIGN_IN,
  unauthorized: SIGN_IN,
  status_401: SIGN_IN,
  wrong_password: SIGN_IN,
  model_not_found: { advice: 'List the models with "reelgate models".' },
  access_denied: { exitCode: EXIT.signIn },
  expired_token: { exitCode: EXIT.signIn, advice: 'Get a new code with "reelgate login".' },
  invalid_grant: { exitCode: EXIT.signIn, advice: 'Start again with "reelgate login".' },
  invalid_client: {
    exitCode: EXIT.signIn,
    advice: 'The service does not accept this command line as a client; its administrator can allow it.',
  },
  status_429: { advice: 'Try again a little later.' },
};

/** Advice for a connection that failed, by the code of its cause; any other: the service does not run. */
const CONNECTION_ADVICE: readonly (readonly [code: RegExp, advice: string])[] = [
  [/^(ENOTFOUND|EAI_AGAIN)$/, 'Its name cannot be resolved. Check the URL and the network of this machine.'],
  [/^(ERR_SSL_|EPROTO)/, 'It does not use TLS there. If it runs on this machine, begin its URL with http://.'],
  [/^UND_ERR_(HEADERS|BODY)_TIMEOUT$/, 'It may still be working on the request.'],
  [
    /CERT|SELF_SIGNED|UNABLE_TO_VERIFY/,
    'Its certificate is not trusted. Set NODE_EXTRA_CA_CERTS to a file with the certificate of its authority.',
  ],
];

/** Advice for a rejected credential, by its source. */
const REJECTED_CREDENTIAL_ADVICE: Readonly<Record<CredentialSource, string>> = {
  REELGATE_API_KEY:
    'REELGATE_API_KEY was used. Create an API key in the console under API keys, or unset it to sign in.',
  REELGATE_ACCESS_TOKEN:
    'REELGATE_ACCESS_TOKEN was used, with REELGATE_USER_ID. Create a new one in the console under Security, or unset it to sign in.',
  'sign-in': 'Sign in with "reelgate login", or set REELGATE_API_KEY for videos and models.',
};

/** File system error codes in words. */
const FILE_ERROR_TEXTS: Readonly<Record<string, string>> = {
  ENOENT: 'PATH: there is no such file or folder.',
  EACCES: 'PATH: permission denied.',
  EPERM: 'PATH: not permitted.',
  EISDIR: 'PATH: it is a folder.',
  ENOTDIR: 'PATH: a part of the path is no folder.',
  ENAMETOOLONG: 'PATH: the name is too long.',
  ENOSPC: 'PATH: the disk is full.',
  EROFS: 'PATH: the disk is read-only.',
};

/** Converts any thrown value to a report. */
export function toErrorReport(error: unknown, proof: CredentialSource = 'sign-in'): ErrorReport {
  if (error instanceof UsageError) return { exitCode: EXIT.usage, code: 'usage', message: error.message };
  if (error instanceof InterruptedError)
    return { exitCode: EXIT.interrupted, code: 'interrupted', message: error.message, taskId: error.taskId };
  if (error instanceof KeychainError)
    return {
      exitCode: EXIT.signIn,
      code: 'keychain',
      message: error.message,
      advice: error.advice,
    };
  if (error instanceof VideoFailedError) {
    const { message, advice, taskId } = error;
    return { exitCode: EXIT.taskFailed, code: 'task_failed', message, advice: advice || undefined, taskId };
  }
  if (error instanceof ReelgateError) return reportServiceError(error, proof);
  const { code, path, message, taskId } = error as NodeJS.ErrnoException & { readonly taskId?: string };
  const task = { taskId, advice: taskId && resumeHint(taskId) };
  const trouble = FILE_ERROR_TEXTS[code ?? ''];
  if (trouble !== undefined && path !== undefined)
    return { exitCode: EXIT.failed, code: 'file', message: trouble.replace('PATH', () => path), ...task };
  return { exitCode: EXIT.failed, code: 'failed', message: error instanceof Error ? message : String(error), ...task };
}

function reportServiceError(error: ReelgateError, source: CredentialSource): ErrorReport {
  const { code, status, requestId, taskId } = error;
  const presentation = ERROR_PRESENTATIONS[code] ?? ERROR_PRESENTATIONS[`status_${status}`] ?? {};
  const continues = taskId !== undefined && code !== 'task_failed';
  const isRejected = presentation === SIGN_IN && code !== 'wrong_password';
  // The service's message mentions an API key, which a signed-in user does not have. Without a request id the service
  // was not reached.
  const message = isRejected && source === 'sign-in' && requestId !== undefined ? SIGN_IN_ENDED : presentation.message;
  return {
    exitCode: presentation.exitCode ?? EXIT.failed,
    code,
    message: message ?? error.message,
    advice: continues
      ? resumeHint(taskId)
      : isRejected
        ? REJECTED_CREDENTIAL_ADVICE[source]
        : (findConnectionAdvice(error) ?? presentation.advice),
    requestId,
    taskId,
  };
}

/** Fetch reports the error of the connection as the cause of its own. */
function findConnectionAdvice({ cause }: ReelgateError): string | undefined {
  const { code } = ((cause instanceof Error ? cause.cause : undefined) ?? {}) as NodeJS.ErrnoException;
  return code === undefined ? undefined : CONNECTION_ADVICE.find(([pattern]) => pattern.test(code))?.[1];
}

const SIGN_IN_ENDED = 'The sign-in on this machine has ended: it was signed out, ended from elsewhere, or it expired.';

/** Advice for a task that outlives the command. */
export const resumeHint = (taskId: string): string =>
  `The task continues. Wait for it with "reelgate video wait ${taskId}".`;
