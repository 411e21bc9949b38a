import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { sql } from 'kysely';
import { DAY_MS, HOUR_MS } from '../../contract/time-units.ts';
import { sealedTwoFactorSecrets } from '../accounts/two-factor.ts';
import { USAGE_RULES } from '../artifacts/artifact-store.ts';
import { sealedConnections, sealedCredentials } from '../channels/credentials.ts';
import { journalDirectory } from '../chat/settlement-journal.ts';
import { partitionsOf } from '../jobs.ts';
import { sealedPasswordCells } from '../mailbox/passwords.ts';
import { sealedInvitationMails } from '../organizations/organizations.ts';
import { VERSION } from '../package-root.ts';
import { type Config, loadConfig } from '../platform/config.ts';
import type { Database } from '../platform/db/database.ts';
import { migrate } from '../platform/db/migrate.ts';
import { toLibpqUrl } from '../platform/db/postgres.ts';
import {
  type ExistingMasterKey,
  findMasterKey,
  MASTER_KEY_META_NAME,
  masterKeyFileOf,
  previousKeysOf,
  storeMasterKey,
} from '../platform/master-key.ts';
import {
  assertEmptyTarget,
  type CopiedTable,
  type CopyProgress,
  copyTables,
  PostgresTarget,
} from '../platform/transfer/copy-database.ts';
import {
  assertNotInUse,
  type BackupFile,
  backUpSqlite,
  findDamage,
  openWithPassphrase,
  readBackup,
  restoreSqlite,
  SqliteSource,
  sealWithPassphrase,
  sqlitePathOf,
} from '../platform/transfer/sqlite-backup.ts';
import { createVault, matchesKeyCheck, openSealed, parseMasterKey, type SealedColumn } from '../platform/vault.ts';
import { auditLedger, type LedgerAuditFinding } from '../quota/ledger-audit.ts';
import { sealedSettings } from '../site-settings/settings.ts';
import { type Executor, migrations, type Tables } from '../tables.ts';
import { sealedShareTokens } from '../video/shares.ts';
import { sealedWebhookSecrets } from '../webhooks/endpoint-store.ts';
import { directUrlOf, withDatabase } from './service-database.ts';

/** All columns encrypted under the master key. */
export const encryptedColumns = (kysely: Executor): SealedColumn[] => [
  sealedCredentials(kysely),
  sealedConnections(kysely),
  sealedTwoFactorSecrets(kysely),
  ...sealedPasswordCells(kysely),
  ...sealedWebhookSecrets(kysely),
  sealedShareTokens(kysely),
  sealedSettings(kysely),
  sealedInvitationMails(kysely),
];

/** An inconsistency in the data. */
export interface CheckFinding {
  readonly rule: string;
  readonly at: string;
  readonly expected?: number;
  readonly found?: number;
}

/** A full audit may take minutes with many millions of entries. */
const STATEMENT_TIMEOUT = { statementTimeoutMs: HOUR_MS };

/**
 * Checks the database of DATABASE_URL, whether or not the service is running: the pages of the file (SQLite), the
 * ledger, rows that must be consistent with each other, and that encrypted values open with the master key. Empty if
 * everything is in order.
 */
export async function checkDatabase(): Promise<CheckFinding[]> {
  const { config } = loadConfig();
  const { databaseUrl } = config;
  const path = databaseUrl.startsWith('sqlite:') ? sqlitePathOf(databaseUrl) : undefined;
  const damage = path === undefined ? undefined : findDamage(path);
  if (damage !== undefined) return [{ rule: 'the file is sound', at: damage }];
  const vault = createVault(findMasterKey(config, path).key, previousKeysOf(config));
  const rule = 'an encrypted value opens with the master key';
  return withDatabase(
    directUrlOf(config),
    async (database) => [
      ...(await auditLedger(database)),
      ...(await findBrokenRows(database)),
      ...(await openSealed(vault, encryptedColumns(database.kysely))).map((at) => ({ rule, at })),
    ],
    STATEMENT_TIMEOUT,
  );
}

/** A row that breaks a rule. */
interface RowFinding {
  readonly rule: string;
  /** The table and the row: `tasks task_…`. */
  readonly at: string;
}

