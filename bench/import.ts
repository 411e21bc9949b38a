import { existsSync, rmSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { makeTestImporter, requestFor } from '../importer/test/imported-rows.ts';
import { writeManyAccounts } from '../importer/test/write-many-accounts.ts';
import { migrate } from '../src/server/platform/db/migrate.ts';
import { openDatabase } from '../src/server/platform/db/open-database.ts';
import { migrations, type Tables } from '../src/server/tables.ts';
import { reportFigure } from './support/report-figure.ts';

/**
 * Duration of an import, including its verification:
 * `node bench/import.ts [--to sqlite:./bench-target.db] [--accounts 100000] [--keys 200000] [--tasks 0]`. Creates the
 * source if it does not exist; the target must be empty.
 */
const { values } = parseArgs({
  options: {
    source: { type: 'string', default: './bench-source.db' },
    to: { type: 'string', default: 'sqlite:./bench-target.db' },
    accounts: { type: 'string', default: '100000' },
    keys: { type: 'string', default: '200000' },
    /** Finished videos. */
    tasks: { type: 'string', default: '0' },
  },
});
const from = `sqlite:${values.source}`;
if (!existsSync(values.source))
  await writeManyAccounts(from, Number(values.accounts), Number(values.keys), Number(values.tasks));
if (values.to.startsWith('sqlite:')) rmSync(values.to.slice('sqlite:'.length), { force: true });
const database = openDatabase<Tables>(values.to, { statementTimeoutMs: 600_000 });
await migrate(database, migrations);
const since = performance.now();
const report = await makeTestImporter(database).apply(requestFor(from, 'new-api with task ids'));
const took = (performance.now() - since) / 1000;
await database.close();
reportFigure({ subject: 'import of 100,000 accounts and 200,000 keys', unit: 's', measured: took, asked: 60 });
reportFigure({
  subject: 'the import, peak memory',
  unit: 'MB',
  measured: process.resourceUsage().maxRSS / 1024,
  asked: 300,
});
process.stdout.write(
  `${report.counts.user?.imported} accounts and ${report.counts.key?.imported} keys, ${report.counts['ended-task']?.imported} ended videos in ${took.toFixed(1)} s, proof included, ` +
    `peak memory ${(process.resourceUsage().maxRSS / 1024).toFixed(0)} MB, ${report.proof?.discrepancies.length} discrepancies\n`,
);
