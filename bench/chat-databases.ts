import { Client } from 'pg';
import { startPostgres } from '../test/start-postgres.ts';
import { PostgresCpu } from './support/postgres-cpu.ts';
import { cpuSeconds } from './support/process-usage.ts';
import { median } from './support/quantile.ts';
import { rawLoad } from './support/raw-socket-load.ts';
import { reportFigure } from './support/report-figure.ts';
import { COMPLETION, makeAccountCalls, startChatService } from './support/start-chat-service.ts';
import { startNginx } from './support/start-nginx.ts';
import { warmUp } from './support/warm-up.ts';

/**
 * Compares model calls of one process on SQLite (synchronous=FULL) and on PostgreSQL (without fsync, to compare CPU
 * only), by sixteen accounts and by one, in alternating rounds. Reports CPU time of the process alone and together with
 * PostgreSQL.
 *
 * Run `node bench/chat-databases.ts`; needs nginx and PostgreSQL. `SECONDS` and `ROUNDS` change the length.
 */
const SECONDS = Number(process.env.SECONDS ?? '3');
const ROUNDS = Number(process.env.ROUNDS ?? '5');
const ACCOUNTS = 16;
const CONNECTIONS = 64;

const postgres = await startPostgres();
const client = new Client({ connectionString: postgres.url });
await client.connect();
const databaseCpu = await PostgresCpu.find(client);
const upstream = await startNginx(`location / { return 200 '${COMPLETION}'; }`);
const [onSqlite, onPostgres] = [
  await startChatService(4_397, upstream.origin),
  await startChatService(4_398, upstream.origin, { DATABASE_URL: postgres.url }),
];
const [sqliteRequests, postgresRequests] = [
  await makeAccountCalls(onSqlite.service, ACCOUNTS),
  await makeAccountCalls(onPostgres.service, ACCOUNTS),
];
const subjects = {
  'SQLite, 16 accounts': { ...onSqlite, port: 4_397, requests: sqliteRequests },
  'PostgreSQL, 16 accounts': { ...onPostgres, port: 4_398, requests: postgresRequests },
  'PostgreSQL, 1 account': { ...onPostgres, port: 4_398, requests: postgresRequests.slice(0, 1) },
};
type Subject = (typeof subjects)[keyof typeof subjects];
type Figures = Record<'perSecond' | 'process' | 'both', number>;

async function measure({ service, port, requests }: Subject): Promise<Figures> {
  const before = [cpuSeconds(service.pid), databaseCpu.seconds()] as const;
  const connections = CONNECTIONS / requests.length;
  const results = await Promise.all(
    requests.map((request) => rawLoad({ port, connections, seconds: SECONDS, request })),
  );
  const failed = results.find(({ failures }) => failures > 0);
  if (failed !== undefined) throw new Error(failed.firstFailure);
  const calls = results.reduce((sum, each) => sum + each.requests, 0);
  const process = ((cpuSeconds(service.pid) - before[0]) / calls) * 1e6;
  return { perSecond: calls / SECONDS, process, both: process + ((databaseCpu.seconds() - before[1]) / calls) * 1e6 };
}

try {
  for (const [name, subject] of Object.entries(subjects)) {
    const windows = await warmUp(async () => (await measure(subject)).process);
    process.stderr.write(`${name}: warm after ${windows} windows of ${SECONDS} s\n`);
  }
  const rounds = Object.values(subjects).map((): Figures[] => []);
  for (let round = 0; round < ROUNDS; round++)
    for (const [index, subject] of Object.values(subjects).entries()) rounds[index]?.push(await measure(subject));
  const figure = (name: keyof typeof subjects, key: keyof Figures) =>
    median((rounds[Object.keys(subjects).indexOf(name)] ?? []).map((figures) => figures[key]));
  for (const name of Object.keys(subjects) as (keyof typeof subjects)[])
    process.stdout.write(
      `${name.padEnd(24)} ${figure(name, 'perSecond').toFixed(0)}/s, process ${figure(name, 'process').toFixed(0)} µs, ` +
        `with the database ${figure(name, 'both').toFixed(0)} µs a call\n`,
    );
  const ratio = (a: keyof typeof subjects, b: keyof typeof subjects, key: keyof Figures) =>
    figure(a, key) / figure(b, key);
  reportFigure({
    subject: 'model calls on PostgreSQL, rate of that on SQLite',
    unit: '×',
    measured: ratio('PostgreSQL, 16 accounts', 'SQLite, 16 accounts', 'perSecond'),
    asked: 0.45,
  });
  reportFigure({
    subject: 'model calls on PostgreSQL, CPU of process and server, of that on SQLite',
    unit: '×',
    measured: ratio('PostgreSQL, 16 accounts', 'SQLite, 16 accounts', 'both'),
    asked: 2.5,
  });
  reportFigure({
    subject: 'model calls of one account on PostgreSQL, rate of that of sixteen',
    unit: '×',
    measured: ratio('PostgreSQL, 1 account', 'PostgreSQL, 16 accounts', 'perSecond'),
    asked: 0.8,
  });
} finally {
  await client.end();
  await onSqlite.service.stop();
  await onPostgres.service.stop();
  await upstream.stop();
  await postgres.stop();
}
