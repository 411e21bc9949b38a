import { HOUR_MS } from '../contract/time-units.ts';
import { encryptedColumns } from './encrypted-columns.ts';
import { findBrokenRows } from './find-broken-rows-store.ts';
import { loadConfig } from './platform/config.ts';
import { openDatabase } from './platform/db/open-database.ts';
import { findMasterKey } from './platform/master-key.ts';
import { findDamage } from './platform/transfer/sqlite-backup.ts';
import { sqlitePathOf } from './platform/transfer/sqlite-source.ts';
import { createVault, openSealed } from './platform/vault.ts';
import { auditLedger } from './quota/ledger-audit.ts';
import type { Tables } from './tables.ts';

/** Something that is wrong with the data. */
export interface CheckFinding {
  readonly rule: string;
  readonly at: string;
  readonly expected?: number;
  readonly found?: number;
}

/** A full audit may take minutes where there are many millions of entries. */
const STATEMENT_TIMEOUT_MS = HOUR_MS;

/**
 * Checks the database of DATABASE_URL, whether the service runs or not: the pages of the file (SQLite), the ledger, rows that
 * must fit together, and that what is encrypted opens with the master key. Empty when everything is in order.
 */
export async function checkDatabase(): Promise<CheckFinding[]> {
  const { config } = loadConfig();
  const { databaseUrl } = config;
  const path = databaseUrl.startsWith('sqlite:') ? sqlitePathOf(databaseUrl) : undefined;
  const damage = path === undefined ? undefined : findDamage(path);
  if (damage !== undefined) return [{ rule: 'the file is sound', at: damage }];
  const database = openDatabase<Tables>(config.databaseDirectUrl ?? databaseUrl, {
    statementTimeoutMs: STATEMENT_TIMEOUT_MS,
  });
  try {
    const { key } = findMasterKey(config, path);
    const vault = createVault(
      key,
      config.masterKeyPrevious.map((each) => Buffer.from(each, 'base64')),
    );
    return [
      ...(await auditLedger(database)),
      ...(await findBrokenRows(database)),
      ...(await openSealed(vault, encryptedColumns(database.kysely))).map((at) => ({
        rule: 'an encrypted value opens with the master key',
        at,
      })),
    ];
  } finally {
    await database.close();
  }
}
