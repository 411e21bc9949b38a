import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { findProgramBundle } from '../bin/find-program-bundle.js';
import { buildConsole, canBuildConsole, isConsoleFresh } from './console-build.ts';
import { SERVER_BUNDLE, writeBundle } from './write-bundle.ts';

/**
 * Builds the console and bundles the server if they are older than their sources. npm runs this after `npm ci`
 * (`prepare`), but also before other commands: `npx` in this folder, packing. Those build nothing, because a service
 * may be running from here. An installation without development packages cannot build: the server then explains how to
 * build the console, and runs its sources.
 */
const root = join(import.meta.dirname, '..');

if (canBuildConsole(root) && (process.env.npm_lifecycle_event !== 'prepare' || isInstallOfCheckout(process.env))) {
  try {
    if (!isConsoleFresh(root)) await buildConsole(root);
    if (findProgramBundle(root, 'dist/server/main.js') === undefined) await writeBundle({ root, ...SERVER_BUNDLE });
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    process.exitCode = 1;
    const [, npmNode = ''] = / node\/v(\S+)/.exec(process.env.npm_config_user_agent ?? '') ?? [];
    if (isBelow(npmNode, 20, 19))
      console.error(
        `npm runs on Node ${npmNode}, under which it leaves out optional packages: use npm on Node 20.19 or newer.`,
      );
  }
}

function isInstallOfCheckout({ npm_command, npm_config_local_prefix }: NodeJS.ProcessEnv): boolean {
  const isInstall = npm_command === 'ci' || npm_command === 'install';
  return isInstall && npm_config_local_prefix === root && existsSync(join(root, '.git'));
}

function isBelow(version: string, major: number, minor: number): boolean {
  const [its = 0, itsMinor = 0] = version.split('.').map(Number);
  return version !== '' && (its < major || (its === major && itsMinor < minor));
}
