import { setTimeout as pause } from 'node:timers/promises';
import { startScript, startService } from './support/child-processes.ts';
import { cpuSeconds, memoryMb } from './support/process-usage.ts';
import { reportFigure } from './support/report-figure.ts';
import { seedTasks } from './support/seed-tasks.ts';

/** Unfinished tasks over channels whose upstream takes 200 ms: time until each was polled once, and the cost. */
const TASKS = Number(process.env.TASKS ?? '20000');
const CHANNELS = Number(process.env.CHANNELS ?? '8');

const upstream = await startScript('bench/support/video-jobs-upstream.ts', { LATENCY_MS: '200' });
const first = await startService(4310, { KEEP: '1', SYNC_PERIOD_SECONDS: '15' });
const channels: number[] = [];
for (let index = 0; index < CHANNELS; index += 1) {
  channels.push(
    await first.operator.addChannel({
      name: `sora ${index}`,
      vendor: 'sora',
      base_url: upstream.origin,
      credentials: { api_key: `sk-${index}` },
      models: ['sora-2'],
    }),
  );
}
await first.stop();
await seedTasks({
  url: `sqlite:${first.folder}/bench.db`,
  count: TASKS,
  channels,
  userId: 1,
  tokenId: 1,
  unfinished: true,
  prefix: 'video_seed_',
});

const service = await startService(4311, { SYNC_PERIOD_SECONDS: '15', METRICS_TOKEN: 'bench' }, first.folder);
try {
  const startedAt = performance.now();
  const cpuBefore = cpuSeconds(service.pid);
  let memory = 0;
  let polled = 0;
  while (polled < TASKS && performance.now() - startedAt < 60_000) {
    await pause(250);
    memory = Math.max(memory, memoryMb(service.pid));
    polled = Number(await (await fetch(`${upstream.origin}/count`)).text());
  }
  const seconds = (performance.now() - startedAt) / 1000;
  const metrics = await (
    await fetch(`${service.origin}/metrics`, { headers: { authorization: 'Bearer bench' } })
  ).text();
  const delay = Number(/^nodejs_eventloop_lag_p99_seconds (\S+)/m.exec(metrics)?.[1] ?? Number.NaN) * 1000;
  reportFigure({ subject: `each of ${TASKS} unfinished videos polled`, unit: 's', measured: seconds, asked: 15 });
  reportFigure({ subject: 'the same, memory', unit: 'MB', measured: memory, asked: 300 });
  process.stdout.write(
    `${polled} of ${TASKS} tasks over ${CHANNELS} channels polled in ${seconds.toFixed(1)} s; event-loop delay p99 ${delay.toFixed(0)} ms; memory at most ${memory} MB; ${(((cpuSeconds(service.pid) - cpuBefore) / polled) * 1e6).toFixed(0)} µs CPU a poll\n`,
  );
} finally {
  await service.stop();
  await upstream.stop();
}
