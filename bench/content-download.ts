import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Client } from 'undici';
import { startScript, startService } from './child-processes.ts';
import { cpuSeconds, memoryMb } from './http-load.ts';
import { seedTasks } from './seed-tasks.ts';

/** 50 downloads of 8 MiB at once through the content endpoint, beside nginx proxy_pass with one worker. */
const PARALLEL = 50;
const BYTES = 8 * 1024 * 1024;
const ROUNDS = 3;

const upstream = await startScript('bench/instant-upstream.ts', { FILE_BYTES: String(BYTES), DONE: '1' });
const setup = await startService(4330, { KEEP: '1' });
await setup.operator.addChannel({
  vendor: 'sora',
  base_url: upstream.origin,
  credentials: { api_key: 'sk-bench' },
  models: ['sora-2'],
});
const key = await setup.operator.makeToken();
await setup.stop();
await seedTasks({
  url: `sqlite:${setup.folder}/bench.db`,
  count: 1,
  channels: [1],
  userId: 1,
  tokenId: 1,
  unfinished: false,
  prefix: 'video_file_',
});
const service = await startService(4330, {}, setup.folder);
const nginx = await startNginx(upstream.origin);
try {
  for (let round = 0; round < ROUNDS; round += 1) {
    await measure('reelgate', service.pid, service.origin, '/v1/videos/video_file_0/content', {
      authorization: `Bearer ${key}`,
    });
    await measure('nginx', nginx.worker(), nginx.origin, '/v1/videos/video_file_0/content', {});
  }
} finally {
  nginx.stop();
  await service.stop();
  await upstream.stop();
}

async function measure(
  name: string,
  pid: number,
  origin: string,
  path: string,
  headers: Record<string, string>,
): Promise<void> {
  const memoryBefore = memoryMb(pid);
  const before = cpuSeconds(pid);
  const startedAt = performance.now();
  let memory = 0;
  const watch = setInterval(() => {
    memory = Math.max(memory, memoryMb(pid));
  }, 20);
  const sizes = await Promise.all(
    Array.from({ length: PARALLEL }, async () => {
      const client = new Client(origin);
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
  process.stdout.write(
    `${name.padEnd(9)} ${(mib / seconds).toFixed(0)} MiB/s, ${(((cpuSeconds(pid) - before) * 1000) / mib).toFixed(2)} CPU ms a MiB, memory +${Math.max(0, memory - memoryBefore)} MB\n`,
  );
}

async function startNginx(target: string): Promise<{ origin: string; worker(): number; stop(): void }> {
  const folder = mkdtempSync(join(tmpdir(), 'reelgate-nginx-'));
  const port = await new Promise<number>((resolve) => {
    const probe = createServer().listen(0, '127.0.0.1', () => {
      const address = probe.address();
      probe.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0));
    });
  });
  writeFileSync(
    join(folder, 'nginx.conf'),
    `worker_processes 1; daemon off; pid ${folder}/pid; error_log ${folder}/error.log;
events { worker_connections 1024; }
http { access_log off; client_body_temp_path ${folder}/a; proxy_temp_path ${folder}/b; fastcgi_temp_path ${folder}/c; uwsgi_temp_path ${folder}/d; scgi_temp_path ${folder}/e;
upstream u { server ${target.replace('http://', '')}; keepalive 64; }
server { listen 127.0.0.1:${port}; location / { proxy_pass http://u; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_buffering off; } } }`,
  );
  const child = spawn('nginx', ['-c', join(folder, 'nginx.conf'), '-p', folder], { stdio: 'ignore' });
  await pause(700);
  return {
    origin: `http://127.0.0.1:${port}`,
    worker: () => Number(readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8').trim().split(' ')[0]),
    stop: () => {
      child.kill('SIGTERM');
      setTimeout(() => rmSync(folder, { recursive: true, force: true }), 500);
    },
  };
}
