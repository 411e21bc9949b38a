import { setTimeout as pause } from 'node:timers/promises';
import { Client } from 'pg';
import { startPostgres } from '../test/start-postgres.ts';
import { startScript } from './support/child-processes.ts';
import { load } from './support/http-load.ts';
import { PostgresCpu } from './support/postgres-cpu.ts';
import { cpuSeconds } from './support/process-usage.ts';
import { reportFigure } from './support/report-figure.ts';
import { COMPLETION, startChatService } from './support/start-chat-service.ts';
import { startNginx } from './support/start-nginx.ts';

/**
 * Cost of each step of a video and of a model call, for one process and PostgreSQL: CPU time of both, bytes of
 * write-ahead log, commits, and bytes on disk. These figures hardly depend on other load on the machine;
 * `bench/capacity-model.ts` uses them. `node bench/costs-per-step.ts`; needs PostgreSQL and nginx.
 */
const VIDEOS = Number(process.env.VIDEOS ?? '6000');
const SECONDS = Number(process.env.SECONDS ?? '15');
const WARM_UP = Number(process.env.WARM_UP ?? '3000');
const CONNECTIONS = 32;

const postgres = await startPostgres();
const upstream = await startScript('bench/support/video-jobs-upstream.ts');
const chatUpstream = await startNginx(`location / { return 200 '${COMPLETION}'; }`);
const env = { DATABASE_URL: postgres.url, SYNC_PERIOD_SECONDS: '15', ARTIFACTS: 'off' };
const { service, key } = await startChatService(4_386, chatUpstream.origin, env);
const client = new Client({ connectionString: postgres.url });
await client.connect();
const databaseCpu = await PostgresCpu.find(client);
const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };

const read = async (sql: string): Promise<number> => Number((await client.query<{ n: string }>(sql)).rows[0]?.n);
const counters = async () => ({
  service: cpuSeconds(service.pid),
  database: databaseCpu.seconds(),
  wal: await read("select pg_current_wal_insert_lsn() - '0/0'::pg_lsn as n"),
  commits: await read('select xact_commit as n from pg_stat_database where datname = current_database()'),
});

/** @param work resolves to the number of completed units */
async function measure(what: string, work: () => Promise<number>): Promise<void> {
  const before = await counters();
  const units = await work();
  // Other connections report their statistics within a second.
  await pause(1_100);
  const after = await counters();
  const each = (name: keyof typeof before, factor: number) => ((after[name] - before[name]) / units) * factor;
  const [process, database] = [each('service', 1e6), each('database', 1e6)];
  console.log(
    `${what.padEnd(22)} ${units} units: process ${process.toFixed(0)} µs, PostgreSQL ${database.toFixed(0)} µs, ` +
      `WAL ${each('wal', 1).toFixed(0)} bytes, ${each('commits', 1).toFixed(2)} commits`,
  );
  reportFigure({ subject: `PostgreSQL, ${what}: CPU of process and server`, unit: 'µs', measured: process + database });
}

const ids: string[] = [];
const polls = async (): Promise<number> => Number(await (await fetch(`${upstream.origin}/count`)).text());
const openTasks = () => read('select count(*) as n from tasks where next_poll_at is not null');

try {
  await service.operator.addChannel({
    vendor: 'sora',
    base_url: upstream.origin,
    credentials: { api_key: 'sk-bench' },
    models: ['sora-2'],
  });
  const submit = async (count: number): Promise<number> => {
    let left = count;
    const one = async (): Promise<void> => {
      while (left-- > 0) {
        const body = JSON.stringify({ model: 'sora-2', prompt: 'a heron lands on a jetty' });
        const answer = await fetch(`${service.origin}/v1/videos`, { method: 'POST', headers, body });
        ids.push(((await answer.json()) as { id: string }).id);
      }
    };
    await Promise.all(Array.from({ length: CONNECTIONS }, one));
    return count;
  };
  // Warms up until the code is optimized.
  await submit(WARM_UP);
  await measure('submit', () => submit(VIDEOS));
  await measure('poll of the vendor', async () => {
    const before = await polls();
    await pause(45_000);
    return (await polls()) - before;
  });
  const ask = (seconds: number) => {
    const request = (index: number) => ({
      method: 'GET' as const,
      path: `/v1/videos/${ids[index % ids.length]}`,
      headers,
    });
    return load({ origin: service.origin, connections: CONNECTIONS, seconds, request });
  };
  await ask(SECONDS);
  await measure('query of a video', async () => (await ask(SECONDS)).requests);
  await measure('last poll and end', async () => {
    const open = await openTasks();
    await fetch(`${upstream.origin}/finish`);
    while ((await openTasks()) > 0) await pause(500);
    return open;
  });
  const request = () => ({
    method: 'POST' as const,
    path: '/v1/chat/completions',
    headers,
    body: JSON.stringify({ model: 'bench-chat', messages: [{ role: 'user', content: 'Say a few words.' }] }),
  });
  const chat = (seconds: number) => load({ origin: service.origin, connections: CONNECTIONS, seconds, request });
  await chat(SECONDS);
  await measure('model call', async () => (await chat(SECONDS)).requests);
  // A partitioned table's size is the sum of its partitions; an ordinary table is a tree of one.
  const size = (table: string) =>
    read(
      `select (select sum(pg_total_relation_size(relid)) from pg_partition_tree('${table}')) / greatest(1, (select count(*) from ${table})) as n`,
    );
  for (const table of ['tasks', 'ledger', 'requests'])
    console.log(`${table.padEnd(22)} ${await size(table)} bytes a row, indexes included`);
} finally {
  await client.end();
  await service.stop();
  await upstream.stop();
  await chatUpstream.stop();
  await postgres.stop();
}
