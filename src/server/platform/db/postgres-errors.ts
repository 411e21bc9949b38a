import { DatabaseUnavailable } from './errors.ts';

/** Node's codes for a server that cannot be reached or went away. */
const NETWORK = new Set(
  'ECONNREFUSED ECONNRESET EPIPE ETIMEDOUT ENOTFOUND EAI_AGAIN EHOSTUNREACH ENETUNREACH ENOENT'.split(' '),
);
/** What `pg` and its pool say without a code when a connection breaks or none is free in time. */
const BROKEN = /^Connection terminated|^timeout exceeded when trying to connect|connection error and is not queryable/;
/**
 * PostgreSQL, appendix A: connection exceptions (08), too few resources (53), shutdown and start-up (57P), a time limit
 * reached (57014, 55P03, 25P03), a standby that takes no writes (25006).
 */
const UNAVAILABLE = /^(08...|53...|57P..|57014|55P03|25P03|25006)$/;
/** serialization_failure and deadlock_detected: the same transaction may well succeed when it runs again. */
const CONFLICT = new Set(['40001', '40P01']);

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}

export function isConflict(error: unknown): boolean {
  return CONFLICT.has(codeOf(error)) || isStalePlan(error);
}

/** The plan kept under a name answers with columns that have changed since; only this connection knows it. */
export function isStalePlan(error: unknown): boolean {
  return codeOf(error) === '0A000' && (error as { routine?: unknown }).routine === 'RevalidateCachedQuery';
}

/** True when the connection that answered so must not be used again. */
export function isConnectionLost(error: unknown): boolean {
  const code = codeOf(error);
  return (
    NETWORK.has(code) ||
    /^(08|57P)/.test(code) ||
    code === '25P03' ||
    (error instanceof Error && BROKEN.test(error.message))
  );
}

/** Gives the errors that are nobody's fault but the database's the one type the front door knows. */
export function toDatabaseError(error: unknown): unknown {
  if (isConnectionLost(error) || UNAVAILABLE.test(codeOf(error))) {
    return new DatabaseUnavailable('PostgreSQL did not answer', error);
  }
  return error;
}
