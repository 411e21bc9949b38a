import { spawnSync } from 'node:child_process';
import { existsSync, globSync, statSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '../..');
const index = join(root, 'dist/console/index.html');

/** Builds the console where its build is missing or older than what it is built from. */
export function ensureConsoleIsBuilt(): void {
  const changed = globSync(['src/console/**/*', 'src/contract/**/*', 'src/sdk/**/*'], { cwd: root }).map(
    (path) => statSync(join(root, path)).mtimeMs,
  );
  if (existsSync(index) && statSync(index).mtimeMs > Math.max(...changed)) return;
  const { status, stderr } = spawnSync(
    process.execPath,
    [join(root, 'node_modules/vite/bin/vite.js'), 'build', 'src/console', '--logLevel', 'warn'],
    { cwd: root, encoding: 'utf8' },
  );
  if (status !== 0) throw new Error(`the console does not build:\n${stderr}`);
}
