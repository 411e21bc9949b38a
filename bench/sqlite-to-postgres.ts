import { statSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { migrate } from '../src/server/platform/db/migrate.ts';
import { openDatabase } from '../src/server/platform/db/open-database.ts';
import { copyTables, PostgresTarget } from '../src/server/platform/transfer/copy-database.ts';
import { SqliteSource } from '../src/server/platform/transfer/sqlite-backup.ts';
import { migrations, type Tables } from '../src/server/tables.ts';
import { seedEndedVideos } from './support/seed-ended-videos.ts';

/**
 * Duration of a move from SQLite to PostgreSQL:
 * `node bench/sqlite-to-postgres.ts --to postgres://… [--from ./bench.db] [--tasks 1000000] [--verify]`. Creates the
 * source with that many finished videos if it does not exist; the target must be empty.
 */
const { values } = parseArgs({
  options: {
    from: { type: 'string', default: './bench-copy.db' },
    to: { type: 'string' },
    tasks: { type: 'string', default: '1000000' },
    verify: { type: 'boolean', default: false },
  },
});
if (values.to === undefined) throw new Error('--to names an empty PostgreSQL database');
const seconds = (since: number): string => ((performance.now() - since) / 1000).toFixed(1);

if (statSync(values.from, { throwIfNoEntry: false }) === undefined) {
  const since = performance.now();
  const database = openDatabase<Tables>(`sqlite:${values.from}`);
  await migrate(database, migrations);
  await seedEndedVideos(database, { tasks: Number(values.tasks), accounts: 1_000 });
  await database.close();
  process.stdout.write(`seeded in ${seconds(since)} s\n`);
}
const target = openDatabase<Tables>(values.to);
await migrate(target, migrations);
await target.close();
const bytes = statSync(values.from).size;
const since = performance.now();
const source = new SqliteSource(values.from);
const connection = await PostgresTarget.open(values.to);
const copied = await copyTables(source, connection, { verify: values.verify, onProgress: () => {} });
await connection.close();
source.close();
const rows = copied.reduce((sum, table) => sum + table.rows, 0);
const took = (performance.now() - since) / 1000;
process.stdout.write(
  `${(bytes / 1e6).toFixed(0)} MB, ${rows} rows in ${took.toFixed(1)} s: ${(bytes / 1e6 / took).toFixed(1)} MB/s, ` +
    `peak memory ${(process.resourceUsage().maxRSS / 1024).toFixed(0)} MB${values.verify ? ', every row compared' : ''}\n`,
);
