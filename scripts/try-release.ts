/**
 * `node scripts/try-release.ts`, part of `npm run hammer`: makes the next release in a clone of the committed
 * state, as `npm run release` does but without the tests: checks, version, CHANGELOG.md, databases for the upgrade
 * tests, package, global installation under a bare Node with a first video, commit and tag. Then verifies that a second
 * attempt at the same version is refused and changes nothing. Needs PostgreSQL and a package registry; everything is
 * removed afterwards.
 */
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..');
// In a folder of the repository that git ignores, so that the packages can be hard links.
mkdirSync(join(root, 'out'), { recursive: true });
const folder = mkdtempSync(join(root, 'out', 'release-'));
const clone = join(folder, 'clone');
const git = (...args: string[]): string => execFileSync('git', args, { cwd: clone, encoding: 'utf8' }).trim();

try {
  execFileSync('git', ['clone', '--quiet', root, clone]);
  git('config', 'user.name', 'A trial');
  git('config', 'user.email', 'trial@example.org');
  execFileSync('cp', ['-al', join(root, 'node_modules'), join(clone, 'node_modules')]);
  const { version: current } = JSON.parse(readFileSync(join(clone, 'package.json'), 'utf8')) as { version: string };
  const [major, minor] = current.split('.').map(Number);
  const version = `${major}.${(minor ?? 0) + 1}.0`;
  const release = () =>
    spawnSync('npm', ['run', '--silent', 'release', '--', version, '--skip-tests'], {
      cwd: clone,
      encoding: 'utf8',
      stdio: ['ignore', 'inherit', 'pipe'],
      env: { ...process.env, PATH: `${join(clone, 'node_modules', '.bin')}:${process.env.PATH}` },
    });
  const subject = git('log', '-1', '--no-merges', '--format=%s');
  const since = performance.now();
  const made = release();
  assert(made.status === 0, `a release is made: ${made.stderr}`);
  const seconds = Math.round((performance.now() - since) / 1_000);
  assert(git('log', '-1', '--format=%s') === `Release ${version}`, 'the commit is there');
  assert(git('describe', '--exact-match') === `v${version}`, 'the tag is at the commit');
  assert(git('cat-file', '-t', `v${version}`) === 'tag', 'the tag has a message');
  assert(git('status', '--porcelain') === '', 'all it wrote is committed');
  const changes = readFileSync(join(clone, 'CHANGELOG.md'), 'utf8');
  assert(changes.includes(`## ${version} (`) && changes.includes(`- ${subject}\n`), 'CHANGELOG.md names the commits');
  for (const name of ['reelgate', 'reelgate-importer', 'reelgate-sdk', 'reelgate-cli'])
    assert(existsSync(join(clone, 'out', `${name}-${version}.tgz`)), `the package ${name} is there`);
  assert(existsSync(join(clone, 'test/upgrades/releases', version)), 'its databases are kept');
  const before = git('rev-parse', 'HEAD');
  const again = release();
  assert(again.status === 1 && again.stderr.includes('no release: '), `the same version is refused: ${again.stderr}`);
  assert(git('rev-parse', 'HEAD') === before && git('status', '--porcelain') === '', 'a refusal changes nothing');
  console.log(`release ${version} of ${current} made in ${seconds} s, and refused a second time`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
