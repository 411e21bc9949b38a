/**
 * `node bench/content-download.ts [--stored] [--rounds 3]`: 50 concurrent downloads of 8 MiB through the content
 * endpoint, compared with nginx with one process: `proxy_pass` to the same file host, or with `--stored` the same file
 * from disk, with `sendfile` (the kernel alone moves the bytes) and without, as with TLS. `--stored` also measures
 * nginx in front of the service, sending files the service authorizes (ARTIFACTS_ACCEL_PROXIES), as CPU of both
 * together. The idle service's CPU usage is measured first and subtracted. Prints a line per round.
 */
import { createHash, randomBytes } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Client, Pool } from 'undici';
import { openDatabase } from '../src/server/platform/db/open-database.ts';
import type { Tables } from '../src/server/tables.ts';
import { type Process, startScript, startService } from './support/child-processes.ts';
import { exactCpuSeconds, memoryMb } from './support/process-usage.ts';
import { reportFigure } from './support/report-figure.ts';
import { seedTasks } from './support/seed-tasks.ts';
import { startNginx, startNginxProxy } from './support/start-nginx.ts';

const { values } = parseArgs({
  options: { stored: { type: 'boolean', default: false }, rounds: { type: 'string', default: '3' } },
});
type Sendfile = 'on' | 'off';
const sum = (numbers: readonly number[]): number => numbers.reduce((total, each) => total + each, 0);
const PARALLEL = 50;
const WARM_UP_REQUESTS = 2_000;
const IDLE_SECONDS = 10;
/** CPU seconds per second used by the idle service. */
let idleShare = 0;
const BYTES = 8 * 1024 * 1024;
const TASK = 'video_file_0';
const ARTIFACT = 'A'.repeat(24);

const upstream = await startScript('bench/support/video-jobs-upstream.ts', { FILE_BYTES: String(BYTES), DONE: '1' });
const setup = await startService(4330, { KEEP: '1' });
await setup.operator.addChannel({
  vendor: 'sora',
  base_url: upstream.origin,
  credentials: { api_key: 'sk-bench' },
  models: ['sora-2'],
});
const key = await setup.operator.makeToken();
await setup.stop();
const url = `sqlite:${setup.folder}/bench.db`;
await seedTasks({ url, count: 1, channels: [1], userId: 1, tokenId: 1, unfinished: false, prefix: 'video_file_' });
const file = values.stored ? await storeFile() : undefined;
const service = await startService(4330, { ARTIFACTS_ACCEL_PROXIES: '127.0.0.1' }, setup.folder);
const serveFile = (sendfile: Sendfile) => startNginx(`location = /file { alias ${file}; sendfile ${sendfile}; }`);
const rivals: Record<string, Process> =
  file === undefined
    ? { nginx: await startNginxProxy(Number(new URL(upstream.origin).port)) }
    : { 'nginx sendfile': await serveFile('on'), nginx: await serveFile('off') };
/** Proxies in front of the service that send its stored files. */
const fronts: Record<string, Process> =
  file === undefined ? {} : { 'both sendfile': await startFront('on'), both: await startFront('off') };
const cpu: Record<string, number> = {};
/** Memory that the downloads add to the service at their peak. */
let mostMemoryMb = 0;
const headers = { authorization: `Bearer ${key}` };
const path = `/v1/videos/${TASK}/content`;
try {
  for (const { origin } of [service, ...Object.values(fronts)]) await warmUp(origin);
  await pause(IDLE_SECONDS * 500);
  const idleBefore = exactCpuSeconds(service.pid);
  await pause(IDLE_SECONDS * 1000);
  idleShare = (exactCpuSeconds(service.pid) - idleBefore) / IDLE_SECONDS;
  process.stdout.write(`idle service: ${(idleShare * 1000).toFixed(1)} CPU ms a second\n`);
  for (let round = 0; round < Number(values.rounds); round += 1) {
    await measure('reelgate', [service.pid], service.origin, path, headers);
    for (const [name, { pid, origin }] of Object.entries(fronts))
      await measure(name, [pid, service.pid], origin, path, headers);
    for (const [name, { pid, origin }] of Object.entries(rivals)) await measure(name, [pid], origin, '/file', {});
  }
  const subject = `${PARALLEL} downloads of 8 MiB${values.stored ? ', stored' : ''}`;
  for (const name of Object.keys(rivals)) {
    const asked = values.stored ? {} : { asked: 2 };
    reportFigure({
      subject: `${subject}, CPU`,
      unit: '×',
      measured: (cpu.reelgate ?? 0) / (cpu[name] ?? 0),
      ...asked,
      peer: name,
    });
  }
  reportFigure({ subject: `${subject}, memory`, unit: 'MB', measured: mostMemoryMb, asked: 100 });
  for (const ours of ['reelgate', ...Object.keys(fronts)])
    for (const name of Object.keys(rivals))
      process.stdout.write(`${ours}: ${((cpu[ours] ?? 0) / (cpu[name] ?? 0)).toFixed(2)} × the CPU of ${name}\n`);
} finally {
  for (const nginx of [...Object.values(rivals), ...Object.values(fronts)]) await nginx.stop();
  await service.stop();
  await upstream.stop();
}

