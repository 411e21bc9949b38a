import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { CHILD_PROCESS_ENVIRONMENT } from '../child-process-environment.ts';
import { fixtureProgram } from '../fixture-programs.ts';
import { testEnvironment } from '../service-with-sandbox.ts';

const PROGRAM = fixtureProgram('test/faults/crashing-server.fixture.ts');

/** A service in its own process that can kill or suspend itself. */
export interface CrashingServer {
  readonly baseUrl: string;
  readonly pid: number;
  /** Resolves with the signal that ended the process. */
  readonly ended: Promise<NodeJS.Signals | null>;
  /** Resolves when the process has suspended itself at its fault point. */
  readonly frozen: Promise<void>;
  /** Replaces the plan of a running process; resolves when the new one is in effect. */
  arm(plan: CrashPlan): Promise<void>;
  stop(): Promise<void>;
}

/** How the process kills or suspends itself when it reaches a named fault point for the `count`-th time. */
export interface CrashPlan {
  readonly at: string;
  readonly count: number;
  /** Default: SIGKILL. SIGSTOP suspends the process with everything it holds until it receives SIGCONT. */
  readonly signal?: 'SIGKILL' | 'SIGSTOP';
}

/**
 * Starts the service in its own process.
 *
 * @param env settings, and `POLL_PERIOD_SECONDS` for a poll period shorter than the setting permits
 */
export async function startCrashingServer(
  databaseUrl: string,
  env: Readonly<Record<string, string>>,
  blow?: CrashPlan,
): Promise<CrashingServer> {
  const child: ChildProcess = spawn(process.execPath, [PROGRAM], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: {
      ...CHILD_PROCESS_ENVIRONMENT,
      ...testEnvironment(databaseUrl, env),
      ...(blow === undefined
        ? {}
        : { CRASH_AT: blow.at, CRASH_COUNT: String(blow.count), CRASH_SIGNAL: blow.signal ?? 'SIGKILL' }),
    },
  });
  const ended = once(child, 'exit').then(([, signal]) => signal as NodeJS.Signals | null);
  if (child.stdout === null || child.stdin === null) throw new Error('no output');
  const { stdin } = child;
  // Writing to a killed process fails.
  stdin.on('error', () => {});
  const lines = createInterface({ input: child.stdout });
  const first = await Promise.race([once(lines, 'line').then(([line]) => String(line)), ended.then(() => 'ended')]);
  const port = /^listening (\d+)$/.exec(first)?.[1];
  if (port === undefined) throw new Error(`the service did not start: ${first}`);
  const frozen = Promise.withResolvers<void>();
  lines.on('line', (line) => {
    if (line === 'freezing') frozen.resolve();
  });
  return {
    baseUrl: `http://127.0.0.1:${port}`,
    pid: child.pid ?? 0,
    ended,
    frozen: frozen.promise,
    async arm(plan) {
      const armed = once(lines, 'line');
      stdin.write(`${JSON.stringify(plan)}\n`);
      await armed;
    },
    async stop() {
      child.kill('SIGCONT');
      child.kill('SIGTERM');
      const timer = setTimeout(() => child.kill('SIGKILL'), 8_000);
      await ended;
      clearTimeout(timer);
    },
  };
}
