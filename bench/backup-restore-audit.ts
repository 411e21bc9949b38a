import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { openDatabase } from '../src/server/platform/db/open-database.ts';
import { openLog } from '../src/server/platform/log.ts';
import { backUpSqlite, restoreSqlite } from '../src/server/platform/transfer/sqlite-backup.ts';
import { LedgerAuditService, LedgerCheckpointStore } from '../src/server/quota/ledger-audit.ts';
import { LedgerCompaction, LedgerCompactionStore } from '../src/server/quota/ledger-compaction.ts';
import type { Tables } from '../src/server/tables.ts';
import { findPostgres } from '../test/start-postgres.ts';

/**
 * Duration of a backup, a restore and a full audit of the ledger:
 * `node bench/backup-restore-audit.ts --from ./bench-copy.db [--to postgres://… --empty postgres://…]`, on the database
 * created by `bench/sqlite-to-postgres.ts`. `--empty` is the target of the restore.
 */
const { values } = parseArgs({
  options: { from: { type: 'string', default: './bench-copy.db' }, to: { type: 'string' }, empty: { type: 'string' } },
});
const folder = mkdtempSync(join(tmpdir(), 'reelgate-backup-'));

async function measure(what: string, work: () => Promise<unknown>): Promise<void> {
  const since = performance.now();
  await work();
  const seconds = (performance.now() - since) / 1_000;
  const perGb = seconds / 60 / (statSync(values.from).size / 1e9);
  console.log(`${what}: ${seconds.toFixed(1)} s, ${perGb.toFixed(2)} minutes a GB of SQLite`);
}

async function auditFully(url: string): Promise<void> {
  const database = openDatabase<Tables>(url);
  const clock = { now: Date.now };
  const store = new LedgerCheckpointStore(database);
  const compaction = new LedgerCompaction({
    store: new LedgerCompactionStore(database),
    clock,
    retentionDays: () => 0,
  });
  const events = { write: async () => {} };
  const audit = new LedgerAuditService({ store, compaction, events, clock, log: openLog('silent') });
  const result = await audit.run('full');
  await database.close();
  if (result?.ok !== true) throw new Error(`the audit of ${url} found ${JSON.stringify(result?.findings)}`);
}

/** Runs one of PostgreSQL's programs. */
async function run(name: string, ...args: string[]): Promise<void> {
  const path = join(findPostgres() ?? '', name);
  execFileSync(existsSync(path) ? path : name, args, { stdio: 'inherit' });
}

try {
  const backup = join(folder, 'backup.db');
  await measure('SQLite: backup', () =>
    backUpSqlite(values.from, backup, { version: '0', madeAt: '', key: null }, { replace: false }),
  );
  await measure('SQLite: restore', () => restoreSqlite(backup, join(folder, 'restored.db'), () => {}));
  await measure('SQLite: full audit of the ledger', () => auditFully(`sqlite:${values.from}`));
  const { to, empty } = values;
  if (to !== undefined) {
    const dump = join(folder, 'dump');
    await measure('PostgreSQL: pg_dump', () => run('pg_dump', '--format=custom', `--file=${dump}`, `--dbname=${to}`));
    if (empty !== undefined)
      await measure('PostgreSQL: pg_restore', () =>
        run('pg_restore', '--exit-on-error', '--single-transaction', '--no-owner', `--dbname=${empty}`, dump),
      );
    await measure('PostgreSQL: full audit of the ledger', () => auditFully(to));
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
