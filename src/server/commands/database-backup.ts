import { existsSync, mkdirSync, readFileSync, renameSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { VERSION } from '../package-root.ts';
import { type Config, loadConfig } from '../platform/config.ts';
import { toLibpqUrl } from '../platform/db/postgres.ts';
import { findMasterKey, masterKeyFileOf, storeMasterKey } from '../platform/master-key.ts';
import {
  assertNotInUse,
  type BackupFile,
  backUpSqlite,
  openWithPassphrase,
  readBackup,
  restoreSqlite,
  sealWithPassphrase,
  sqlitePathOf,
} from '../platform/transfer/sqlite-backup.ts';
import { matchesKeyCheck, parseMasterKey } from '../platform/vault.ts';
import { migrations } from '../tables.ts';
import { directUrlOf } from './service-database.ts';

/** Asks for the passphrase of the key in a backup; called only if one is needed. */
export type AskPassphrase = () => Promise<string>;

/** The written file, or the command that backs up PostgreSQL. */
export type BackupReport =
  | { readonly file: string; readonly bytes: number; readonly seconds: number; readonly withKey: boolean }
  /** PostgreSQL is backed up by its own programs. */
  | { readonly command: string };

/** The result of a restore, or the command that restores PostgreSQL. */
export type RestoreReport =
  | {
      readonly madeAt: string;
      readonly version: string;
      /** Path the replaced database was moved to. */
      readonly replaced: string | undefined;
      /** The file the key was written to; undefined if the right key was already there. */
      readonly keyFile: string | undefined;
    }
  | { readonly command: string };

const MIN_PASSPHRASE_LENGTH = 12;

/**
 * Backs up the database of DATABASE_URL, which may be in use. SQLite: into one file, with the master key sealed under a
 * passphrase. PostgreSQL: returns the command that does it.
 *
 * @throws Error if the file exists (unless `force`), or the passphrase is too short
 */
export async function backUpDatabase(
  file: string,
  options: { readonly askPassphrase: AskPassphrase; readonly withoutKey: boolean; readonly force: boolean },
): Promise<BackupReport> {
  const { config } = loadConfig();
  if (!config.databaseUrl.startsWith('sqlite:')) {
    const args = `--format=custom --no-owner --no-privileges --file=${shellQuote(file)}`;
    return { command: `pg_dump ${args} --dbname=${shellQuote(serverUrl(config))}` };
  }
  const path = sqlitePathOf(config.databaseUrl);
  const startedAt = performance.now();
  const bytes = await backUpSqlite(
    path,
    file,
    {
      version: VERSION,
      madeAt: new Date().toISOString(),
      key: options.withoutKey
        ? null
        : sealWithPassphrase(findMasterKey(config, path).key, await askLong(options.askPassphrase)),
    },
    { replace: options.force },
  );
  return { file, bytes, seconds: (performance.now() - startedAt) / 1000, withKey: !options.withoutKey };
}

/**
 * Replaces the database of DATABASE_URL by a backup, and writes its master key next to it unless the right one is
 * there. Replaced files are moved aside, not deleted.
 *
 * @throws Error while a process uses the database, if a database exists (unless `force`), for a backup of a newer
 *   release, and without the key or its passphrase; nothing has changed then
 */
export async function restoreDatabase(
  file: string,
  { askPassphrase, force }: { readonly askPassphrase: AskPassphrase; readonly force: boolean },
): Promise<RestoreReport> {
  const { config } = loadConfig();
  if (!config.databaseUrl.startsWith('sqlite:')) {
    const args = '--exit-on-error --single-transaction --no-owner --no-privileges';
    return { command: `pg_restore ${args} --dbname=${shellQuote(serverUrl(config))} ${shellQuote(file)}` };
  }
  const path = resolve(config.databaseUrl.slice('sqlite:'.length));
  const backup = readBackup(file);
  assertKnownSchema(file, backup);
  if (existsSync(path)) {
    assertNotInUse(path);
    if (!force) throw new Error(`There is a database at ${path}. With --force it is moved aside.`);
  }
  const keyFile = masterKeyFileOf(path);
  const key = await findKeyToStore(config, keyFile, backup, askPassphrase, force);
  mkdirSync(dirname(path), { recursive: true });
  const suffix = `replaced-${new Date().toISOString().replaceAll(/[:.]/g, '-')}`;
  const isReplacing = existsSync(path);
  await restoreSqlite(file, path, () => {
    // A leftover log would be applied to the restored file.
    for (const each of [path, `${path}-wal`, `${path}-shm`, ...(key === undefined ? [] : [keyFile])])
      if (existsSync(each)) renameSync(each, `${each}.${suffix}`);
    if (key !== undefined) storeMasterKey(keyFile, key);
  });
  return {
    madeAt: backup.madeAt,
    version: backup.version,
    replaced: isReplacing ? `${path}.${suffix}` : undefined,
    keyFile: key === undefined ? undefined : keyFile,
  };
}

async function askLong(ask: AskPassphrase): Promise<string> {
  const passphrase = await ask();
  if ([...passphrase].length < MIN_PASSPHRASE_LENGTH)
    throw new Error(`A passphrase for the key has at least ${MIN_PASSPHRASE_LENGTH} characters.`);
  return passphrase;
}

function assertKnownSchema(file: string, { migrations: applied, version }: BackupFile): void {
  const known = new Set(migrations.map(({ id }) => id));
  if ([...applied].some((id) => !known.has(id)))
    throw new Error(
      `${file} was created by release ${version}, which has a newer schema. Restore it with that release.`,
    );
}

/** The key to write; undefined if MASTER_KEY or the key file is already the backup's. */
async function findKeyToStore(
  { masterKey }: Config,
  keyFile: string,
  backup: BackupFile,
  ask: AskPassphrase,
  force: boolean,
): Promise<Buffer | undefined> {
  const isRight = (key: Buffer | undefined): boolean => key !== undefined && matchesKeyCheck(key, backup.keyCheck);
  if (masterKey !== undefined) {
    if (isRight(parseMasterKey(masterKey))) return undefined;
    throw new Error(
      'MASTER_KEY is not the key of this backup. Set it to that key, or unset it to use the one in the backup.',
    );
  }
  if (existsSync(keyFile)) {
    if (isRight(parseMasterKey(readFileSync(keyFile, 'utf8')))) return undefined;
    if (!force) throw new Error(`${keyFile} is not the key of this backup. With --force it is moved aside.`);
  }
  if (backup.key === null)
    throw new Error(`The backup was created without its key. Put that into ${keyFile}, or set MASTER_KEY.`);
  const key = openWithPassphrase(backup.key, await ask());
  if (!isRight(key)) throw new Error('The key in the backup is not the one its database was written with.');
  return key;
}

/** Passwords stay out of the process list and the shell's history: PGPASSWORD or ~/.pgpass provides them. */
const serverUrl = (config: Config): string => toLibpqUrl(directUrlOf(config));

const shellQuote = (text: string): string => `'${text.replaceAll(`'`, `'\\''`)}'`;
