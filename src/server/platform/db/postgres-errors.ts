import { DatabaseUnavailableError, DiskFullError } from './database-errors.ts';

/** Node's codes for a server that cannot be reached or went away. */
const NETWORK = new Set(
  'ECONNREFUSED ECONNRESET EPIPE ETIMEDOUT ENOTFOUND EAI_AGAIN EHOSTUNREACH ENETUNREACH ENOENT'.split(' '),
);
/** What `pg` says without a code when the response to a query does not come in time. */
const SILENT = /^Query read timeout/;
/** What `pg` and its pool say without a code when a connection breaks or none is free in time. */
const BROKEN = /^Connection terminated|^timeout exceeded when trying to connect|connection error and is not queryable/;
/**
 * PostgreSQL, appendix A: connection exceptions (08), too few resources (53), shutdown and start-up (57P), a time limit
 * reached (57014, 55P03, 25P03), a standby that takes no writes (25006).
 */
const UNAVAILABLE = /^(08...|53...|57P..|57014|55P03|25P03|25006)$/;
const DISK_FULL = '53100';
const READ_ONLY = '25006';
/** serialization_failure and deadlock_detected: the same transaction may well succeed when it runs again. */
const CONFLICT = new Set(['40001', '40P01']);
/** What an operator can do about an error of a first connection, by its code. */
const HINTS: ReadonlyMap<string, string> = new Map([
  ['ECONNREFUSED', 'is it running, and listening on this address and port?'],
  ['ENOTFOUND', 'the host name cannot be resolved'],
  ['ENOENT', 'there is no socket in this folder'],
  ['28P01', 'check the user and the password'],
  ['28000', 'check pg_hba.conf and the user'],
  ['3D000', 'create the database first'],
  ['53300', 'lower DATABASE_POOL or raise max_connections'],
  ['08P01', 'for a pooler such as PgBouncer, set DATABASE_DIRECT_URL to the address of the server itself'],
]);

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}

/** For codes that say too little: `routine` is the function of PostgreSQL that reports the error. */
const isRaisedBy = (error: unknown, code: string, routine: string): boolean =>
  codeOf(error) === code && (error as { routine?: unknown }).routine === routine;

/** Of a transaction, or of a statement outside of one, that loses against others. */
export const MAX_ATTEMPTS = 3;

export const toConflictError = (error: unknown, attempts: number): DatabaseUnavailableError =>
  new DatabaseUnavailableError(`the transaction lost against others ${attempts} times`, error);

/** The same work may succeed when it is done again. */
export function isConflict(error: unknown): boolean {
  return CONFLICT.has(codeOf(error)) || isStalePlan(error) || isMovedPartition(error);
}

/** A partition for the new row was attached after the row's place had been looked up (check_violation, by `ExecPartitionCheckEmitError`). */
const isMovedPartition = (error: unknown): boolean => isRaisedBy(error, '23514', 'ExecPartitionCheckEmitError');

/** The columns of a prepared statement's result have changed since it was planned; only this connection is affected. */
export function isStalePlan(error: unknown): boolean {
  return isRaisedBy(error, '0A000', 'RevalidateCachedQuery');
}

/** The server did not answer in time, though it ends statements that take long: other connections are probably dead too. */
export const isSilent = (error: unknown): boolean => error instanceof Error && SILENT.test(error.message);

/** The server has become a standby. */
export const isReadOnly = (error: unknown): boolean => codeOf(error) === READ_ONLY;

/** True when the connection that reported this error must not be used again. */
export function isConnectionLost(error: unknown): boolean {
  const code = codeOf(error);
  return (
    NETWORK.has(code) ||
    /^(08|57P)/.test(code) ||
    code === '25P03' ||
    isReadOnly(error) ||
    isSilent(error) ||
    (error instanceof Error && BROKEN.test(error.message))
  );
}

/** No connection of the pool became free in time; says nothing about the server. */
export const isPoolExhausted = (error: unknown): boolean =>
  error instanceof Error && error.message === 'timeout exceeded when trying to connect';

/** Converts errors caused by the database alone to the one type the HTTP layer handles. */
export function toDatabaseError(error: unknown): unknown {
  if (codeOf(error) === DISK_FULL) return new DiskFullError(error);
  if (isConnectionLost(error) || UNAVAILABLE.test(codeOf(error))) {
    return new DatabaseUnavailableError(`PostgreSQL did not answer: ${reasonOf(error)}`, error);
  }
  return error;
}

/** An error of a first connection, with its cause and, where there is one, what to do about it. */
export function toConnectError(error: unknown, server: string): DatabaseUnavailableError {
  const hint = HINTS.get(codeOf(error));
  const advice = hint === undefined ? '' : ` (${hint})`;
  return new DatabaseUnavailableError(`cannot connect to PostgreSQL at ${server}: ${reasonOf(error)}${advice}`, error);
}

/** Node reports the addresses of one host that all failed as one error without a message. */
function reasonOf(error: unknown): string {
  const first = error instanceof AggregateError ? error.errors[0] : error;
  return first instanceof Error && first.message !== '' ? first.message : codeOf(error) || String(error);
}
