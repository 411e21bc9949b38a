import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { generate } from 'selfsigned';

/** The host name in the example files of `deploy/`. */
export const PUBLIC_HOST = 'reelgate.example.com';

/** A running reverse proxy. */
export interface RunningProxy {
  /** Port for https, with an untrusted certificate. */
  readonly port: number;
  stop(): Promise<void>;
}

interface Places {
  readonly folder: string;
  readonly port: number;
  readonly httpPort: number;
  readonly backend: string;
  readonly storedFiles: string;
}

interface ProxyKind {
  readonly program: string;
  /** The example with the test's addresses and files instead of the real ones. */
  configure(example: string, places: Places): string;
  readonly example: string;
  check(config: string, folder: string): readonly string[];
  run(config: string, folder: string): readonly string[];
}

const KINDS = {
  nginx: {
    program: 'nginx',
    example: 'nginx.conf',
    configure: (
      example,
      { folder, port, httpPort, backend, storedFiles },
    ) => `daemon off; pid ${folder}/pid; error_log ${folder}/error.log;
      events {}
      http {
        access_log off; client_body_temp_path ${folder}/body; proxy_temp_path ${folder}/proxy;
        fastcgi_temp_path ${folder}/fastcgi; uwsgi_temp_path ${folder}/uwsgi; scgi_temp_path ${folder}/scgi;
        ${example
          .replace(/^.*listen \[::\].*$/gm, '')
          .replace('listen 443', `listen 127.0.0.1:${port}`)
          .replace('listen 80', `listen 127.0.0.1:${httpPort}`)
          .replaceAll('/etc/ssl/reelgate', folder)
          .replace('server 127.0.0.1:3000', `server ${backend}`)
          .replace('/var/lib/reelgate/artifacts/files', storedFiles)}
      }`,
    check: (config, folder) => ['-t', '-p', folder, '-c', config],
    run: (config, folder) => ['-p', folder, '-c', config],
  },
  haproxy: {
    program: 'haproxy',
    example: 'haproxy.cfg',
    configure: (example, { folder, port, httpPort, backend }) =>
      example
        .replace('bind :80', `bind 127.0.0.1:${httpPort}`)
        .replace('bind :443', `bind 127.0.0.1:${port}`)
        .replace('/etc/haproxy', folder)
        .replace('server a 127.0.0.1:3000', `server a ${backend}`),
    check: (config) => ['-c', '-f', config],
    run: (config) => ['-db', '-f', config],
  },
  caddy: {
    program: 'caddy',
    example: 'Caddyfile',
    configure: (example, { folder, port, httpPort, backend }) =>
      `{\n\tadmin off\n\thttp_port ${httpPort}\n\thttps_port ${port}\n}\n${example
        .replace(
          `${PUBLIC_HOST} {`,
          `${PUBLIC_HOST} {\n\tbind 127.0.0.1\n\ttls ${folder}/fullchain.pem ${folder}/privkey.pem`,
        )
        .replace('127.0.0.1:3000', backend)}`,
    check: (config) => ['validate', '--adapter', 'caddyfile', '--config', config],
    run: (config) => ['run', '--adapter', 'caddyfile', '--config', config],
  },
} as const satisfies Record<string, ProxyKind>;

/** A reverse proxy with an example in `deploy/`. */
export type ProxyName = keyof typeof KINDS;
export const PROXY_NAMES = Object.keys(KINDS) as ProxyName[];

/** Whether the proxy's program is installed. */
export const isInstalled = (name: ProxyName): boolean =>
  spawnSync(KINDS[name].program, ['version']).error === undefined;

/**
 * Validates the example of `deploy/` with the program's own check, and starts it in front of a service.
 * @param backend `host:port`
 * @param storedFiles directory of the stored videos that nginx sends
 */
export async function startReverseProxy(
  name: ProxyName,
  backend: string,
  storedFiles = '/nonexistent',
): Promise<RunningProxy> {
  const kind: ProxyKind = KINDS[name];
  const folder = mkdtempSync(join(tmpdir(), `rg-${name}-`));
  const [port, httpPort] = await freePorts();
  const pems = await generate([{ name: 'commonName', value: PUBLIC_HOST }]);
  writeFileSync(join(folder, 'fullchain.pem'), pems.cert);
  writeFileSync(join(folder, 'privkey.pem'), pems.private);
  writeFileSync(join(folder, 'reelgate.pem'), `${pems.cert}\n${pems.private}`);
  // nginx and HAProxy read the files as another user.
  chmodSync(folder, 0o755);
  const example = readFileSync(join(import.meta.dirname, '../../deploy', kind.example), 'utf8');
  const config = join(folder, kind.example);
  writeFileSync(config, kind.configure(example, { folder, port, httpPort, backend, storedFiles }));
  const env = { ...process.env, HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder };
  execFileSync(kind.program, kind.check(config, folder), { env, stdio: ['ignore', 'pipe', 'pipe'] });
  const child = spawn(kind.program, kind.run(config, folder), { env, stdio: 'ignore' });
  const ended = once(child, 'exit');
  await untilListening(port);
  return {
    port,
    async stop() {
      child.kill('SIGTERM');
      await ended;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function freePorts(): Promise<[number, number]> {
  const servers = [createServer(), createServer()];
  for (const server of servers) await once(server.listen(0, '127.0.0.1'), 'listening');
  const ports = servers.map((server) => (server.address() as { port: number }).port);
  for (const server of servers) server.close();
  return [ports[0] ?? 0, ports[1] ?? 0];
}

async function untilListening(port: number): Promise<void> {
  const { connect } = await import('node:net');
  for (let tries = 0; tries < 200; tries += 1) {
    const socket = connect(port, '127.0.0.1');
    const isOpen = await Promise.race([
      once(socket, 'connect').then(() => true),
      once(socket, 'error').then(
        () => false,
        () => false,
      ),
    ]).catch(() => false);
    socket.destroy();
    if (isOpen) return;
    await pause(50);
  }
  throw new Error(`nothing listens on ${port}`);
}
