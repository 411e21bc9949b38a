import { existsSync, readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DAY_MS } from '../../contract/time-units.ts';
import { journalDirectory } from '../chat/settlement-journal.ts';
import { partitionsOf } from '../jobs.ts';
import { type Config, loadConfig } from '../platform/config.ts';
import type { Database } from '../platform/db/database.ts';
import { migrate } from '../platform/db/migrate.ts';
import { type ExistingMasterKey, findMasterKey, MASTER_KEY_META_NAME, previousKeysOf } from '../platform/master-key.ts';
import {
  assertEmptyTarget,
  type CopiedTable,
  type CopyProgress,
  copyTables,
  PostgresTarget,
} from '../platform/transfer/copy-database.ts';
import { SqliteSource, sqlitePathOf } from '../platform/transfer/sqlite-backup.ts';
import { createVault, matchesKeyCheck, openSealed } from '../platform/vault.ts';
import { auditLedger, type LedgerAuditFinding } from '../quota/ledger-audit.ts';
import { migrations, type Tables } from '../tables.ts';
import { encryptedColumns, STATEMENT_TIMEOUT } from './check-database.ts';
import { withDatabase } from './service-database.ts';

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