const MAX_FINDINGS = 100;

/**
 * Finds inconsistent rows that no sequence of requests and crashes should produce; the ledger has its own audit. Each
 * rule is one statement and therefore sees one consistent state while the service runs. Returns at most a hundred
 * findings per rule.
 */
export async function findBrokenRows({ kysely }: Database<Tables>): Promise<RowFinding[]> {
  const found: RowFinding[] = [];
  for (const { rule, table, query } of ROW_RULES) {
    const { rows } = await sql<{ at: string | number }>`${query} limit ${sql.lit(MAX_FINDINGS)}`.execute(kysely);
    found.push(...rows.map(({ at }) => ({ rule, at: `${table} ${at}` })));
  }
  return found;
}

const ENDED = sql`('SUCCESS', 'FAILURE')`;

const ROW_RULES = [
  {
    rule: 'an account has a wallet',
    table: 'accounts',
    query: sql`select id as at from accounts a where not exists (select 1 from wallets w where w.user_id = a.id)`,
  },
  {
    rule: 'a token belongs to an account',
    table: 'tokens',
    query: sql`select id as at from tokens t where not exists (select 1 from accounts a where a.id = t.user_id)`,
  },
  {
    rule: 'a device sign-in has its token',
    table: 'device_authorizations',
    query: sql`select id as at from device_authorizations d
      where not exists (select 1 from tokens t where t.id = d.llm_token_id and t.revoked_at is null)`,
  },
  {
    rule: 'an open task has a reservation, one that has ended has none',
    table: 'tasks',
    query: sql`select id as at from tasks t
      where (status in ${ENDED}) = (exists (select 1 from reservations r where r.ref = t.id))`,
  },
  {
    rule: 'an open task is polled, one that has ended is not',
    table: 'tasks',
    query: sql`select id as at from tasks where (status in ${ENDED}) = (next_poll_at is not null)`,
  },
  {
    rule: 'the reservation of a video belongs to a task',
    table: 'reservations',
    query: sql`select ref as at from reservations r
      where ref like 'task\\_%' escape '\\' and not exists (select 1 from tasks t where t.id = r.ref)`,
  },
  {
    rule: 'the channel of a task exists',
    table: 'tasks',
    query: sql`select id as at from tasks t
      where channel_id is not null and not exists (select 1 from channels c where c.id = t.channel_id)`,
  },
  {
    rule: 'a subscription belongs to a plan',
    table: 'subscriptions',
    query: sql`select id as at from subscriptions s where not exists (select 1 from plans p where p.id = s.plan_id)`,
  },
  {
    rule: 'an inbox counts its notifications',
    table: 'inboxes',
    query: sql`select user_id as at from inboxes i where user_id <> 0 and (
      total_user <> (select count(*) from notifications n where n.user_id = i.user_id and n.for_admin = 0)
      or total_admin <> (select count(*) from notifications n where n.user_id = i.user_id and n.for_admin = 1))`,
  },
  ...USAGE_RULES,
] as const;

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

/** Older rows go into the default partition. */
const MAX_PARTITIONS_BACK_MS = 1_096 * DAY_MS;

/** Source and target of a copy. */
export interface CopyRequest {
  /** `sqlite:PATH` */
  readonly from: string;
  /** `postgres://…` */
  readonly to: string;
  /** Whether to compare every row of the copy with its original. */
  readonly verify: boolean;
}

/** The result of a copy. */
export interface CopyReport {
  /** The copied tables with their number of rows, which is the same on both sides. */
  readonly tables: readonly CopiedTable[];
  readonly rows: number;
  readonly seconds: number;
  readonly verified: boolean;
  /** Findings of the ledger audit in the source and in the copy; empty if consistent. */
  readonly sourceFindings: readonly LedgerAuditFinding[];
  readonly targetFindings: readonly LedgerAuditFinding[];
  /** The file with the key the copy needs as MASTER_KEY; undefined if MASTER_KEY is already set. */
  readonly keyFile: string | undefined;
}

/**
 * Copies an unused SQLite database into an empty PostgreSQL database, and audits the ledger of both. The source is not
 * changed; the target receives everything or, after an error, nothing.
 *
 * @throws Error with the obstacle: a source in use or of another release, a wrong key, a target that is not empty
 */
