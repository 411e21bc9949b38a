import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { testEnvironment } from '../running.ts';

const FIXTURE = fileURLToPath(new URL('./server.fixture.ts', import.meta.url));

export interface CrashingService {
  readonly baseUrl: string;
  readonly pid: number;
  /** Resolves with the signal that ended the process. */
  readonly ended: Promise<NodeJS.Signals | null>;
  stop(): Promise<void>;
}

/** Starts the service in its own process; with `killAt` it dies by SIGKILL when it reaches that point. */
export async function startCrashing(
  databaseUrl: string,
  env: Readonly<Record<string, string>>,
  kill?: { readonly at: string; readonly count: number },
): Promise<CrashingService> {
  const child: ChildProcess = spawn(process.execPath, [FIXTURE], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: {
      PATH: process.env.PATH,
      ...testEnvironment(databaseUrl, env),
      ...(kill === undefined ? {} : { KILL_AT: kill.at, KILL_COUNT: String(kill.count) }),
    },
  });
  const ended = once(child, 'exit').then(([, signal]) => signal as NodeJS.Signals | null);
  if (child.stdout === null) throw new Error('no output');
  const lines = createInterface({ input: child.stdout });
  const first = await Promise.race([once(lines, 'line').then(([line]) => String(line)), ended.then(() => 'ended')]);
  const port = /^listening (\d+)$/.exec(first)?.[1];
  if (port === undefined) throw new Error(`the service did not start: ${first}`);
  return {
    baseUrl: `http://127.0.0.1:${port}`,
    pid: child.pid ?? 0,
    ended,
    async stop() {
      child.kill('SIGTERM');
      const timer = setTimeout(() => child.kill('SIGKILL'), 8_000);
      await ended;
      clearTimeout(timer);
    },
  };
}
