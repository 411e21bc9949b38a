import { argon2Sync, createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { closeSync, existsSync, fsyncSync, openSync, renameSync, rmSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { backup as backUp, DatabaseSync } from 'node:sqlite';
import { MASTER_KEY_META_NAME } from '../master-key.ts';

/** The fact in `meta` that makes a SQLite file a backup. */
const BACKUP_META_NAME = 'backup';
/** More pages than a database has: all are copied in one read transaction, so writers of another process do not restart it. */
const ALL_PAGES = 0x7fff_ffff;

/** What a backup says of itself. */
interface BackupInfo {
  /** The release that made it. */
  readonly version: string;
  /** ISO 8601. */
  readonly madeAt: string;
  /** The master key; null where it was left out. */
  readonly key: SealedWithPassphrase | null;
}

/**
 * Copies a database, in use or not, into a new file that only its owner can read, and checks that the copy is sound. The file
 * is an ordinary SQLite database with one more fact in `meta`; it appears when it is complete.
 *
 * @returns its size in bytes
 * @throws Error when the file exists, unless `replace`
 */
export async function backUpSqlite(
  from: string,
  file: string,
  info: BackupInfo,
  { replace }: { readonly replace: boolean },
): Promise<number> {
  if (existsSync(file) && !replace) throw new Error(`${file} exists; give another name, or --force to replace it.`);
  const draft = `${file}.part`;
  rmSync(draft, { force: true });
  closeSync(openSync(draft, 'wx', 0o600));
  try {
    await copyFile(from, draft, (copy) => {
      copy
        .prepare('insert or replace into meta (name, value) values (?, ?)')
        .run(BACKUP_META_NAME, JSON.stringify(info));
    });
    renameDurably(draft, file);
  } catch (error) {
    for (const part of [draft, `${draft}-wal`, `${draft}-shm`, `${draft}-journal`]) rmSync(part, { force: true });
    throw error;
  }
  return statSync(file).size;
}

/** A backup, as far as it has to be known before it is restored. */
export interface BackupFile extends BackupInfo {
  /** Ids of the migrations its schema has. */
  readonly migrations: ReadonlySet<string>;
  /** By which the master key it was written with is recognized. */
  readonly keyCheck: string;
}

/** @throws Error for a file that is not a backup of this service */
export function readBackup(file: string): BackupFile {
  if (!existsSync(file)) throw new Error(`There is no file ${file}.`);
  try {
    const database = new DatabaseSync(file, { readOnly: true });
    try {
      const fact = (name: string) => String(database.prepare('select value from meta where name = ?').get(name)?.value);
      const ids = database.prepare('select id from schema_migrations').all();
      return {
        ...(JSON.parse(fact(BACKUP_META_NAME)) as BackupInfo),
        migrations: new Set(ids.map(({ id }) => String(id))),
        keyCheck: fact(MASTER_KEY_META_NAME),
      };
    } finally {
      database.close();
    }
  } catch (error) {
    throw new Error(`${file} is not a backup made by "reelgate admin backup".`, { cause: error });
  }
}

/**
 * Puts a copy of a backup in the place of a database, readable for its owner alone.
 *
 * @param clear called when the copy is complete and sound; whatever is in its place has to be moved away then
 */
export async function restoreSqlite(file: string, path: string, clear: () => void): Promise<void> {
  const draft = `${path}.part`;
  rmSync(draft, { force: true });
  closeSync(openSync(draft, 'wx', 0o600));
  try {
    await copyFile(file, draft, (copy) => {
      copy.prepare('delete from meta where name = ?').run(BACKUP_META_NAME);
    });
    clear();
    renameDurably(draft, path);
  } catch (error) {
    rmSync(draft, { force: true });
    throw error;
  }
}

/** What SQLite finds wrong with the pages of a file that may be in use; undefined when it is sound. */
export function findDamage(path: string): string | undefined {
  const database = new DatabaseSync(path, { timeout: 5_000 });
  try {
    database.exec('pragma query_only = on');
    return damageOf(database);
  } finally {
    database.close();
  }
}

function damageOf(database: DatabaseSync): string | undefined {
  const [first] = database.prepare('pragma quick_check(1)').all();
  return first?.quick_check === 'ok' ? undefined : String(first?.quick_check);
}

/** Copies a database that may be in use, changes and checks the copy, and leaves one file that is complete without its log. */
async function copyFile(from: string, draft: string, change: (copy: DatabaseSync) => void): Promise<void> {
  // Opened for writing too: a connection that only reads could not remove the empty log it makes.
  const source = new DatabaseSync(from, { timeout: 5_000 });
  try {
    source.exec('pragma query_only = on');
    await backUp(source, draft, { rate: ALL_PAGES });
  } finally {
    source.close();
  }
  const copy = new DatabaseSync(draft);
  try {
    copy.exec('pragma journal_mode = delete');
    change(copy);
    const damage = damageOf(copy);
    if (damage !== undefined) throw new Error(`The database is damaged: ${damage}.`);
  } finally {
    copy.close();
  }
}

function renameDurably(draft: string, file: string): void {
  sync(draft);
  renameSync(draft, file);
  sync(dirname(file));
}

function sync(path: string): void {
  const descriptor = openSync(path, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** RFC 9106 section 4, second recommended option: 64 MiB, three passes, four lanes. */
const COST = { memory: 65_536, passes: 3, parallelism: 4 } as const;
/** What a file asks for beyond this is not computed: it is none of ours. */
const MAX_COST = { memory: 1_048_576, passes: 16, parallelism: 16 } as const;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const KEY_BYTES = 32;

/** A secret encrypted under a passphrase: argon2id (RFC 9106) and AES-256-GCM. Binary values are base64. */
interface SealedWithPassphrase {
  readonly kdf: 'argon2id';
  readonly memory: number;
  readonly passes: number;
  readonly parallelism: number;
  readonly salt: string;
  /** Nonce, ciphertext and tag. */
  readonly sealed: string;
}

export function sealWithPassphrase(secret: Buffer, passphrase: string): SealedWithPassphrase {
  const salt = randomBytes(16);
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv('aes-256-gcm', deriveKey(passphrase, salt, COST), nonce);
  const sealed = Buffer.concat([nonce, cipher.update(secret), cipher.final(), cipher.getAuthTag()]);
  return { kdf: 'argon2id', ...COST, salt: salt.toString('base64'), sealed: sealed.toString('base64') };
}

/** @throws Error when the passphrase is another one, or the value was changed */
export function openWithPassphrase({ salt, sealed, ...cost }: SealedWithPassphrase, passphrase: string): Buffer {
  const bytes = Buffer.from(sealed, 'base64');
  const isSane = (['memory', 'passes', 'parallelism'] as const).every((name) => cost[name] <= MAX_COST[name]);
  if (cost.kdf !== 'argon2id' || !isSane || bytes.length < NONCE_BYTES + TAG_BYTES)
    throw new Error('The key in the backup has a form this release does not know.');
  const key = deriveKey(passphrase, Buffer.from(salt, 'base64'), cost);
  const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES });
  decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
  try {
    return Buffer.concat([decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES)), decipher.final()]);
  } catch {
    throw new Error('The passphrase is not the one this backup was made with.');
  }
}

const deriveKey = (
  passphrase: string,
  nonce: Buffer,
  { memory, passes, parallelism }: { readonly memory: number; readonly passes: number; readonly parallelism: number },
): Buffer =>
  argon2Sync('argon2id', {
    message: passphrase.normalize('NFC'),
    nonce,
    memory,
    passes,
    parallelism,
    tagLength: KEY_BYTES,
  });
