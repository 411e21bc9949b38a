import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

const read = (path: string): URL => new URL(`../${path}`, import.meta.url);
const { version } = JSON.parse(readFileSync(read('package.json'), 'utf8')) as { version: string };

/** A module hook that prints the loaded files to standard error when the process exits. */
const NOTE_MODULES = `data:text/javascript,${encodeURIComponent(`
  import { registerHooks } from 'node:module';
  const seen = [];
  registerHooks({ load(url, context, next) { if (url.startsWith('file:')) seen.push(url); return next(url, context); } });
  process.on('exit', () => process.stderr.write(JSON.stringify(seen)));`)}`;

function run(...args: string[]) {
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ['--import', NOTE_MODULES, read('bin/reelgate.js').pathname, ...args],
    { encoding: 'utf8' },
  );
  return { status, stdout, modules: JSON.parse(stderr.slice(stderr.lastIndexOf('["file:'))) as string[] };
}

test('printing the version does not load the program', () => {
  for (const option of ['--version', '-V']) {
    const { status, stdout, modules } = run(option);
    assert.deepEqual([status, stdout], [0, `${version}\n`]);
    assert.deepEqual(
      modules.map((url) => url.split('/').at(-1)),
      ['reelgate.js', 'node-version.js', 'package.json'],
    );
  }
});

// Each of these takes longer to load than help takes to print; a sign-in needs the last two.
const HEAVY = ['typebox', '@clack/prompts', 'open', 'uqr'];

test('help loads neither the contract nor modules that only running commands need', () => {
  for (const args of [
    ['--help'],
    ['video', '--help'],
    ['login', '--help'],
    ['admin', 'backup', '--help'],
    ['requests', '--help'],
    ['serve', '--help'],
  ]) {
    const { status, stdout, modules } = run(...args);
    assert.equal(status, 0);
    assert.match(stdout, /^Usage: reelgate/);
    const heavy = modules.filter((url) => HEAVY.some((name) => url.includes(`/node_modules/${name}/`)));
    assert.deepEqual(heavy, [], args.join(' '));
    assert.ok(modules.length < 90, `${modules.length} modules`);
  }
});
