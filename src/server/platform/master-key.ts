import { randomBytes } from 'node:crypto';
import { closeSync, fsyncSync, linkSync, mkdirSync, openSync, readFileSync, unlinkSync, writeSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import type { Config } from './config.ts';
import { MASTER_KEY_BYTES } from './secrets.ts';

/** Reads MASTER_KEY's form: 32 bytes in base64. Undefined for anything else. */
export function readMasterKey(text: string): Buffer | undefined {
  const key = Buffer.from(text.trim(), 'base64');
  return key.length === MASTER_KEY_BYTES ? key : undefined;
}

/** MASTER_KEY, or the key kept beside the SQLite database; and those that open only. */
export function openMasterKeys(config: Pick<Config, 'masterKey' | 'masterKeyPrevious' | 'databaseUrl'>): {
  readonly current: Buffer;
  readonly previous: readonly Buffer[];
} {
  const previous = config.masterKeyPrevious.map((each) => Buffer.from(each, 'base64'));
  if (config.masterKey !== undefined) return { current: Buffer.from(config.masterKey, 'base64'), previous };
  const path = config.databaseUrl.slice('sqlite:'.length);
  return { current: loadOrCreateMasterKey(resolve(dirname(path), 'master.key')), previous };
}

/**
 * The key kept in a file, made when there is none. The file is readable by its owner alone and appears whole or not at
 * all; of processes that start at the same moment one makes the key and all use it.
 *
 * @throws Error when the file holds no key: making another would lose whatever the first one sealed
 */
export function loadOrCreateMasterKey(path: string): Buffer {
  const text = readIfThere(path) ?? create(path);
  const key = readMasterKey(text);
  if (key === undefined) throw new Error(`${path} does not hold a master key of ${MASTER_KEY_BYTES} bytes in base64`);
  return key;
}

function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}

function create(path: string): string {
  mkdirSync(dirname(path), { recursive: true });
  const draft = `${path}.${randomBytes(6).toString('hex')}`;
  writeDurably(draft, `${randomBytes(MASTER_KEY_BYTES).toString('base64')}\n`);
  try {
    // Unlike a rename, a link fails where another process was first.
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
