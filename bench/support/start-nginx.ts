import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Process } from './child-processes.ts';

/** Whether nginx is installed. */
export const hasNginx = (): boolean => spawnSync('nginx', ['-v']).status === 0;

/**
 * Starts nginx with a single worker, which is the process itself. `server` is inserted into its server block, `outside`
 * before that block.
 */
export async function startNginx(server: string, outside = ''): Promise<Process & { readonly port: number }> {
  const folder = mkdtempSync(join(tmpdir(), 'reelgate-nginx-'));
  const port = await freePort();
  writeFileSync(
    join(folder, 'nginx.conf'),
    `daemon off; master_process off; pid ${folder}/nginx.pid; error_log stderr crit;
events { worker_connections 20000; }
http {
  access_log off; keepalive_requests 1000000000; keepalive_timeout 600s; default_type application/json;
  client_body_temp_path ${folder}/body; proxy_temp_path ${folder}/proxy; fastcgi_temp_path ${folder}/fastcgi;
  uwsgi_temp_path ${folder}/uwsgi; scgi_temp_path ${folder}/scgi;
  ${outside}
  server { listen 127.0.0.1:${port} backlog=4096; ${server} }
}
`,
  );
  const child = spawn('nginx', ['-p', folder, '-c', join(folder, 'nginx.conf')], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const { pid } = child;
  if (pid === undefined) throw new Error('nginx is not installed');
  await untilListening(port);
  return {
    pid,
    port,
    origin: `http://127.0.0.1:${port}`,
    async stop() {
      const ended = once(child, 'exit');
      child.kill('SIGTERM');
      await ended;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Starts nginx with `proxy_pass`, configured like a gateway: keep-alive connections, no buffering. */
export const startNginxProxy = (upstreamPort: number): ReturnType<typeof startNginx> =>
  startNginx(
    'location / { proxy_pass http://up; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_buffering off; }',
    `upstream up { server 127.0.0.1:${upstreamPort}; keepalive 4096; keepalive_requests 1000000000; }`,
  );

/** Waits until the port accepts connections, which takes seconds on a busy machine. */
async function untilListening(port: number): Promise<void> {
  for (let tries = 0; tries < 3_000; tries += 1) {
    const socket = connect(port, '127.0.0.1');
    const isOpen = await Promise.race([
      once(socket, 'connect').then(() => true),
      once(socket, 'close').then(() => false),
    ]).catch(() => false);
    socket.destroy();
    if (isOpen) return;
    await pause(10);
  }
  throw new Error('nginx does not listen');
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  return typeof address === 'object' && address !== null ? address.port : 0;
}
