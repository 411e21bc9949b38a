import assert from 'node:assert/strict';
import { it } from 'node:test';
import { sql } from 'kysely';
import type { Database } from '../../src/server/platform/db/database.ts';
import { migrate } from '../../src/server/platform/db/migrate.ts';
import { openDatabase } from '../../src/server/platform/db/open-database.ts';
import { auditLedger } from '../../src/server/quota/ledger-audit.ts';
import { migrations, type Tables } from '../../src/server/tables.ts';
import { forEachDatabase } from '../for-each-database.ts';
import { isReleased, keptReleases, loadFixture } from './release-fixture.ts';

const RENEW =
  'the schema of this release has changed: run "node scripts/save-release-databases.ts" and commit what it writes';

/** Columns and indexes as lines, for comparison. */
async function describeSchema({ kysely, dialect }: Database<Tables>): Promise<string[]> {
  const tables = await kysely.introspection.getTables();
  const columns = tables.flatMap(({ name, columns: all }) =>
    all.map((each) => `${name}.${each.name} ${each.dataType} ${each.isNullable} ${each.hasDefaultValue}`),
  );
  const { rows } = await (dialect === 'sqlite'
    ? sql<{ line: string }>`select sql as line from sqlite_schema where type <> 'table' and sql is not null`
    : sql<{ line: string }>`select indexdef as line from pg_indexes where schemaname = current_schema()`
  ).execute(kysely);
  // The months with partitions on PostgreSQL depend on when the database was created.
  return [...columns, ...rows.map(({ line }) => line)].filter((line) => !/_\d{4}_\d{2}[._]/.test(line)).sort();
}

forEachDatabase((_name, open, _freshUrl, emptyUrl) => {
  for (const version of keptReleases())
    it(`the database of release ${version} has all data, and migrates to the current schema`, async () => {
      const url = await emptyUrl();
      const { key } = await loadFixture(url, version);
      assert.match(key, /^sk-\w{40,}$/);
      const database = openDatabase<Tables>(url);
      const fresh = await open();
      try {
        const before = await sql<{ count: number }>`select count(*) as count from tasks`.execute(database.kysely);
        const applied = await migrate(database, migrations);
        if (!isReleased(version)) assert.deepEqual(applied, [], RENEW);
        assert.deepEqual(await describeSchema(database), await describeSchema(fresh), isReleased(version) ? '' : RENEW);
        const after = await sql<{ count: number }>`select count(*) as count from tasks`.execute(database.kysely);
        assert.ok(Number(after.rows[0]?.count) >= 10);
        assert.deepEqual(after.rows, before.rows);
        assert.deepEqual(await auditLedger(database), []);
      } finally {
        await database.close();
      }
    });
});
