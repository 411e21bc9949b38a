import { argon2Sync, createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { closeSync, existsSync, fsyncSync, openSync, renameSync, rmSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { backup as backUp, DatabaseSync } from 'node:sqlite';
import { isBusy } from '../db/database.ts';
import { MASTER_KEY_META_NAME } from '../master-key.ts';

/** The entry in `meta` that marks a SQLite file as a backup. */
const BACKUP_META_NAME = 'backup';
/**
 * More pages than any database has: all are copied in one read transaction, so that writers of another process do not
 * restart it.
 */
const ALL_PAGES = 0x7fff_ffff;

/** Metadata of a backup. */
interface BackupInfo {
  /** The release that created it. */
  readonly version: string;
  /** ISO 8601. */
  readonly madeAt: string;
  /** The master key; null if it was omitted. */
  readonly key: SealedWithPassphrase | null;
}

/**
 * Copies a database, in use or not, into a new file that only its owner can read, and verifies the copy. The file is an
 * ordinary SQLite database with one more entry in `meta`; it appears once it is complete.
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
  await withDraft(file, async (draft) => {
    await copyFile(from, draft, (copy) => {
      copy
        .prepare('insert or replace into meta (name, value) values (?, ?)')
        .run(BACKUP_META_NAME, JSON.stringify(info));
    });
    renameDurably(draft, file);
  });
  return statSync(file).size;
}

/** The facts about a backup that are needed before it is restored. */
export interface BackupFile extends BackupInfo {
  /** Ids of the migrations in its schema. */
  readonly migrations: ReadonlySet<string>;
  /** Identifies the master key it was written with. */
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
 * Replaces a database with a copy of a backup, readable only by its owner.
 * @param clear called when the copy is complete and verified; it must move the existing files away
 */
export async function restoreSqlite(file: string, path: string, clear: () => void): Promise<void> {
  await withDraft(path, async (draft) => {
    await copyFile(file, draft, (copy) => {
      copy.prepare('delete from meta where name = ?').run(BACKUP_META_NAME);
    });
    clear();
    renameDurably(draft, path);
  });
}

/** Creates `file.part`, which only its owner can read, and deletes it if the work fails or the process exits early. */
async function withDraft(file: string, work: (draft: string) => Promise<void>): Promise<void> {
  const draft = `${file}.part`;
  const remove = (): void => {
    for (const part of [draft, `${draft}-wal`, `${draft}-shm`, `${draft}-journal`]) rmSync(part, { force: true });
  };
  remove();
  process.once('exit', remove);
  try {
    closeSync(openSync(draft, 'wx', 0o600));
    await work(draft);
  } finally {
    remove();
    process.off('exit', remove);
  }
}

/** The damage SQLite finds in the pages of a file, which may be in use; undefined when it is sound. */
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

/**
 * Copies a database that may be in use, applies `change` to the copy and verifies it. The result is a single file that
 * is complete without its log.
 */
async function copyFile(from: string, draft: string, change: (copy: DatabaseSync) => void): Promise<void> {
  // Opened for writing too, because a read-only connection could not remove the empty log it creates.
  const source = new DatabaseSync(from, { timeout: 5_000 });
  try {
    source.exec('pragma query_only = on');
    await backUp(source, draft, { rate: ALL_PAGES });
    // The copy may contain commits that the service is still flushing.
    if (existsSync(`${from}-wal`)) sync(`${from}-wal`);
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
/** Upper limit on the cost a file may specify: files of this service stay below. */
const MAX_COST = { memory: 1_048_576, passes: 16, parallelism: 16 } as const;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const KEY_BYTES = 32;

/** A secret encrypted with a passphrase: argon2id (RFC 9106) and AES-256-GCM. Binary values are base64. */
interface SealedWithPassphrase {
  readonly kdf: 'argon2id';
  readonly memory: number;
  readonly passes: number;
  readonly parallelism: number;
  readonly salt: string;
  /** Nonce, ciphertext and tag. */
  readonly sealed: string;
}

/** Encrypts a secret with a passphrase. */
export function sealWithPassphrase(secret: Buffer, passphrase: string): SealedWithPassphrase {
  const salt = randomBytes(16);
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv('aes-256-gcm', deriveKey(passphrase, salt, COST), nonce);
  const sealed = Buffer.concat([nonce, cipher.update(secret), cipher.final(), cipher.getAuthTag()]);
  return { kdf: 'argon2id', ...COST, salt: salt.toString('base64'), sealed: sealed.toString('base64') };
}

/** @throws Error for a wrong passphrase or a modified value */
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

/** Each database records its own migrations. */
const MIGRATIONS_TABLE = 'schema_migrations';

/** A value of a row; whole numbers are read as bigint, so that none is rounded. */
export type CellValue = null | bigint | number | string | Uint8Array;

/** A table to copy. */
export interface SourceTable {
  readonly name: string;
  readonly columns: readonly string[];
  readonly rowCount: number;
  /** Highest number the table has ever assigned to a row; undefined when it does not number its rows. */
  readonly sequence: bigint | undefined;
}

/**
 * The path in a `sqlite:` URL.
 * @throws Error for any other URL, or when the file does not exist
 */
export function sqlitePathOf(url: string): string {
  if (!url.startsWith('sqlite:')) throw new Error(`"${url}" is not the URL of a SQLite database (sqlite:PATH).`);
  const path = url.slice('sqlite:'.length);
  if (!existsSync(path)) throw new Error(`There is no database at ${path}.`);
  return path;
}

/** Another process has the database open. */
export class DatabaseInUseError extends Error {
  constructor(path: string) {
    super(`${path} is in use by another process. Stop the service, and whatever else has it open, first.`);
    this.name = 'DatabaseInUseError';
  }
}

/** @throws DatabaseInUseError; a file that is not a sound database counts as unused */
export function assertNotInUse(path: string): void {
  try {
    new SqliteSource(path).close();
  } catch (error) {
    if (error instanceof DatabaseInUseError) throw error;
  }
}

/**
 * A SQLite database of this service, read-only and held exclusively for as long as this object lives. In exclusive
 * locking mode SQLite acquires the lock at the first read and keeps it, which fails while any other process has the
 * file open, idle or not (https://sqlite.org/pragma.html#pragma_locking_mode).
 */
export class SqliteSource {
  readonly #database: DatabaseSync;
  readonly #path: string;

  /** @throws Error when another process has the database open */
  constructor(path: string) {
    this.#path = path;
    this.#database = new DatabaseSync(path, { timeout: 0 });
    this.#database.exec('pragma locking_mode = exclusive; pragma query_only = on; pragma temp_store = memory;');
    try {
      this.#database.prepare('select count(*) from sqlite_master').get();
    } catch (error) {
      this.#database.close();
      if (isBusy(error)) throw new DatabaseInUseError(path);
      throw error;
    }
  }

  /** Ids of the applied migrations; empty for a database of another application. */
  appliedMigrations(): ReadonlySet<string> {
    if (!this.#all<{ name: string }>(`select name from sqlite_master where name = '${MIGRATIONS_TABLE}'`).length)
      return new Set();
    return new Set(this.#all<{ id: string }>(`select id from ${MIGRATIONS_TABLE}`).map(({ id }) => id));
  }

  /** The value of an entry in `meta`. */
  meta(name: string): string | undefined {
    const row = this.#database.prepare('select value from meta where name = ?').get(name);
    return row === undefined ? undefined : String(row.value);
  }

  /** Tables in the order of their creation, so that a table follows the tables it refers to. */
  tables(): SourceTable[] {
    const sequences = new Map(
      this.#all<{ name: string; seq: bigint }>('select name, seq from sqlite_sequence').map(({ name, seq }) => [
        name,
        seq,
      ]),
    );
    return this.#all<{ name: string; sql: string }>(
      `select name, sql from sqlite_master where type = 'table' and name not like 'sqlite\\_%' escape '\\' order by rowid`,
    )
      .filter(({ name }) => name !== MIGRATIONS_TABLE)
      .map(({ name, sql }) => ({
        name,
        columns: this.#all<{ name: string }>(`pragma table_info(${quote(name)})`).map((column) => column.name),
        rowCount: Number(this.#all<{ count: bigint }>(`select count(*) as count from ${quote(name)}`)[0]?.count ?? 0),
        sequence: /\bautoincrement\b/i.test(sql) ? (sequences.get(name) ?? 0n) : undefined,
      }));
  }

  /** The minimum of a numeric column; undefined for an empty table. */
  least(table: string, column: string): number | undefined {
    const [row] = this.#all<{ least: bigint | null }>(`select min(${quote(column)}) as least from ${quote(table)}`);
    return row?.least == null ? undefined : Number(row.least);
  }

  /** All rows, one at a time, in no particular order. */
  *rows({ name, columns }: SourceTable): Generator<readonly CellValue[]> {
    const statement = this.#database.prepare(`select ${columns.map(quote).join(', ')} from ${quote(name)}`);
    statement.setReadBigInts(true);
    statement.setReturnArrays(true);
    for (const row of statement.iterate()) yield row as unknown as readonly CellValue[];
  }

  get path(): string {
    return this.#path;
  }

  close(): void {
    this.#database.close();
  }

  #all<R>(sql: string): R[] {
    const statement = this.#database.prepare(sql);
    statement.setReadBigInts(true);
    return statement.all() as R[];
  }
}

const quote = (name: string): string => `"${name.replaceAll('"', '""')}"`;
