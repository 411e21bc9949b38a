import { Client } from 'pg';
import { startPostgres } from '../test/start-postgres.ts';
import { portOf, type Service, startService } from './support/child-processes.ts';
import { PostgresCpu } from './support/postgres-cpu.ts';
import { exactCpuSeconds } from './support/process-usage.ts';
import { median, spreadOf } from './support/quantile.ts';
import { rawLoad } from './support/raw-socket-load.ts';
import { reportFigure } from './support/report-figure.ts';
import { COMPLETION, makeAccountCalls, startChatService } from './support/start-chat-service.ts';
import { startNginx } from './support/start-nginx.ts';
import { warmUp } from './support/warm-up.ts';

/**
 * Model calls on one, two and four processes that share one PostgreSQL, each process with the same number of
 * connections. The CPU time per call, processes and PostgreSQL together, must not grow with the number of processes.
 * With only two cores this is how scaling can be measured; the rate is meaningful only with more cores than processes.
 * `SHARED=1` divides one process's connections among them. Sixteen accounts, because a single account queues at its
 * wallet. PostgreSQL runs without fsync, so the bench measures CPU, not the disk.
 *
 * For comparison, processes with a database each on the same server alternate with them: they run the same code but
 * share no row, lock or message, so that any cost of running side by side is the machine's share, such as its caches.
 *
 * Run `node bench/chat-replicas.ts`; needs nginx and PostgreSQL.
 */
const WARM_SECONDS = 5;
/**
 * Many short rounds, so that the two sides of a ratio are close in time: the host's own speed changes from minute to
 * minute.
 */
const SECONDS = Number(process.env.SECONDS ?? '2');
/** Idle processes release memory and need this long to acquire it again. */
const SETTLE_SECONDS = 3;
const ROUNDS = Number(process.env.ROUNDS ?? '15');
const COUNTS = [1, 2, 4] as const;
const MOST = Math.max(...COUNTS);
const ASKED_RATIO = 1.15;
const ACCOUNTS = 16;
const CONNECTIONS = 64;
/** Divides the connections of one process among all: each process then has fewer calls to batch into a statement. */
const IS_SHARED = process.env.SHARED === '1';
const FIRST_PORT = 4_375;

const postgres = await startPostgres();
const upstream = await startNginx(`location / { return 200 '${COMPLETION}'; }`);
const services: Service[] = [];
const client = new Client({ connectionString: postgres.url });
await client.connect();
const cpuOfPostgres = await PostgresCpu.find(client);

/** A process, and the request bytes of each of its accounts. */
interface Measured {
  readonly service: Service;
  readonly requests: readonly Buffer[];
}

interface Subject {
  readonly name: string;
  readonly processes: readonly Measured[];
  /** µs per call in each round, by number of processes. */
  readonly cpuUs: ReadonlyMap<number, number[]>;
}
const subjectOf = (name: string, processes: readonly Measured[]): Subject => ({
  name,
  processes,
  cpuUs: new Map(COUNTS.map((count) => [count, []])),
});

/** Starts the maximum number of processes on one database. */
async function startOnOneDatabase(): Promise<Measured[]> {
  const env = { DATABASE_URL: postgres.url };
  const first = await startMeasured(env);
  const further: Measured[] = [];
  while (further.length < MOST - 1) {
    const service = await startService(FIRST_PORT + services.length, env);
    services.push(service);
    further.push({ service, requests: first.requests });
  }
  return [first, ...further];
}

/** Starts the maximum number of processes with a database each. */
async function startOnOwnDatabases(): Promise<Measured[]> {
  const processes: Measured[] = [];
  while (processes.length < MOST) {
    const name = `bench_${processes.length}`;
    await client.query(`create database ${name}`);
    const url = new URL(postgres.url);
    url.pathname = `/${name}`;
    processes.push(await startMeasured({ DATABASE_URL: url.href }));
  }
  return processes;
}

