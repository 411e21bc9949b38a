import { setTimeout as pause } from 'node:timers/promises';
import { Client } from 'pg';
import { startPostgres } from '../test/start-postgres.ts';
import { type Service, startScript, startService } from './support/child-processes.ts';
import { reportFigure } from './support/report-figure.ts';
import { seedTasks } from './support/seed-tasks.ts';

/**
 * Unfinished tasks polled by several processes on one PostgreSQL: how evenly over time and over the processes, the
 * maximum concurrency at the vendor, and the rate after all processes were restarted:
 * `node bench/polling-processes.ts`. The processes, PostgreSQL and the vendor share the machine's cores, which a period
 * of a minute would keep busy; a poll takes about 2 ms of a busy core.
 */
const PROCESSES = Number(process.env.PROCESSES ?? '8');
const TASKS = Number(process.env.TASKS ?? '50000');
const PERIOD_SECONDS = Number(process.env.PERIOD_SECONDS ?? '120');
const PERIODS = Number(process.env.PERIODS ?? '2');
const CHANNELS = 4;
const MAX_POLLS_AT_ONCE = 96;
const FIRST_PORT = 4_390;

interface Seen {
  /** Milliseconds between two polls of one task: minimum, 1st percentile, median, 99th percentile, maximum. */
  readonly intervals: readonly number[];
  readonly polls: number;
  readonly tasks: number;
  /** Maximum number of concurrent polls of one channel. */
  readonly atOnce: number;
  /** Maximum number of polls within one second. */
  readonly perSecond: number;
}

const postgres = await startPostgres();
const upstream = await startScript('bench/support/poll-counting-upstream.ts', { LATENCY_MS: '50' });
const env = {
  DATABASE_URL: postgres.url,
  SYNC_PERIOD_SECONDS: String(PERIOD_SECONDS),
  ARTIFACTS: 'off',
  METRICS_TOKEN: 'bench',
};
let services: Service[] = [];
const startAll = async (): Promise<void> => {
  services = [];
  for (let index = 0; index < PROCESSES; index++) services.push(await startService(FIRST_PORT + index, env));
};
const stopAll = async (): Promise<void> => {
  await Promise.all(services.map((service) => service.stop()));
};
/** The vendor's observations since the previous call. */
const seen = async (): Promise<Seen> => (await (await fetch(`${upstream.origin}/seen`)).json()) as Seen;
const pollsOf = async (service: Service): Promise<number> => {
  const answer = await fetch(`${service.origin}/metrics`, { headers: { authorization: 'Bearer bench' } });
  const lines = (await answer.text()).matchAll(/^reelgate_upstream_calls_total\{.*kind="poll".*\} (\d+)/gm);
  return [...lines].reduce((sum, [, value]) => sum + Number(value), 0);
};
const rate = TASKS / PERIOD_SECONDS;

try {
  await startAll();
  const channels: number[] = [];
  for (let index = 0; index < CHANNELS; index++)
    channels.push(
      (await services[0]?.operator.addChannel({
        name: `sora ${index}`,
        vendor: 'sora',
        base_url: `${upstream.origin}`,
        credentials: { api_key: `sk-${index}` },
        models: ['sora-2'],
      })) ?? 0,
    );
  await stopAll();
  await seedTasks({ url: postgres.url, count: TASKS, channels, userId: 1, tokenId: 1, unfinished: true, prefix: 'v_' });
  const client = new Client({ connectionString: postgres.url });
  await client.connect();
  await client.query(`update tasks set next_poll_at = next_poll_at + seq % ${PERIOD_SECONDS * 1_000}`);
  await client.query('analyze');
  await client.end();

  await startAll();
  await pause(2 * PERIOD_SECONDS * 1_000);
  await seen();
  const before = await Promise.all(services.map(pollsOf));
  await pause(PERIODS * PERIOD_SECONDS * 1_000);
  const steady = await seen();
  const after = await Promise.all(services.map(pollsOf));
  const shares = after.map((polls, index) => (polls - (before[index] ?? 0)) / (steady.polls / PROCESSES));
  report('in a steady state', steady);
  const [least = 0, , median = 0, , most = 0] = steady.intervals;
  const furthest = Math.max(most / median - 1, 1 - least / median);
  console.log(`shares of the processes: ${shares.map((share) => share.toFixed(2)).join(' ')} of an equal one`);
  const subject = `${PROCESSES} processes, ${TASKS} open tasks`;
  reportFigure({
    subject: `${subject}: polls of a task a period apart, the furthest off`,
    unit: '%',
    measured: furthest * 100,
    asked: 5,
  });
  reportFigure({
    subject: `${subject}: polls at once of one channel`,
    unit: '',
    measured: steady.atOnce,
    asked: MAX_POLLS_AT_ONCE,
  });
  reportFigure({
    subject: `${subject}: largest share of a process`,
    unit: '×',
    measured: Math.max(...shares),
    asked: 1,
    peer: 'an equal one',
  });

  await stopAll();
  await pause(PERIOD_SECONDS * 1_000);
  await seen();
  await startAll();
  await pause(PERIOD_SECONDS * 1_000);
  const restarted = await seen();
  report(`after ${PERIOD_SECONDS} s without a process`, restarted);
  reportFigure({
    subject: `${subject}: polls a second after a restart`,
    unit: '×',
    measured: restarted.perSecond / rate,
    asked: 1,
    peer: 'the usual rate',
  });
} finally {
  await stopAll();
  await upstream.stop();
  await postgres.stop();
}

function report(when: string, { intervals, polls, tasks, atOnce, perSecond }: Seen): void {
  const seconds = intervals.map((each) => (each / 1_000).toFixed(2));
  console.log(
    `${when}: ${polls} polls of ${tasks} tasks, every ${seconds.join(' / ')} s (least, p1, median, p99, most), at most ${atOnce} at once for a channel, ${perSecond} in a second (${rate.toFixed(0)} is usual)`,
  );
}