/** Configured as in deploy/nginx.conf. */
function startFront(sendfile: Sendfile): Promise<Process> {
  const headerLines = ['ETag $upstream_http_etag', 'Last-Modified $upstream_http_last_modified'];
  return startNginx(
    `location / { proxy_pass http://service; proxy_http_version 1.1; proxy_set_header Connection "";
       proxy_set_header Host $http_host; proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for; proxy_buffering off; }
     location /stored-videos/ { internal; alias ${join(setup.folder, 'artifacts', 'files')}/; sendfile ${sendfile}; etag off;
       max_ranges 1; ${headerLines.map((line) => `add_header ${line};`).join(' ')} }`,
    `upstream service { server ${new URL(service.origin).host}; keepalive 256; }`,
  );
}

/** Creates a stored copy of the task's file. @returns its path */
async function storeFile(): Promise<string> {
  const folder = join(setup.folder, 'artifacts', 'files', ARTIFACT.slice(0, 2));
  mkdirSync(folder, { recursive: true });
  const bytes = randomBytes(BYTES);
  writeFileSync(join(folder, ARTIFACT), bytes);
  const database = openDatabase<Tables>(url);
  await database.kysely
    .insertInto('artifacts')
    .values({
      id: ARTIFACT,
      task_id: TASK,
      user_id: 1,
      variant: 'video',
      state: 'stored',
      bytes: BYTES,
      sha256: createHash('sha256').update(bytes).digest('hex'),
      mime_type: 'video/mp4',
      tries: 1,
      next_try_at: null,
      last_error: '',
      created_at: Date.now(),
      stored_at: Date.now(),
      expires_at: null,
    })
    .execute();
  await database.close();
  return join(folder, ARTIFACT);
}

/**
 * A newly started service still compiles code: requests single bytes until the service is as warm as one that has run
 * for a while.
 */
async function warmUp(origin: string): Promise<void> {
  const pool = new Pool(origin, { connections: PARALLEL, connectTimeout: 60_000 });
  const request = async () => {
    const { body } = await pool.request({ method: 'GET', path, headers: { ...headers, range: 'bytes=0-0' } });
    await body.dump();
  };
  for (let sent = 0; sent < WARM_UP_REQUESTS; sent += PARALLEL)
    await Promise.all(Array.from({ length: PARALLEL }, request));
  await pool.close();
}

async function measure(
  name: string,
  pids: readonly number[],
  origin: string,
  path: string,
  headers: Record<string, string>,
): Promise<void> {
  const memoryOf = () => sum(pids.map(memoryMb));
  const memoryBefore = memoryOf();
  const before = sum(pids.map(exactCpuSeconds));
  const startedAt = performance.now();
  let memory = 0;
  const watch = setInterval(() => {
    memory = Math.max(memory, memoryOf());
  }, 20);
  const sizes = await Promise.all(
    Array.from({ length: PARALLEL }, async () => {
      const client = new Client(origin, { connectTimeout: 60_000 });
      const { body } = await client.request({ method: 'GET', path, headers });
      let size = 0;
      for await (const chunk of body) size += (chunk as Buffer).length;
      await client.close();
      return size;
    }),
  );
  clearInterval(watch);
  if (sizes.some((size) => size !== BYTES)) throw new Error(`${name}: a download is not whole`);
  const mib = (PARALLEL * BYTES) / 1024 / 1024;
  const seconds = (performance.now() - startedAt) / 1000;
  const background = pids.includes(service.pid) ? idleShare * seconds : 0;
  const used = sum(pids.map(exactCpuSeconds)) - before - background;
  cpu[name] = (cpu[name] ?? 0) + used;
  if (name === 'reelgate') mostMemoryMb = Math.max(mostMemoryMb, memory - memoryBefore);
  process.stdout.write(
    `${name.padEnd(15)} ${(mib / seconds).toFixed(0)} MiB/s, ${((used * 1000) / mib).toFixed(2)} CPU ms a MiB, memory +${Math.max(0, memory - memoryBefore)} MB\n`,
  );
}