export async function copyDatabase(
  { from, to, verify }: CopyRequest,
  onProgress: (progress: CopyProgress) => void,
): Promise<CopyReport> {
  const { config } = loadConfig();
  const startedAt = performance.now();
  const source = new SqliteSource(sqlitePathOf(from));
  let tables: CopiedTable[];
  let key: ExistingMasterKey;
  try {
    assertCurrentSchema(source);
    key = findFittingKey(config, source);
    assertSettled(from, config);
    const target = await PostgresTarget.open(to);
    try {
      await assertEmptyTarget(target);
      await withDatabase(
        to,
        async (database) => {
          await migrate(database, migrations);
          await makePartitions(database, source);
        },
        STATEMENT_TIMEOUT,
      );
      tables = await copyTables(source, target, { verify, onProgress });
    } finally {
      await target.close();
    }
  } finally {
    source.close();
  }
  const targetFindings = await withDatabase(
    to,
    async (database) => {
      const vault = createVault(key.key, previousKeysOf(config));
      const unreadable = await openSealed(vault, encryptedColumns(database.kysely));
      if (unreadable.length > 0) throw new Error(`The master key does not open ${unreadable.join(', ')}.`);
      return auditLedger(database);
    },
    STATEMENT_TIMEOUT,
  );
  return {
    tables,
    rows: tables.reduce((sum, { rows }) => sum + rows, 0),
    seconds: (performance.now() - startedAt) / 1000,
    verified: verify,
    sourceFindings: await withDatabase(from, auditLedger, STATEMENT_TIMEOUT),
    targetFindings,
    keyFile: key.file,
  };
}

/** Creates the partitions of the months the rows belong to, so that no row has to be moved later. */
async function makePartitions(database: Database<Tables>, source: SqliteSource): Promise<void> {
  const now = Date.now();
  for (const [table, partitions] of partitionsOf({ database })) {
    const oldest = source.least(table, 'created_at') ?? now;
    await partitions.add(Math.max(oldest, now - MAX_PARTITIONS_BACK_MS), now);
  }
}

function assertCurrentSchema(source: SqliteSource): void {
  const applied = source.appliedMigrations();
  if (applied.size === 0) throw new Error(`${source.path} is not a database of this service.`);
  const known = new Set(migrations.map(({ id }) => id));
  const missing = [...known].filter((id) => !applied.has(id));
  const unknown = [...applied].filter((id) => !known.has(id));
  if (unknown.length > 0)
    throw new Error(
      `${source.path} has the schema of a newer release (${unknown.join(', ')}). Copy it with that release.`,
    );
  if (missing.length > 0)
    throw new Error(
      `${source.path} has the schema of an older release (${missing.join(', ')} is missing). Start this release on it once, stop it, and copy it then.`,
    );
}

/** @throws Error if there is no key, or it belongs to another database */
function findFittingKey(config: Config, source: SqliteSource): ExistingMasterKey {
  const found = findMasterKey(config, source.path);
  const check = source.meta(MASTER_KEY_META_NAME);
  if (check === undefined || ![found.key, ...previousKeysOf(config)].some((each) => matchesKeyCheck(each, check)))
    throw new Error(
      `${found.file ?? 'MASTER_KEY'} is not the key that ${source.path} was written with; nothing was copied.`,
    );
  return found;
}

/**
 * Rejects unsettled journals: model calls of a killed process are in a journal on this machine, which no process reads
 * after the move.
 */
function assertSettled(from: string, { journalDir }: Config): void {
  const own = journalDirectory(from, journalDir) ?? '';
  // The folder of a database contains only its own journals, whichever spelling of its path named them.
  const root = journalDir === undefined ? dirname(own) : own;
  const names = existsSync(root) ? readdirSync(root, { recursive: true, encoding: 'utf8' }) : [];
  const open = names.find((name) => name.endsWith('.journal'));
  if (open !== undefined)
    throw new Error(
      `The service did not stop in order: ${join(root, open)} has model calls that are not charged yet. Start the service on the source once more and stop it, then copy.`,
    );
}
