/**
 * `npm run release -- X.Y.Z` makes a release of the committed state: checks and tests it, raises the version, writes
 * CHANGELOG.md from the commits, keeps its databases for the upgrade tests, packs the service, the importer, the SDK
 * and the command line, installs the service globally under a bare Node and runs it, commits, and tags. Nothing is
 * pushed or published: the last lines of the output explain how. If a step fails, the working tree is restored.
 *
 * `--skip-tests` skips the tests if continuous integration has just run them.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { writeCliPackage, writeSdkPackage } from './packages/client-packages.ts';
import { addToChangelog, assertNextVersion } from './release/changelog.ts';
import { writeImporterFolder, writePackageFolder } from './release/package-folder.ts';
import { tryPackage } from './release/try-package.ts';

const root = join(import.meta.dirname, '..');
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { 'skip-tests': { type: 'boolean', default: false } },
});

const run = (program: string, ...args: string[]): void =>
  void execFileSync(program, args, { cwd: root, stdio: 'inherit' });
const read = (program: string, ...args: string[]): string =>
  execFileSync(program, args, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();

/** Files changed by a release. */
const VERSIONED = [
  'package.json',
  'package-lock.json',
  'importer/package.json',
  'deploy/kubernetes.yaml',
  'CHANGELOG.md',
  'test/upgrades/releases',
];

async function release(version: string): Promise<void> {
  const { version: current } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
  // The first release may keep the current version.
  if (lastTag() !== undefined || version !== current) assertNextVersion(current, version);
  if (read('git', 'status', '--porcelain') !== '') throw new Error('there are changes that are not committed');
  if (read('git', 'tag', '--list', `v${version}`) !== '') throw new Error(`v${version} exists already`);
  run('npm', 'run', '-s', 'check');
  if (!values['skip-tests']) run('npm', 'test');
  try {
    raiseVersion(current, version);
    run('node', 'scripts/save-release-databases.ts');
    const [file = '', ...others] = await packAll(version);
    await tryPackage(file, version);
    run('git', 'add', '--all', ...VERSIONED);
    run('git', 'commit', '--quiet', '-m', `Release ${version}`);
    run('git', 'tag', '-a', `v${version}`, '-m', `Release ${version}`);
    console.log(
      `\n${[file, ...others].join('\n')}\ngit push --follow-tags     # publishes the commit and the tag\nnpm install -g ${file}`,
    );
  } catch (error) {
    run('git', 'reset', '--quiet', '--hard');
    run('git', 'clean', '--quiet', '--force', ...VERSIONED);
    throw error;
  }
}

function raiseVersion(current: string, version: string): void {
  // The package's own scripts are skipped, because they would install and build again.
  run('npm', 'version', version, '--no-git-tag-version', '--ignore-scripts', '--allow-same-version');
  const importer = join(root, 'importer/package.json');
  const lock = join(root, 'package-lock.json');
  // npm only raises the root's version.
  for (const path of [importer, lock]) {
    const text = readFileSync(path, 'utf8');
    const entry = `"name": "@reelgate/importer",\n`;
    const at = text.indexOf('"version"', text.indexOf(entry));
    writeFileSync(path, text.slice(0, at) + text.slice(at).replace(`"${current}"`, `"${version}"`));
  }
  const manifest = join(root, 'deploy/kubernetes.yaml');
  writeFileSync(manifest, readFileSync(manifest, 'utf8').replace(`reelgate:${current}`, `reelgate:${version}`));
  const changelog = join(root, 'CHANGELOG.md');
  const before = existsSync(changelog) ? readFileSync(changelog, 'utf8') : '';
  const date = new Date().toISOString().slice(0, 10);
  writeFileSync(changelog, addToChangelog(before, version, date, subjectsSince(lastTag())));
}

function lastTag(): string | undefined {
  return read('git', 'tag', '--list', 'v*', '--merged', 'HEAD', '--sort=-version:refname').split('\n')[0] || undefined;
}

const subjectsSince = (tag: string | undefined): string[] =>
  read('git', 'log', '--no-merges', '--format=%s', tag === undefined ? 'HEAD' : `${tag}..HEAD`).split('\n');

/** @returns the packed files, in `out/`: the service, its importer, the SDK and the command line */
async function packAll(version: string): Promise<string[]> {
  run('npm', 'run', '-s', 'prepare');
  mkdirSync(join(root, 'out'), { recursive: true });
  const packages: readonly [string, (root: string, folder: string) => Promise<void> | void][] = [
    ['reelgate', writePackageFolder],
    ['reelgate-importer', writeImporterFolder],
    ['reelgate-sdk', writeSdkPackage],
    ['reelgate-cli', writeCliPackage],
  ];
  const files: string[] = [];
  for (const [name, write] of packages) {
    const folder = join(root, 'out/packages', name);
    await write(root, folder);
    const [packed = ''] = read('npm', 'pack', folder, '--silent', '--pack-destination', 'out').split('\n');
    const file = join(root, 'out', `${name}-${version}.tgz`);
    if (join(root, 'out', packed) !== file) renameSync(join(root, 'out', packed), file);
    files.push(file);
  }
  return files;
}

const [version = ''] = positionals;
await release(version).catch((error: unknown) => {
  console.error(`no release: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
});
