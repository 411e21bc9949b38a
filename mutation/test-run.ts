import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const HOOK = pathToFileURL(join(import.meta.dirname, 'load-hook.ts')).href;

/** Result of one test file. A run that exceeds its time limit counts as failed. */
export interface TestRun {
  readonly hasPassed: boolean;
  readonly durationMs: number;
  readonly output: string;
}

/**
 * Runs one test file in a separate process, on SQLite. @param env tells the load hook the sources and the active mutant
 */
export async function runTest(path: string, limitMs: number, env: Readonly<Record<string, string>>): Promise<TestRun> {
  const startedAt = performance.now();
  const child = spawn(process.execPath, ['--import', HOOK, '--test-reporter=spec', path], {
    // A process group, so that killing it also ends the processes a test has started.
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, TEST_DATABASE: 'sqlite', ...env },
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += String(chunk)));
  const kill = (): void => {
    try {
      process.kill(-(child.pid ?? 0), 'SIGKILL');
    } catch {
      // The whole process group has ended.
    }
  };
  process.once('exit', kill);
  const timer = setTimeout(kill, limitMs);
  const [code] = (await once(child, 'exit')) as [number | null];
  clearTimeout(timer);
  process.removeListener('exit', kill);
  kill();
  return { hasPassed: code === 0, durationMs: performance.now() - startedAt, output };
}
