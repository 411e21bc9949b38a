import { closeSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { assertSqliteFile, makeFolders } from '../path-checks.ts';
import { AlreadyServedError } from './database-errors.ts';
import { isBusy } from './sqlite-errors.ts';

/**
 * Makes this process the only service on a SQLite file: rate limits, signals and locks of a service are kept in its memory,
 * so a second one would not know of them. The lock is the operating system's, on a file beside the database, and ends with
 * the process however that ends. Commands that only use the database do not take it.
 *
 * @returns releases the lock
 * @throws DatabaseFileError when the path names no SQLite database; nothing is changed then
 * @throws AlreadyServedError when another process has it
 */
export function lockSqliteFile(path: string): () => void {
  if (path === ':memory:') return () => {};
  assertSqliteFile(path);
  makeFolders(dirname(path));
  const lockPath = `${path}.lock`;
  // SQLite would make it readable for everybody.
  closeSync(openSync(lockPath, 'a', 0o600));
  // Node has no file locks of its own; SQLite's work on every system.
  const lock = new DatabaseSync(lockPath, { timeout: 0 });
  try {
    lock.exec('begin exclusive');
  } catch (error) {
    lock.close();
    throw isBusy(error) ? new AlreadyServedError(path) : error;
  }
  return () => lock.close();
}
