import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { Client } from 'pg';
import { migrate } from '../src/server/platform/db/migrate.ts';
import { openDatabase } from '../src/server/platform/db/open-database.ts';
import { migrations, type Tables } from '../src/server/tables.ts';
import { startPostgres } from '../test/start-postgres.ts';
import { timeClaims, timeFullAudit, timeIncrementalAudit } from './scale/claim-timing.ts';
import { compareWithEmptyDatabase, runSteps, type ServiceUnderComparison } from './scale/empty-comparison.ts';
import { timeLists } from './scale/time-lists.ts';
import { startScript, startService } from './support/child-processes.ts';
import { PostgresCpu } from './support/postgres-cpu.ts';
import { cpuSeconds } from './support/process-usage.ts';
import { reportFigure } from './support/report-figure.ts';
import { seedAtScale } from './support/seed-at-scale.ts';

/**
 * A database with millions of rows: every long list over HTTP at random depths; submits, queries, polls and completions
 * compared with an empty database; claims of due work; audits of the ledger.
 * `node bench/large-database.ts [--database postgres] [--tasks 10000000]`. There are twice as many ledger entries and
 * as many rows of the request log. Ten million take 30 GB in the folder for temporary files. `--only requests` fills
 * and lists only the request log, 7 GB.
 */
const { values } = parseArgs({
  options: {
    database: { type: 'string', default: 'sqlite' },
    tasks: { type: 'string', default: '1000000' },
    pages: { type: 'string', default: '60' },
    videos: { type: 'string', default: '400' },
    rounds: { type: 'string', default: '5' },
    only: { type: 'string' },
  },
});
const TASKS = Number(values.tasks);
const REQUESTS_ONLY = values.only === 'requests';
const FIRST_USER = 1_000;
const HOUR_MS = 3_600_000;
const PORTS = { full: 4_471, empty: 4_472 };
const OPEN = Math.min(50_000, TASKS / 20);
/**
 * Disables polling except for tasks the bench makes due, and removal of old rows, which would otherwise be measured
 * with everything else.
 */
const ENV = {
  SYNC_PERIOD_SECONDS: '3600',
  ARTIFACTS: 'off',
  KEY_REQUESTS_PER_MINUTE: '0',
  RETENTION_REQUESTS_DAYS: '0',
  RETENTION_AUDIT_DAYS: '0',
  RETENTION_TASK_DETAIL_DAYS: '0',
};
const folder = mkdtempSync(join(tmpdir(), 'reelgate-bench-'));
const POSTGRES_SETTINGS = ['shared_buffers=1GB', 'maintenance_work_mem=512MB', 'max_wal_size=8GB', 'work_mem=32MB'];
const postgres = values.database === 'postgres' ? await startPostgres(POSTGRES_SETTINGS) : undefined;

type SideName = keyof typeof PORTS;
const urlOf = (name: SideName): string => {
  if (postgres === undefined) return `sqlite:${join(folder, `${name}.db`)}`;
  const url = new URL(postgres.url);
  url.pathname = `/${name}`;
  return url.href;
};
const client = postgres && new Client({ connectionString: postgres.url });
await client?.connect();
if (client !== undefined) for (const name of Object.keys(PORTS)) await client.query(`create database "${name}"`);
const cpuOfPostgres = client && (await PostgresCpu.find(client));
const stops: (() => Promise<unknown>)[] = [];

async function startSide(name: SideName): Promise<ServiceUnderComparison> {
  const database = openDatabase<Tables>(urlOf(name), { statementTimeoutMs: 0 });
  stops.push(() => database.close());
  await migrate(database, migrations);
  if (name === 'full') await seed(database);
  const upstream = await startScript('bench/support/video-jobs-upstream.ts');
  stops.push(() => upstream.stop());
  const service = await startService(PORTS[name], { ...ENV, KEEP: '1', DATABASE_URL: urlOf(name) }, folder);
  stops.push(() => service.stop());
  await service.operator.addChannel({
    vendor: 'sora',
    base_url: upstream.origin,
    credentials: { api_key: 'sk-bench' },
    models: ['sora-2'],
  });
  await service.operator.grantQuota(1_000_000_000_000);
  const { id: userId } = await database.kysely
    .selectFrom('accounts')
    .select('id')
    .where('username', '=', 'root')
    .executeTakeFirstOrThrow();
  return { service, upstream, database, key: await service.operator.makeToken(), userId };
}

async function seed(database: ServiceUnderComparison['database']): Promise<void> {
  const startedAt = performance.now();
  await seedAtScale(database, {
    tasks: TASKS,
    accounts: Math.max(100, TASKS / 1_000),
    unfinished: OPEN,
    firstUser: FIRST_USER,
    now: Date.now(),
    dueInMs: 3 * HOUR_MS,
    requestsOnly: REQUESTS_ONLY,
  });
  const seconds = (performance.now() - startedAt) / 1e3;
  console.log(
    `${TASKS} ${REQUESTS_ONLY ? 'requests' : 'videos'} seeded in ${seconds.toFixed(0)} s on ${database.dialect}`,
  );
  if (REQUESTS_ONLY) return;
  reportFigure({ subject: `${TASKS / 1e6} million videos seeded, ${database.dialect}`, unit: 's', measured: seconds });
}

try {
  const full = await startSide('full');
  const { service, database } = full;
  const databaseCpu = (): number => cpuOfPostgres?.seconds() ?? 0;
  if (!REQUESTS_ONLY)
    await timeFullAudit(database, async () =>
      (await fetch(`${service.origin}/v1/models`, { headers: { authorization: `Bearer ${full.key}` } })).arrayBuffer(),
    );
  await timeLists({
    origin: service.origin,
    database,
    tasks: TASKS,
    heavyUser: FIRST_USER,
    pages: Number(values.pages),
    requestsOnly: REQUESTS_ONLY,
    cpu: () => cpuSeconds(service.pid) + databaseCpu(),
  });
  if (!REQUESTS_ONLY) {
    const empty = await startSide('empty');
    const videos = Number(values.videos);
    await compareWithEmptyDatabase(full, empty, databaseCpu, { videos, rounds: Number(values.rounds) });
    await timeIncrementalAudit(database, () => runSteps(full, databaseCpu, videos));
    await timeClaims(database);
  }
} finally {
  for (const stop of stops.reverse()) await stop();
  await client?.end();
  await postgres?.stop();
  rmSync(folder, { recursive: true, force: true });
}
