import { setTimeout as pause } from 'node:timers/promises';
import { Pool } from 'undici';
import { startScript, startService } from './support/child-processes.ts';
import { cpuSeconds, memoryMb } from './support/process-usage.ts';
import { reportFigure } from './support/report-figure.ts';

/**
 * Unfinished tasks of all vendors, submitted through the public API to their simulators, which verify every signature
 * and key: how often each task is polled with a period of 15 s. The simulators share the machine's cores with the
 * service.
 */
const TASKS = Number(process.env.TASKS ?? '50000');
const WATCH_SECONDS = 60;
const AT_ONCE = 64;
interface ChannelTold {
  readonly vendor: string;
  readonly models: readonly string[];
  readonly base_url: string;
  readonly credentials: object;
}

const upstream = await startScript('bench/support/sandbox-vendors-upstream.ts');
const told = async <T>(path: string): Promise<T> => (await (await fetch(upstream.origin + path)).json()) as T;
const service = await startService(4_312, { SYNC_PERIOD_SECONDS: '15' });
try {
  const { operator, origin, pid } = service;
  const channels = await told<ChannelTold[]>('/channels');
  for (const channel of channels) await operator.addChannel({ ...channel });
  await operator.grantQuota(1_000_000_000_000_000);
  const headers = { authorization: `Bearer ${await operator.makeToken()}`, 'content-type': 'application/json' };
  const models = channels.flatMap((channel) => channel.models);
  const pool = new Pool(origin, { connections: AT_ONCE });
  let next = 0;
  const submitSome = async (): Promise<void> => {
    for (let index = next++; index < TASKS; index = next++) {
      const body = JSON.stringify({ model: models[index % models.length], prompt: 'a heron lands on a jetty' });
      const answer = await pool.request({ method: 'POST', path: '/v1/video/generations', headers, body });
      const text = await answer.body.text();
      if (answer.statusCode !== 200) throw new Error(text);
    }
  };
  const startedAt = performance.now();
  await Promise.all(Array.from({ length: AT_ONCE }, submitSome));
  await pool.close();
  write(
    `${TASKS} tasks over ${channels.length} vendors submitted in ${((performance.now() - startedAt) / 1_000).toFixed(1)} s`,
  );
  // The first polls come in a burst like the submits; the measurement starts after it.
  await pause(20_000);
  const before = await told<number[]>('/polls');
  const cpuBefore = cpuSeconds(pid);
  const watchedAt = performance.now();
  let memory = 0;
  while (performance.now() - watchedAt < WATCH_SECONDS * 1_000) {
    await pause(500);
    memory = Math.max(memory, memoryMb(pid));
  }
  const cpu = cpuSeconds(pid) - cpuBefore;
  const after = await told<number[]>('/polls');
  const seconds = (performance.now() - watchedAt) / 1_000;
  const gains = after.map((polls, index) => polls - (before[index] ?? 0)).toSorted((a, b) => a - b);
  const polls = gains.reduce((sum, gain) => sum + gain, 0);
  reportFigure({
    subject: `${TASKS} unfinished videos of all vendors: seconds between polls of one`,
    unit: 's',
    measured: (seconds * gains.length) / polls,
    asked: 15,
  });
  reportFigure({ subject: 'poll of a vendor, CPU', unit: 'µs', measured: (cpu / polls) * 1e6 });
  reportFigure({ subject: `${TASKS} unfinished videos of all vendors: memory`, unit: 'MB', measured: memory });
  write(
    `in ${seconds.toFixed(0)} s each of ${gains.length} jobs was polled ${gains[0]} to ${gains.at(-1)} times, every ${((seconds * gains.length) / polls).toFixed(1)} s on average; ` +
      `${(polls / seconds).toFixed(0)} polls/s, ${((cpu / polls) * 1e6).toFixed(0)} µs CPU each; memory at most ${memory} MB`,
  );
} finally {
  await service.stop();
  await upstream.stop();
}

function write(line: string): void {
  process.stdout.write(`${line}\n`);
}
