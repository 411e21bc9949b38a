import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { freePort } from './server-process.ts';

/** A running load balancer. */
export interface LoadBalancer {
  readonly name: string;
  readonly baseUrl: string;
  stop(): Promise<void>;
}

/** HAProxy with ordinary settings: reused connections on both sides, a health check every second. */
export async function startHaproxy(backends: readonly number[]): Promise<LoadBalancer> {
  const port = await freePort();
  const servers = backends.map(
    (backend, index) => `  server s${index} 127.0.0.1:${backend} check inter 1s fall 2 rise 1`,
  );
  const config = `global
  maxconn 2000
defaults
  mode http
  timeout connect 5s
  timeout client 60s
  timeout server 60s
  timeout http-keep-alive 60s
frontend front
  bind 127.0.0.1:${port}
  default_backend service
backend service
  balance roundrobin
  option httpchk GET /readyz
  http-reuse safe
${servers.join('\n')}
`;
  return start('haproxy', config, port, (file) => ['-db', '-q', '-f', file]);
}

/** nginx with ordinary settings: reused connections on both sides, and failed requests instead of health checks. */
export async function startNginx(backends: readonly number[]): Promise<LoadBalancer> {
  const port = await freePort();
  const servers = backends.map((backend) => `server 127.0.0.1:${backend};`);
  const config = `daemon off; master_process off; pid nginx.pid; error_log stderr crit;
events { worker_connections 2000; }
http {
  access_log off;
  client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi; uwsgi_temp_path uwsgi; scgi_temp_path scgi;
  upstream service { ${servers.join(' ')} keepalive 32; }
  server {
    listen 127.0.0.1:${port};
    location / {
      proxy_pass http://service;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_set_header Host $host;
      proxy_buffering off;
    }
  }
}
`;
  return start('nginx', config, port, (file, folder) => ['-p', folder, '-c', file]);
}

async function start(
  program: string,
  config: string,
  port: number,
  toArguments: (file: string, folder: string) => string[],
): Promise<LoadBalancer> {
  const folder = mkdtempSync(join(tmpdir(), `rg-${program}-`));
  const file = join(folder, `${program}.conf`);
  writeFileSync(file, config);
  const env = { PATH: `${process.env.PATH}:/usr/sbin:/sbin` };
  const child = spawn(program, toArguments(file, folder), { stdio: ['ignore', 'inherit', 'inherit'], env });
  const ended = once(child, 'exit');
  for (let tries = 0; !(await accepts(port)); tries += 1) {
    if (child.exitCode !== null || tries === 100) throw new Error(`${program} did not start`);
    await pause(50);
  }
  return {
    name: program,
    baseUrl: `http://127.0.0.1:${port}`,
    async stop() {
      child.kill('SIGTERM');
      await ended;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy();
      resolve(true);
    });
    socket.on('error', () => resolve(false));
  });
}