async function startMeasured(env: Readonly<Record<string, string>>): Promise<Measured> {
  const { service } = await startChatService(FIRST_PORT + services.length, upstream.origin, env);
  services.push(service);
  return { service, requests: await makeAccountCalls(service, ACCOUNTS) };
}

try {
  const ours = subjectOf('model calls', await startOnOneDatabase());
  const apart = subjectOf('with a database each', await startOnOwnDatabases());
  // Each process compiles its own code, so one that has served a quarter of another's calls is not yet warm. All
  // processes together open more connections, each of which plans its own statements.
  for (const subject of [ours, apart])
    for (const used of [...subject.processes.map((process) => [process]), subject.processes]) {
      const windows = await warmUp(async () => (await measure(used, WARM_SECONDS)).cpuUs);
      const names = used.map(({ service }) => service.origin).join(' ');
      console.log(`${subject.name}, ${names}: warm after ${windows} windows of ${WARM_SECONDS} s`);
    }
  for (let round = 0; round < ROUNDS; round++)
    for (const subject of round % 2 === 0 ? [ours, apart] : [apart, ours])
      for (const count of round % 2 === 0 ? COUNTS : COUNTS.toReversed()) {
        const used = subject.processes.slice(0, count);
        await measure(used, SETTLE_SECONDS);
        const { perSecond, cpuUs } = await measure(used, SECONDS);
        subject.cpuUs.get(count)?.push(cpuUs);
        console.log(
          `${subject.name}, ${count} processes: ${perSecond.toFixed(0)}/s, ${cpuUs.toFixed(0)} µs of CPU a call`,
        );
      }
  for (const count of COUNTS.slice(1)) {
    const subject = `model calls on ${count} processes of one PostgreSQL, CPU`;
    report(subject, 'of one process', ratios(ours, count, ours, 1), ASKED_RATIO);
    report(`${subject}, beside a database each`, 'of as many', ratios(ours, count, apart, count), ASKED_RATIO);
    report(`${count} processes with a database each, CPU`, 'of one process', ratios(apart, count, apart, 1));
  }
} finally {
  for (const service of services) await service.stop();
  await client.end();
  await upstream.stop();
  await postgres.stop();
}

/** Cost of a call in each round, as a multiple of another subject's cost. */
function ratios(one: Subject, count: number, other: Subject, otherCount: number): number[] {
  return (one.cpuUs.get(count) ?? []).map((each, round) => each / (other.cpuUs.get(otherCount)?.[round] ?? 0));
}

function report(subject: string, peer: string, values: readonly number[], asked?: number): void {
  const measured = median(values);
  const spread = spreadOf(values);
  const range = spread.map((each) => each.toFixed(2)).join('–');
  console.log(`${subject}: ${measured.toFixed(2)} × that ${peer} (${range})`);
  reportFigure({ subject, unit: '×', measured, ...(asked === undefined ? {} : { asked }), peer, spread });
}

/** Loads several processes at once, with the same number of connections per account. */
async function measure(
  used: readonly Measured[],
  seconds: number,
): Promise<{ readonly perSecond: number; readonly cpuUs: number }> {
  const connections = CONNECTIONS / ACCOUNTS / (IS_SHARED ? used.length : 1);
  const cpuSeconds = (): number =>
    used.reduce((sum, { service }) => sum + exactCpuSeconds(service.pid), cpuOfPostgres.seconds());
  const before = cpuSeconds();
  const loads = used.flatMap(({ service, requests }) =>
    requests.map((request) => rawLoad({ port: portOf(service), connections, seconds, request })),
  );
  const results = await Promise.all(loads);
  const failed = results.find(({ failures }) => failures > 0);
  if (failed !== undefined) throw new Error(failed.firstFailure);
  const perSecond = results.reduce((sum, each) => sum + each.perSecond, 0);
  return { perSecond, cpuUs: ((cpuSeconds() - before) / (perSecond * seconds)) * 1e6 };
}
