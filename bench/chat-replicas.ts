import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { startPostgres } from '../test/start-postgres.ts';
import { type Process, portOf, type Service, startScript, startService } from './support/child-processes.ts';
import { PostgresCpu } from './support/postgres-cpu.ts';
import { exactCpuSeconds } from './support/process-cpu-and-memory.ts';
import { median, spreadOf } from './support/quantile.ts';
import { postBytes, rawLoad } from './support/raw-socket-load.ts';
import { reportFigure } from './support/report-figure.ts';
import { COMPLETION, makeAccountCalls, startChatService } from './support/start-chat-service.ts';
import { startNginx } from './support/start-nginx.ts';
import { warmUp } from './support/warm-up.ts';

/**
 * Model calls on one, two and four processes of one PostgreSQL, each with as many connections as the one: CPU of a call, processes and
 * PostgreSQL together, which must not grow with the processes. `SHARED=1` divides the connections of one among them. That is what scaling
 * means where there are two cores only; the rate says something where there are more cores than processes.
 * Sixteen accounts, as a single one is a queue at its wallet. PostgreSQL runs without fsync, so this is about processors, not about the disk.
 * Bare Node proxies take turns with them: they share nothing, so that what they lose beside each other is the machine's share.
 *
 * Repeat with `node bench/chat-replicas.ts`; needs nginx and PostgreSQL.
 */
const WARM_SECONDS = 5;
/** Short rounds, and many, so that those of a ratio are close in time: the host's own speed changes from minute to minute. */
const SECONDS = Number(process.env.SECONDS ?? '2');
/** Processes that had nothing to do for a while have given memory back, and take it again first. */
const SETTLE_SECONDS = 3;
const ROUNDS = Number(process.env.ROUNDS ?? '15');
const COUNTS = [1, 2, 4] as const;
const ASKED_RATIO = 1.15;
const ACCOUNTS = 16;
const CONNECTIONS = 64;
/** The same connections over any number of processes: each then has fewer calls to put into a statement. */
const IS_SHARED = process.env.SHARED === '1';
const FIRST_PORT = 4_383;

const postgres = await startPostgres();
const upstream = await startNginx(`location / { return 200 '${COMPLETION}'; }`);
const folder = mkdtempSync(join(tmpdir(), 'reelgate-bench-'));
const env = { DATABASE_URL: postgres.url, KEEP: '1' };
const { service: first } = await startChatService(FIRST_PORT, upstream.origin, env);
const services: Service[] = [first];
const proxies: Process[] = [];
const client = new Client({ connectionString: postgres.url });
await client.connect();
const cpuOfPostgres = await PostgresCpu.find(client);

interface Subject {
  readonly name: string;
  readonly processes: readonly Process[];
  /** By account. */
  readonly requests: readonly Buffer[];
  /** CPU seconds that others have spent for it. */
  readonly otherSeconds: () => number;
  /** By number of processes, each round's µs a call. */
  readonly cpuUs: ReadonlyMap<number, number[]>;
}
const noFigures = (): Subject['cpuUs'] => new Map(COUNTS.map((count) => [count, []]));
const ours: Subject = {
  name: 'model calls',
  processes: services,
  requests: await makeAccountCalls(first, ACCOUNTS),
  otherSeconds: () => cpuOfPostgres.seconds(),
  cpuUs: noFigures(),
};
const bare: Subject = {
  name: 'bare Node proxies',
  processes: proxies,
  requests: Array<Buffer>(ACCOUNTS).fill(
    postBytes('/v1/chat/completions', { authorization: 'Bearer sk-bench' }, '{"model":"bench-chat","messages":[]}'),
  ),
  otherSeconds: () => 0,
  cpuUs: noFigures(),
};

try {
  while (services.length < Math.max(...COUNTS))
    services.push(await startService(FIRST_PORT + services.length, env, folder));
  while (proxies.length < Math.max(...COUNTS))
    proxies.push(await startScript('bench/rivals/bare-proxy.ts', { UPSTREAM: upstream.origin }));
  // Each process compiles its own code: one that has served a quarter of the calls of another is still at it. Together they open more
  // connections, each with statements of its own to plan.
  for (const subject of [ours, bare])
    for (const used of [...subject.processes.map((process) => [process]), subject.processes]) {
      const windows = await warmUp(async () => (await measure(subject, used, WARM_SECONDS)).cpuUs);
      const names = used.map(({ origin }) => origin).join(' ');
      console.log(`${subject.name}, ${names}: warm after ${windows} windows of ${WARM_SECONDS} s`);
    }
  for (let round = 0; round < ROUNDS; round++)
    for (const subject of [ours, bare])
      for (const count of round % 2 === 0 ? COUNTS : COUNTS.toReversed()) {
        const used = subject.processes.slice(0, count);
        await measure(subject, used, SETTLE_SECONDS);
        const { perSecond, cpuUs } = await measure(subject, used, SECONDS);
        subject.cpuUs.get(count)?.push(cpuUs);
        console.log(
          `${subject.name}, ${count} processes: ${perSecond.toFixed(0)}/s, ${cpuUs.toFixed(0)} µs of CPU a call`,
        );
      }
  for (const count of COUNTS.slice(1)) {
    report(ours, count, `model calls on ${count} processes of one PostgreSQL, CPU`, { asked: ASKED_RATIO });
    report(bare, count, `the same on ${count} bare Node proxies, which share nothing, CPU`, {});
  }
} finally {
  for (const process of [...services, ...proxies]) await process.stop();
  await client.end();
  await upstream.stop();
  await postgres.stop();
  rmSync(folder, { recursive: true, force: true });
}

/** What a call costs on so many processes, as a multiple of one. */
function report(
  { cpuUs }: Subject,
  count: number,
  subject: string,
  limit: Pick<Parameters<typeof reportFigure>[0], 'asked'>,
): void {
  const ratios = (cpuUs.get(count) ?? []).map((each, round) => each / (cpuUs.get(1)?.[round] ?? 0));
  const measured = median(ratios);
  const spread = spreadOf(ratios);
  console.log(`${subject}: ${measured.toFixed(2)} × that of one (${spread.map((each) => each.toFixed(2)).join('–')})`);
  reportFigure({ subject, unit: '×', measured, ...limit, peer: 'of one process', spread });
}

/** Calls over so many processes together, every account with the same number of connections. */
async function measure(
  { requests, otherSeconds }: Subject,
  used: readonly Process[],
  seconds: number,
): Promise<{ readonly perSecond: number; readonly cpuUs: number }> {
  const connections = CONNECTIONS / ACCOUNTS / (IS_SHARED ? used.length : 1);
  const cpuSeconds = (): number => used.reduce((sum, { pid }) => sum + exactCpuSeconds(pid), otherSeconds());
  const before = cpuSeconds();
  const loads = used.flatMap((service) =>
    requests.map((request) => rawLoad({ port: portOf(service), connections, seconds, request })),
  );
  const results = await Promise.all(loads);
  const failed = results.find(({ failures }) => failures > 0);
  if (failed !== undefined) throw new Error(failed.firstFailure);
  const perSecond = results.reduce((sum, each) => sum + each.perSecond, 0);
  return { perSecond, cpuUs: ((cpuSeconds() - before) / (perSecond * seconds)) * 1e6 };
}
