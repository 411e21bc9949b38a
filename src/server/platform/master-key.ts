import { randomBytes } from 'node:crypto';
import {
  closeSync,
  existsSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  unlinkSync,
  writeSync,
} from 'node:fs';
import { dirname, resolve } from 'node:path';
import type { Config } from './config.ts';
import type { Database } from './db/database.ts';
import type { MetaTables } from './db/migrate.ts';
import { naming } from './path-checks.ts';
import { ConfigError } from './setting-readers.ts';
import { MASTER_KEY_BYTES, matchesKeyCheck, parseMasterKey, toKeyCheck } from './vault.ts';

/**
 * Opens MASTER_KEY, or the key stored next to the SQLite database, and the previous keys, which only decrypt.
 * @param isFirstStart whether a missing key may be created; a database that was used before must have one somewhere
 * @throws ConfigError when the key of a used database is missing
 */
export function openMasterKeys(
  config: Pick<Config, 'masterKey' | 'masterKeyPrevious' | 'databaseUrl'>,
  isFirstStart = true,
): {
  readonly current: Buffer;
  readonly previous: readonly Buffer[];
} {
  const previous = previousKeysOf(config);
  if (config.masterKey !== undefined) return { current: Buffer.from(config.masterKey, 'base64'), previous };
  const path = masterKeyFileOf(config.databaseUrl.slice('sqlite:'.length));
  if (!isFirstStart && !existsSync(path))
    throw new ConfigError(
      'MASTER_KEY',
      `is not set, and ${path} is missing: the database was written with that key. Put the file back (it belongs to the backup), or set MASTER_KEY; nothing was changed`,
    );
  return { current: naming('MASTER_KEY', path, () => loadMasterKey(path)), previous };
}

/** The keys of MASTER_KEY_PREVIOUS, which only decrypt. */
export const previousKeysOf = ({ masterKeyPrevious }: Pick<Config, 'masterKeyPrevious'>): Buffer[] =>
  masterKeyPrevious.map((each) => Buffer.from(each, 'base64'));

/**
 * Loads the key from a file, or creates it. The file is readable only by its owner and appears atomically; of several
 * processes that start at the same moment, one creates the key and all use it.
 * @throws Error when the file contains no valid key: a new key could not decrypt existing data
 */
export function loadMasterKey(path: string): Buffer {
  const text = readIfExists(path) ?? createKeyFile(path);
  const key = parseMasterKey(text);
  if (key === undefined) throw new Error(`${path} does not hold a master key of ${MASTER_KEY_BYTES} bytes in base64`);
  return key;
}

/** An existing key and its file, which is undefined for MASTER_KEY. */
export interface ExistingMasterKey {
  readonly key: Buffer;
  readonly file: string | undefined;
}

/**
 * Finds MASTER_KEY, or else the key in the file next to a SQLite database.
 * @param path of the SQLite database; undefined with PostgreSQL
 * @throws Error when there is none
 */
export function findMasterKey({ masterKey }: Pick<Config, 'masterKey'>, path: string | undefined): ExistingMasterKey {
  const file = path === undefined || masterKey !== undefined ? undefined : masterKeyFileOf(path);
  const given = masterKey ?? (file === undefined ? undefined : readIfExists(file));
  if (given === undefined)
    throw new Error(`There is no master key: set MASTER_KEY${file === undefined ? '' : `, or put it into ${file}`}.`);
  const key = parseMasterKey(given);
  if (key === undefined) throw new Error(`${file} does not hold a master key of ${MASTER_KEY_BYTES} bytes in base64`);
  return { key, file };
}

/** Path of the key file of a SQLite database. */
export const masterKeyFileOf = (path: string): string => resolve(dirname(path), 'master.key');

/**
 * Stores a key in a new file.
 * @throws Error when the file already exists
 */
export function storeMasterKey(path: string, key: Buffer): void {
  mkdirSync(dirname(path), { recursive: true });
  writeDurably(path, `${key.toString('base64')}\n`);
}

function readIfExists(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}

function createKeyFile(path: string): string {
  mkdirSync(dirname(path), { recursive: true });
  const draft = `${path}.${randomBytes(6).toString('hex')}`;
  writeDurably(draft, `${randomBytes(MASTER_KEY_BYTES).toString('base64')}\n`);
  try {
    // Unlike a rename, a link fails when another process was first.
    linkSync(draft, path);
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
  } finally {
    unlinkSync(draft);
  }
  return readFileSync(path, 'utf8');
}

function writeDurably(path: string, text: string): void {
  const file = openSync(path, 'wx', 0o600);
  try {
    writeSync(file, text);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined;
}

/** Name of the `meta` entry that identifies the database's key. */
export const MASTER_KEY_META_NAME = 'master_key_check';

/**
 * Aborts the start when this database was written with neither MASTER_KEY nor one of MASTER_KEY_PREVIOUS; the first
 * start records the check value.
 */
export async function assertMasterKey<T extends MetaTables>(
  database: Database<T>,
  key: Buffer,
  previous: readonly Buffer[] = [],
): Promise<void> {
  const kysely = (database as unknown as Database<MetaTables>).kysely;
  await kysely
    .insertInto('meta')
    .values({ name: MASTER_KEY_META_NAME, value: toKeyCheck(key) })
    .onConflict((conflict) => conflict.column('name').doNothing())
    .execute();
  const { value } = await kysely
    .selectFrom('meta')
    .select('value')
    .where('name', '=', MASTER_KEY_META_NAME)
    .executeTakeFirstOrThrow();
  if (![key, ...previous].some((each) => matchesKeyCheck(each, value)))
    throw new ConfigError('MASTER_KEY', 'is not the key this database was written with; nothing was changed');
}

/** Whether an earlier start has recorded its key in this database. */
export async function hasMasterKey<T extends MetaTables>(database: Database<T>): Promise<boolean> {
  const { kysely } = database as unknown as Database<MetaTables>;
  const row = await kysely
    .selectFrom('meta')
    .select('name')
    .where('name', '=', MASTER_KEY_META_NAME)
    .executeTakeFirst();
  return row !== undefined;
}

/** Records a new key as the database's, once no data encrypted with another key is left. */
export async function recordMasterKey<T extends MetaTables>(database: Database<T>, key: Buffer): Promise<void> {
  const kysely = (database as unknown as Database<MetaTables>).kysely;
  await kysely
    .updateTable('meta')
    .set({ value: toKeyCheck(key) })
    .where('name', '=', MASTER_KEY_META_NAME)
    .execute();
}
