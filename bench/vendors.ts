import { setTimeout as pause } from 'node:timers/promises';
import { Pool } from 'undici';
import { cpuSeconds, memoryMb } from './load.ts';
import { startScript, startService } from './processes.ts';

/**
 * Unfinished tasks over all eight vendors, submitted through the front door to their simulators, which check every signature and
 * key: how often each is looked at where 15 s are the period. The simulators share the machine's cores with the service.
 */
const TASKS = Number(process.env.TASKS ?? '50000');
const WATCH_SECONDS = 60;
const AT_ONCE = 64;
const MODELS = {
  kling: 'kling-v1-6',
  jimeng: 'jimeng_t2v_v30',
  hailuo: 'MiniMax-Hailuo-02',
  seedance: 'doubao-seedance-1-0-pro-250528',
  wan: 'wan2.2-t2v-plus',
  veo: 'veo-3.0-generate-001',
  vidu: 'viduq1',
  sora: 'sora-2',
} as const;

interface ChannelTold {
  readonly vendor: keyof typeof MODELS;
  readonly base_url: string;
  readonly credentials: object;
}

const upstream = await startScript('bench/vendors-upstream.ts');
const told = async <T>(path: string): Promise<T> => (await (await fetch(upstream.origin + path)).json()) as T;
const service = await startService(4_312, { SYNC_PERIOD_SECONDS: '15' });
try {
  const { operator, origin, pid } = service;
  for (const channel of await told<ChannelTold[]>('/channels'))
    await operator.addChannel({ ...channel, models: [MODELS[channel.vendor]] });
  await operator.grant(1_000_000_000_000_000);
  const headers = { authorization: `Bearer ${await operator.makeToken()}`, 'content-type': 'application/json' };
  const models = Object.values(MODELS);
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
  write(`${TASKS} tasks over 8 vendors submitted in ${((performance.now() - startedAt) / 1_000).toFixed(1)} s`);
  // The first looks fall together as the submits did.
  await pause(20_000);
  const before = await told<number[]>('/looks');
  const cpuBefore = cpuSeconds(pid);
  const watchedAt = performance.now();
  let memory = 0;
  while (performance.now() - watchedAt < WATCH_SECONDS * 1_000) {
    await pause(500);
    memory = Math.max(memory, memoryMb(pid));
  }
  const cpu = cpuSeconds(pid) - cpuBefore;
  const after = await told<number[]>('/looks');
  const seconds = (performance.now() - watchedAt) / 1_000;
  const gains = after.map((looks, index) => looks - (before[index] ?? 0)).toSorted((a, b) => a - b);
  const looks = gains.reduce((sum, gain) => sum + gain, 0);
  write(
    `in ${seconds.toFixed(0)} s each of ${gains.length} jobs was looked at ${gains[0]} to ${gains.at(-1)} times, every ${((seconds * gains.length) / looks).toFixed(1)} s on average; ` +
      `${(looks / seconds).toFixed(0)} looks/s, ${((cpu / looks) * 1e6).toFixed(0)} µs CPU each; memory at most ${memory} MB`,
  );
} finally {
  await service.stop();
  await upstream.stop();
}

function write(line: string): void {
  process.stdout.write(`${line}\n`);
}
