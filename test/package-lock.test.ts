import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import {
  completeLock,
  isFromRegistry,
  type Lock,
  type LockEntry,
  missingOptional,
} from '../scripts/package-lock/platform-packages.ts';

interface Manifest {
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
}

const root = join(import.meta.dirname, '..');
/** The npm that runs the tests; undefined if Node runs them directly. */
const NPM = process.env.npm_execpath;
const text = readFileSync(join(root, 'package-lock.json'), 'utf8');

test('T92: each lock file contains the packages of every platform', () => {
  for (const folder of ['', 'clients', 'bench']) {
    const lock = JSON.parse(readFileSync(join(root, folder, 'package-lock.json'), 'utf8')) as Lock;
    const names = missingOptional(lock).map(({ name, range }) => `${name}@${range}`);
    assert.deepEqual(names, [], folder === '' ? 'run "npm run lock"' : folder);
  }
});

test('T92: every package is verified by its hash, including those of other platforms', () => {
  for (const folder of ['', 'clients', 'bench']) {
    const lock = JSON.parse(readFileSync(join(root, folder, 'package-lock.json'), 'utf8')) as Lock;
    for (const [path, entry] of Object.entries(lock.packages))
      if (isFromRegistry(path, entry)) assert.match(entry.integrity ?? '', /^sha512-/, path);
  }
});

test('the importer is a separate package: a server installation contains none of its libraries', () => {
  const { packages } = JSON.parse(text) as { packages: Record<string, LockEntry & Manifest> };
  const own = JSON.parse(readFileSync(join(root, 'importer/package.json'), 'utf8')) as Manifest & { version: string };
  const server = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Manifest & { version: string };
  assert.equal(own.version, server.version);
  const pinned = { ...server.devDependencies, ...server.dependencies };
  for (const [name, version] of Object.entries(own.dependencies ?? {})) assert.equal(version, pinned[name], name);
  for (const path of ['importer', 'node_modules/mysql2', 'node_modules/sql-escaper'])
    assert.equal(packages[path]?.dev, true, path);
});

test('an installation by the oldest permitted Node prints no warnings', { skip: NPM === undefined }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'rg-install-'));
  try {
    for (const name of ['package.json', 'package-lock.json', '.npmrc', 'importer/package.json'])
      cpSync(join(root, name), join(folder, name));
    const oldest = "data:text/javascript,Object.defineProperty(process,'version',{value:'v20.19.0'})";
    const install = ['ci', '--dry-run', '--offline', '--ignore-scripts', '--no-audit', '--no-fund'];
    const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^npm_config_/i.test(name)));
    const { status, stdout, stderr } = spawnSync(process.execPath, ['--import', oldest, String(NPM), ...install], {
      cwd: folder,
      encoding: 'utf8',
      env,
    });
    assert.equal(status, 0, stderr);
    assert.equal(stderr, '');
    assert.match(stdout, /added \d+ packages/);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test('the lock file names no registry', () => {
  assert.doesNotMatch(text, /"resolved": "http/);
});

test('a missing platform package is added with its platform', () => {
  const lock: Lock = {
    packages: {
      'node_modules/a': {
        version: '1.0.0',
        dev: true,
        optionalDependencies: { '@a/b-linux-x64-musl': '1.0.0', c: '^2.0.0' },
      },
      'node_modules/a/node_modules/z': { version: '1.0.0', optionalDependencies: { 'y-darwin-arm64': '3.0.0' } },
      'node_modules/y-darwin-arm64': { version: '3.0.0' },
    },
  };
  assert.deepEqual(completeLock(lock), ['node_modules/@a/b-linux-x64-musl']);
  assert.deepEqual(lock.packages['node_modules/@a/b-linux-x64-musl'], {
    version: '1.0.0',
    cpu: ['x64'],
    libc: ['musl'],
    os: ['linux'],
    dev: true,
    optional: true,
  });
  assert.deepEqual(completeLock(lock), []);
});
