import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Builds the console and bundles the server once the packages are installed (npm runs this after `npm ci`). An installation without
 * development packages has nothing to build with: it is left alone. The server says then how the console is built, and runs its sources.
 */
const root = join(import.meta.dirname, '..');
const vite = join(root, 'node_modules/vite/bin/vite.js');
const BUILDS = [[vite, 'build', 'src/console', '--logLevel', 'warn'], [join(root, 'scripts/build-server.ts')]];
if (existsSync(vite)) {
  const status = BUILDS.reduce((failed, build) => failed || run(build), 0);
  process.exitCode = status;
  const [, npmNode = ''] = / node\/v(\S+)/.exec(process.env.npm_config_user_agent ?? '') ?? [];
  if (status !== 0 && isBelow(npmNode, 20, 19))
    console.error(
      `npm runs on Node ${npmNode}, under which it leaves out optional packages: use npm on Node 20.19 or newer.`,
    );
}

/** @returns the exit code */
function run(args: readonly string[]): number {
  return spawnSync(process.execPath, args, { cwd: root, stdio: 'inherit' }).status ?? 1;
}

function isBelow(version: string, major: number, minor: number): boolean {
  const [its = 0, itsMinor = 0] = version.split('.').map(Number);
  return version !== '' && (its < major || (its === major && itsMinor < minor));
}
