import { DAY_MS } from '../../contract/time-units.ts';

/** How long the record of an ended code, or of an approval that no device collected, is kept to report what happened. */
export const ENDED_CODE_RETENTION_MS = DAY_MS;

/**
 * How long a sign-in may be renewed, from its approval on (OWASP ASVS 5.0, 10.4.8): a stolen chain of refresh_tokens
 * ends as well.
 */
export const MAX_SIGN_IN_MS = 365 * DAY_MS;
