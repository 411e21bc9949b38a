/** Result codes of https://sqlite.org/rescode.html; the low byte of an extended code is its primary one. */
const SQLITE_BUSY = 5;
const SQLITE_FULL = 13;

const primaryCodeOf = (error: unknown): number =>
  error instanceof Error && 'errcode' in error ? Number(error.errcode) & 0xff : 0;

/** Another connection holds the lock. */
export const isBusy = (error: unknown): boolean => primaryCodeOf(error) === SQLITE_BUSY;

/** The disk, or the size the file may have, has no space left. */
export const isDiskFull = (error: unknown): boolean => primaryCodeOf(error) === SQLITE_FULL;
