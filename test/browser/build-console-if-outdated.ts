import { spawnSync } from 'node:child_process';
import { existsSync, globSync, mkdirSync, rmdirSync, statSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '../..');
const index = join(root, 'dist/console/index.html');
const lock = join(root, 'out/console-build.lock');
const STALE_LOCK_MS = 180_000;

/** Builds the console where its build is missing or older than what it is built from; test files beside each other take turns. */
export function buildConsoleIfOutdated(): void {
  if (isFresh()) return;
  mkdirSync(join(root, 'out'), { recursive: true });
  while (!acquireLock()) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 200);
  try {
    if (!isFresh()) build();
  } finally {
    rmdirSync(lock);
  }
}

function isFresh(): boolean {
  const changed = globSync(['src/console/**/*', 'src/design/**/*', 'src/contract/**/*', 'src/sdk/**/*'], {
    cwd: root,
  }).map((path) => statSync(join(root, path)).mtimeMs);
  return existsSync(index) && statSync(index).mtimeMs > Math.max(...changed);
}

function acquireLock(): boolean {
  try {
    mkdirSync(lock);
    return true;
  } catch {
    const since = statSync(lock, { throwIfNoEntry: false })?.mtimeMs ?? Date.now();
    // Whoever held it was killed.
    if (Date.now() - since > STALE_LOCK_MS) rmdirSync(lock);
    return false;
  }
}

function build(): void {
  const { status, stderr } = spawnSync(
    process.execPath,
    [join(root, 'node_modules/vite/bin/vite.js'), 'build', 'src/console', '--logLevel', 'warn'],
    { cwd: root, encoding: 'utf8' },
  );
  if (status !== 0) throw new Error(`the console does not build:\n${stderr}`);
}
