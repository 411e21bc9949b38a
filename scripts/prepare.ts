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
  const [, npmNode = ''] = / node\/v(\S+)/.exec(process.env.npm_config_user_agent ?? '') ?? [];
  if (status !== 0 && isBelow(npmNode, 20, 19))
    console.error(
      `npm runs on Node ${npmNode}, under which it leaves out optional packages: use npm on Node 20.19 or newer.`,
    );
}

function isBelow(version: string, major: number, minor: number): boolean {
  const [its = 0, itsMinor = 0] = version.split('.').map(Number);
  return version !== '' && (its < major || (its === major && itsMinor < minor));
}
