import {
  accessSync,
  closeSync,
  constants,
  mkdirSync,
  openSync,
  readSync,
  type Stats,
  statfsSync,
  statSync,
} from 'node:fs';
import { dirname, resolve } from 'node:path';
import { ConfigError } from './setting-readers.ts';

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'does not exist',
  ENOTDIR: 'lies below something that is not a directory',
  EISDIR: 'is a directory',
  EEXIST: 'exists and is not a directory',
  EACCES: 'may not be used by this user: check owner and permissions',
  EPERM: 'may not be used by this user: check owner and permissions',
  EROFS: 'is on a read-only file system',
  ELOOP: 'is a loop of symbolic links',
  ENAMETOOLONG: 'is too long for a path',
  ENOSPC: 'is on a full device',
  EDQUOT: 'is beyond the disk quota of this user',
  EMFILE: 'cannot be opened: this process has too many open files',
};

/** Describes a failed system call on a path in one line for an operator; undefined for all other errors. */
export function describePathError(error: unknown, path?: string): string | undefined {
  if (!(error instanceof Error)) return undefined;
  const { code = '', path: failed } = error as NodeJS.ErrnoException;
  const named = failed ?? path;
  const reason = REASONS[code];
  return named === undefined || reason === undefined ? undefined : `${named} ${reason} (${code})`;
}

/** A path that is not a SQLite database, or not writable. */
export class DatabaseFileError extends Error {
  constructor(problem: string) {
    super(problem);
    this.name = 'DatabaseFileError';
  }
}

const SQLITE_HEADER = 'SQLite format 3\0';

/**
 * Checks the file of a SQLite database before it is opened, created or changed: opening a pipe would wait forever, and
 * another program's file must stay unchanged.
 * @throws DatabaseFileError
 */
export function assertSqliteFile(path: string): void {
  if (path === ':memory:') return;
  if (path === '') throw new DatabaseFileError('names no file');
  try {
    const stats = findStats(path);
    if (stats?.isDirectory() === true) throw new DatabaseFileError(`${path} is a directory, and not a SQLite database`);
    if (stats !== undefined && !stats.isFile())
      throw new DatabaseFileError(`${path} is not a regular file, and not a SQLite database`);
    if (stats !== undefined) accessSync(path, constants.R_OK | constants.W_OK);
    if (stats !== undefined && stats.size > 0 && readStart(path) !== SQLITE_HEADER)
      throw new DatabaseFileError(`${path} is not a SQLite database; it was left as it is`);
    assertWritable(dirname(resolve(path)));
  } catch (error) {
    const problem = describePathError(error, path);
    throw problem === undefined ? error : new DatabaseFileError(problem);
  }
}

/**
 * Like `assertSqliteFile`, for the file of DATABASE_URL; creates its directory.
 * @throws ConfigError
 */
export function assertDatabaseFile(path: string): void {
  naming('DATABASE_URL', path, () => {
    assertSqliteFile(path);
    if (path !== ':memory:') makeFolders(dirname(path));
  });
}

/** @throws ConfigError when files cannot be created in this directory, or the directory cannot be created */
export function assertDirectory(setting: string, path: string): void {
  naming(setting, path, () => assertWritable(resolve(path)));
}

/**
 * Creates the directory named by a setting if it is missing.
 * @throws ConfigError when files cannot be created in it
 */
export function makeDirectory(setting: string, path: string): void {
  naming(setting, path, () => {
    makeFolders(path);
    assertWritable(path);
  });
}

/**
 * Runs code that uses a path.
 * @throws ConfigError naming the setting whose path is unusable
 */
export function naming<R>(setting: string, path: string, use: () => R): R {
  try {
    return use();
  } catch (error) {
    const problem = error instanceof DatabaseFileError ? error.message : describePathError(error, path);
    throw problem === undefined ? error : new ConfigError(setting, problem);
  }
}

function findStats(path: string): Stats | undefined {
  try {
    return statSync(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/**
 * Creates a directory and its parents. Node's own `recursive` never returns on a file system that refuses directories,
 * such as `/proc`.
 */
export function makeFolders(path: string): void {
  if (findStats(path)?.isDirectory() === true) return;
  makeFolders(dirname(resolve(path)));
  try {
    mkdirSync(path);
  } catch (error) {
    // Another process was first.
    if (findStats(path)?.isDirectory() !== true) throw error;
  }
}

/** Checks the directory, or the nearest existing parent in which it will be created. */
function assertWritable(path: string): void {
  const stats = findStats(path);
  if (stats === undefined) {
    assertWritable(dirname(path));
    return;
  }
  if (!stats.isDirectory()) throw Object.assign(new Error(path), { code: 'ENOTDIR', path });
  accessSync(path, constants.W_OK | constants.X_OK);
}

function readStart(path: string): string {
  const file = openSync(path, 'r');
  try {
    const bytes = Buffer.alloc(SQLITE_HEADER.length);
    return bytes.toString('latin1', 0, readSync(file, bytes));
  } finally {
    closeSync(file);
  }
}

/** File systems behind which another machine may be, by their type in statfs(2). */
const SHARED_FILE_SYSTEMS: ReadonlyMap<number, string> = new Map([
  [0x6969, 'NFS'],
  [0x517b, 'SMB'],
  [0xff534d42, 'SMB'],
  [0xfe534d42, 'SMB'],
  [0x01021997, '9p'],
  [0x65735546, 'FUSE'],
]);

/**
 * A warning if a SQLite database would be on a file system that does not keep its log coherent (sqlite.org/wal.html:
 * "WAL does not work over a network filesystem"), such as a folder that Docker Desktop shares with its machine.
 */
export function warnOfSharedDisk(path: string): string | undefined {
  if (path === ':memory:') return undefined;
  const directory = nearestDirectory(resolve(path));
  const name = SHARED_FILE_SYSTEMS.get(statfsSync(directory).type >>> 0);
  return (
    name &&
    `DATABASE_URL: ${directory} is on ${name}, where SQLite files can get damaged. Use a local disk (with Docker a volume, not a folder of the host), or PostgreSQL.`
  );
}

const nearestDirectory = (path: string): string =>
  findStats(path)?.isDirectory() === true || dirname(path) === path ? path : nearestDirectory(dirname(path));
