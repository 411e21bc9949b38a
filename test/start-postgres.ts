import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, existsSync, globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';

/** A private PostgreSQL server that lives as long as the tests. */
export interface PostgresServer {
  /** URL of its `postgres` database; replace the path for others. */
  readonly url: string;
  /**
   * Stops the server (SIGQUIT: immediate shutdown; SIGKILL: crash) and starts it again after `downMs`; resolves when it
   * accepts connections.
   */
  restart(signal: 'SIGQUIT' | 'SIGKILL', downMs: number): Promise<void>;
  /** Suspends the server and all its processes (`SIGSTOP`), or resumes them (`SIGCONT`). */
  signalAll(signal: 'SIGSTOP' | 'SIGCONT'): void;
  stop(): Promise<void>;
}

/** The folder with `initdb` and `postgres`; undefined if PostgreSQL is not installed. */
export function findPostgres(): string | undefined {
  const packaged = globSync('/usr/lib/postgresql/*/bin').sort((a, b) => version(b) - version(a));
  const onPath = (process.env.PATH ?? '').split(delimiter);
  return [...packaged, ...onPath].find((folder) =>
    ['initdb', 'postgres'].every((name) => existsSync(join(folder, name))),
  );
}

function version(folder: string): number {
  return Number(folder.split('/').at(-2));
}

/**
 * Starts an empty server on a unix socket in its own folder. It is not crash-safe (`fsync=off`) and stops when this
 * process exits.
 *
 * @param furtherSettings `name=value`; they override the defaults
 */
export async function startPostgres(furtherSettings: readonly string[] = []): Promise<PostgresServer> {
  const bin = findPostgres();
  if (!bin) throw new Error('PostgreSQL (initdb, postgres) is not installed');
  const folder = mkdtempSync(join(tmpdir(), 'rg-pg-'));
  const user = unprivilegedUser();
  if (user) chownSync(folder, user.uid, user.gid);
  const data = join(folder, 'data');
  const options = { ...user, cwd: folder, env: { LC_ALL: 'C', PATH: process.env.PATH } };
  execFileSync(
    join(bin, 'initdb'),
    ['-D', data, '-U', 'reelgate', '-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync', '--no-instructions'],
    { ...options, stdio: ['ignore', 'ignore', 'inherit'] },
  );
  const settings = [
    'listen_addresses=',
    `unix_socket_directories=${folder}`,
    'fsync=off',
    'full_page_writes=off',
    'max_connections=300',
    'shared_buffers=64MB',
    'logging_collector=off',
    ...furtherSettings,
  ];
  const boot = () =>
    spawn(join(bin, 'postgres'), ['-D', data, ...settings.flatMap((setting) => ['-c', setting])], {
      ...options,
      stdio: 'ignore',
    });
  let server = boot();
  const abandon = () => {
    server.kill('SIGQUIT');
    rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 });
  };
  process.once('exit', abandon);
  const url = `postgres://reelgate@localhost/postgres?host=${encodeURIComponent(folder)}`;
  await untilReady(url, server);
  // The server must not keep a finished test process alive; the exit handler covers tests that forget `stop`.
  server.unref();
  return {
    url,
    restart: async (signal, downMs) => {
      const gone = once(server, 'exit');
      server.ref();
      server.kill(signal);
      await gone;
      await delay(downMs);
      // After a crash the new server refuses to start until the last process of the old one has exited.
      for (let tries = 0; tries < 50; tries++) {
        server = boot();
        const isUp = await untilReady(url, server).then(
          () => true,
          () => false,
        );
        if (isUp) break;
        await delay(100);
      }
      server.unref();
    },
    signalAll: (signal) => signalWithChildren(server.pid ?? 0, signal),
    stop: async () => {
      process.off('exit', abandon);
      if (server.exitCode === null && server.signalCode === null) {
        const gone = once(server, 'exit');
        server.ref();
        server.kill('SIGINT');
        await gone;
      }
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Signals the server and its children: PostgreSQL puts each child into its own process group. */
export function signalWithChildren(pid: number, signal: 'SIGSTOP' | 'SIGCONT'): void {
  process.kill(pid, signal);
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
  for (const child of children.split(' ').filter((each) => each !== '')) signalIfThere(Number(child), signal);
}

/** Signals a process that may have ended since it was listed. */
function signalIfThere(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/** The user to run as if this process is root, which PostgreSQL refuses. */
export function unprivilegedUser(): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const id = (flag: string) => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }));
  return { uid: id('-u'), gid: id('-g') };
}

/** Waits until the server accepts connections. @throws Error if its process has exited */
export async function untilReady(url: string, server: ChildProcess): Promise<void> {
  for (let attempt = 0; attempt < 300; attempt++) {
    const client = new Client({ connectionString: url });
    client.on('error', () => {});
    try {
      await client.connect();
      await client.end();
      return;
    } catch {
      if (server.exitCode !== null) throw new Error(`postgres ended with ${server.exitCode}`);
      await delay(50);
    }
  }
  throw new Error('postgres did not answer within 15 seconds');
}
