import { spawnSync } from 'node:child_process';
import { mkdirSync, rmdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { isConsoleFresh } from '../../scripts/console-build.ts';

const root = join(import.meta.dirname, '../..');
const lock = join(root, 'out/console-build.lock');
const STALE_LOCK_MS = 180_000;

/** Builds the console if its build is missing or older than its sources; concurrent test files take turns. */
export function buildConsoleIfOutdated(): void {
  if (isConsoleFresh(root)) return;
  mkdirSync(join(root, 'out'), { recursive: true });
  while (!acquireLock()) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 200);
  try {
    if (!isConsoleFresh(root)) build();
  } finally {
    rmdirSync(lock);
  }
}

function acquireLock(): boolean {
  try {
    mkdirSync(lock);
    return true;
  } catch {
    const since = statSync(lock, { throwIfNoEntry: false })?.mtimeMs ?? Date.now();
    // A killed process left its lock behind.
    if (Date.now() - since > STALE_LOCK_MS) rmdirSync(lock);
    return false;
  }
}

function build(): void {
  const { status, stderr } = spawnSync(process.execPath, [join(root, 'scripts/build-console.ts')], {
    cwd: root,
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`the console does not build:\n${stderr}`);
}
