import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import { AdminClient, ROOT_LOGIN } from '../../test/admin-client.ts';

/** A server started by a bench. */
export interface Process {
  readonly pid: number;
  readonly origin: string;
  stop(): Promise<void>;
}

/** Port of a process. */
export const portOf = ({ origin }: Pick<Process, 'origin'>): number => Number(new URL(origin).port);

/** Starts a script of this repository that prints `listening PORT`. */
export async function startScript(path: string, env: Readonly<Record<string, string>> = {}): Promise<Process> {
  const child = spawn(process.execPath, [path], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { PATH: process.env.PATH, ...env },
  });
  if (child.stdout === null) throw new Error('no output');
  const [line] = await once(createInterface({ input: child.stdout }), 'line');
  return toProcess(child, `http://127.0.0.1:${/(\d+)/.exec(String(line))?.[1]}`);
}

/** A running service with its administrator. */
export interface Service extends Process {
  readonly operator: AdminClient;
  readonly folder: string;
  /** Milliseconds from the start of the process to its first response. */
  readonly startMs: number;
}

/** Arguments that `npm start` passes to Node. */
function startArguments(): string[] {
  const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as {
    readonly scripts: { readonly start: string };
  };
  return scripts.start.split(' ').slice(1);
}

/** Starts the ordinary server on its own SQLite database (synchronous=FULL), or on the given database. */
export async function startService(
  port: number,
  env: Readonly<Record<string, string>> = {},
  folder = mkdtempSync(join(tmpdir(), 'reelgate-bench-')),
): Promise<Service> {
  const startedAt = performance.now();
  const child = spawn(process.execPath, startArguments(), {
    stdio: ['ignore', 'ignore', 'inherit'],
    env: {
      PATH: process.env.PATH,
      PORT: String(port),
      DATABASE_URL: `sqlite:${join(folder, 'bench.db')}`,
      MASTER_KEY: Buffer.alloc(32, 7).toString('base64'),
      ADMIN_PASSWORD: ROOT_LOGIN.password,
      LOG_LEVEL: 'warn',
      // A bench uses a single key, at far more than the default request limit of a key.
      KEY_REQUESTS_PER_MINUTE: '0',
      ...env,
    },
  });
  const origin = `http://127.0.0.1:${port}`;
  for (let tries = 0; ; tries += 1) {
    const ok = await fetch(`${origin}/livez`).then(
      (response) => response.ok,
      () => false,
    );
    if (ok) break;
    if (tries > 3_000 || child.exitCode !== null) throw new Error('the service did not start');
    await pause(10);
  }
  if (child.exitCode !== null) throw new Error(`another process has port ${port}`);
  const startMs = performance.now() - startedAt;
  const operator = await new AdminClient(origin).signIn();
  const running = toProcess(child, origin);
  return {
    ...running,
    operator,
    folder,
    startMs,
    async stop() {
      await running.stop();
      if (env.KEEP !== '1') rmSync(folder, { recursive: true, force: true });
    },
  };
}

function toProcess(child: ChildProcess, origin: string): Process {
  const { pid } = child;
  if (pid === undefined) throw new Error('not started');
  return {
    pid,
    origin,
    async stop() {
      if (child.exitCode !== null) return;
      const ended = once(child, 'exit');
      child.kill('SIGTERM');
      const timer = setTimeout(() => child.kill('SIGKILL'), 10_000);
      await ended;
      clearTimeout(timer);
    },
  };
}
