import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Builds the console once the packages are installed (npm runs this after `npm ci`). An installation without development
 * packages has nothing to build with: it is left alone, and the server says what to do.
 */
const vite = join(import.meta.dirname, '../node_modules/vite/bin/vite.js');
if (existsSync(vite)) {
  const { status } = spawnSync(process.execPath, [vite, 'build', 'src/console', '--logLevel', 'warn'], {
    cwd: join(import.meta.dirname, '..'),
    stdio: 'inherit',
  });
  process.exitCode = status ?? 1;
}
