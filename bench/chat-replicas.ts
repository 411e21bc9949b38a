import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { startPostgres } from '../test/start-postgres.ts';
import { portOf, type Service, startService } from './support/child-processes.ts';
import { PostgresCpu } from './support/postgres-cpu.ts';
import { exactCpuSeconds } from './support/process-cpu-and-memory.ts';
import { median, spreadOf } from './support/quantile.ts';
import { rawLoad } from './support/raw-socket-load.ts';
import { reportFigure } from './support/report-figure.ts';
import { COMPLETION, makeAccountCalls, startChatService } from './support/start-chat-service.ts';
import { startNginx } from './support/start-nginx.ts';
import { warmUp } from './support/warm-up.ts';

/**
 * Model calls on one, two and four processes of one PostgreSQL, each with as many connections as the one: CPU of a call, processes and
 * PostgreSQL together, which must not grow with the processes. `SHARED=1` divides the connections of one among them. That is what scaling
 * means where there are two cores only; the rate says something where there are more cores than processes.
 * Sixteen accounts, as a single one is a queue at its wallet. PostgreSQL runs without fsync, so this is about processors, not about the disk.
 *
 * Repeat with `node bench/chat-replicas.ts`; needs nginx and PostgreSQL.
 */
const WARM_SECONDS = 5;
/** Short rounds, and many, so that those of a ratio are close in time: the host's own speed changes from minute to minute. */
const SECONDS = Number(process.env.SECONDS ?? '2');
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
const requests = await makeAccountCalls(first, ACCOUNTS);
const client = new Client({ connectionString: postgres.url });
await client.connect();
const cpuOfPostgres = await PostgresCpu.find(client);

try {
  while (services.length < Math.max(...COUNTS))
    services.push(await startService(FIRST_PORT + services.length, env, folder));
  // Each process compiles its own code: one that has served a quarter of the calls of another is still at it.
  for (const service of services) {
    const windows = await warmUp(async () => (await measure([service], WARM_SECONDS)).cpuUs);
    console.log(`${service.origin}: warm after ${windows} windows of ${WARM_SECONDS} s`);
  }
  const cpu = new Map(COUNTS.map((count): [number, number[]] => [count, []]));
  for (let round = 0; round < ROUNDS; round++)
    for (const count of round % 2 === 0 ? COUNTS : COUNTS.toReversed()) {
      const used = services.slice(0, count);
      await measure(used, SECONDS / 2);
      const { perSecond, cpuUs } = await measure(used, SECONDS);
      cpu.get(count)?.push(cpuUs);
      console.log(`${count} processes: ${perSecond.toFixed(0)}/s, ${cpuUs.toFixed(0)} µs of CPU a call`);
    }
  for (const count of COUNTS.slice(1)) {
    const ratios = (cpu.get(count) ?? []).map((each, round) => each / (cpu.get(1)?.[round] ?? 0));
    const measured = median(ratios);
    const spread = spreadOf(ratios);
    console.log(
      `${count} processes: ${measured.toFixed(2)} × the CPU of one (${spread.map((each) => each.toFixed(2)).join('–')})`,
    );
    reportFigure({
      subject: `model calls on ${count} processes of one PostgreSQL, CPU`,
      unit: '×',
      measured,
      asked: ASKED_RATIO,
      peer: 'of one process',
      spread,
    });
  }
} finally {
  for (const service of services) await service.stop();
  await client.end();
  await upstream.stop();
  await postgres.stop();
  rmSync(folder, { recursive: true, force: true });
}

/** Calls over so many processes together, every account with the same number of connections. */
async function measure(
  used: readonly Service[],
  seconds: number,
): Promise<{ readonly perSecond: number; readonly cpuUs: number }> {
  const connections = CONNECTIONS / ACCOUNTS / (IS_SHARED ? used.length : 1);
  const cpuSeconds = (): number => used.reduce((sum, { pid }) => sum + exactCpuSeconds(pid), cpuOfPostgres.seconds());
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
