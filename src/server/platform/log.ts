import { type DestinationStream, type Logger, pino, stdTimeFunctions } from 'pino';

/** The service's logger. */
export type Log = Logger;

/** Keys whose values never reach a log line, within two levels of nesting. */
const SECRET_KEYS = [
  'authorization',
  'cookie',
  'password',
  'original_password',
  'access_token',
  'refresh_token',
  'llm_token',
  'client_secret',
  'app_password',
  'api_key',
  'secret_key',
  'access_key',
  'service_account',
  'private_key',
  'credentials',
  'key',
  'code',
  'token',
  'device_code',
  'user_code',
  'x-api-key',
  'x-goog-api-key',
];

/**
 * Parts of free text that resemble a secret: the prefixes of `CREDENTIAL_PREFIX`, bearer values, keys and signatures of
 * URLs (`api_key`, `X-Amz-Signature`), passwords of URLs. None reaches beyond its URL, because the text may be JSON.
 */
const SECRET_PATTERN =
  /\b(?:sk|llm|rg[a-z]{1,2})[-_][A-Za-z0-9_-]{12,}|Bearer\s+[A-Za-z0-9._~+/=-]{8,}|\beyJ[A-Za-z0-9_.-]{8,}|([?&](?:code|[\w-]*(?:key|token|sig|signature|secret|credential|password))=)[^&\s"'<>\\]+|(:\/\/[^\s/:@?#"'<>\\]*:)[^\s/@?#"'<>\\]+(?=@)/gi;

/** Replaces everything in the text that resembles a secret. */
export const maskSecrets = (text: string): string =>
  text.replace(SECRET_PATTERN, (_all, query?: string, user?: string) => `${query ?? user ?? ''}[masked]`);

/** Identifies the process in every log line, so that lines of several processes can be stored together. */
export interface LogOrigin {
  /** The name of this process among the replicas (`INSTANCE_NAME`). */
  readonly instance: string;
  readonly version: string;
}

/** Opens a log of JSON lines with masked secrets. `destination` is for tests. */
export function openLog(level: string, destination?: DestinationStream, origin?: LogOrigin): Log {
  return pino(
    {
      level,
      base: origin === undefined ? null : { ...origin },
      timestamp: stdTimeFunctions.isoTime,
      redact: {
        paths: SECRET_KEYS.flatMap((key) => [`["${key}"]`, `*["${key}"]`, `*.*["${key}"]`]),
        censor: '[masked]',
      },
      serializers: { err: toLoggedError, error: toLoggedError },
    },
    destination ?? pino.destination({ dest: 1, sync: false }),
  );
}

interface LoggedError {
  readonly type: string;
  readonly message: string;
  readonly stack?: string;
  readonly cause?: LoggedError;
}

/** Logs errors by type, message and stack, including causes, with masked secrets; never their other properties. */
function toLoggedError(error: unknown, depth = 0): LoggedError {
  if (!(error instanceof Error)) return { type: typeof error, message: maskSecrets(String(error)) };
  return {
    type: error.name,
    message: maskSecrets(error.message),
    stack: error.stack && maskSecrets(error.stack),
    cause: error.cause === undefined || depth >= 4 ? undefined : toLoggedError(error.cause, depth + 1),
  };
}
