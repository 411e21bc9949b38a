import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { globSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { addToChangelog, assertNextVersion } from '../../scripts/release/changelog.ts';
import { writeImporterFolder, writePackageFolder } from '../../scripts/release/package-folder.ts';
import { VERSION } from '../../src/server/package-root.ts';

const root = join(import.meta.dirname, '../..');

describe('a release', () => {
  it('has a higher version than the previous one', () => {
    for (const next of ['0.1.1', '0.2.0', '1.0.0', '0.10.0']) assertNextVersion('0.1.0', next);
    for (const next of ['0.1.0', '0.0.9', 'v0.2.0', '0.2', '0.2.0-rc.1', ''])
      assert.throws(() => assertNextVersion('0.1.0', next), /not (?:above|a version)/);
    assert.throws(() => assertNextVersion('1.2.3', '1.1.9'));
  });

  it('lists its commits above the previous releases', () => {
    const first = addToChangelog('', '0.1.0', '2026-01-31', ['Second', 'First']);
    assert.equal(first, '# Changes\n\n## 0.1.0 (2026-01-31)\n\n- Second\n- First\n');
    const second = addToChangelog(first, '0.2.0', '2026-02-01', ['Release 0.1.0', 'Third']);
    assert.equal(
      second,
      '# Changes\n\n## 0.2.0 (2026-02-01)\n\n- Third\n\n## 0.1.0 (2026-01-31)\n\n- Second\n- First\n',
    );
  });

  it('is a package of plain JavaScript that generates a first video without development packages', async (test) => {
    if (!globSync('dist/console/index.html', { cwd: root }).length) return test.skip('the console is not built');
    const folder = mkdtempSync(join(tmpdir(), 'rg-package-'));
    test.after(() => rmSync(folder, { recursive: true }));
    // Inside a node_modules folder, like an installed package: Node strips no types there.
    const modules = join(folder, 'node_modules');
    const installed = join(modules, 'reelgate');
    writePackageFolder(root, installed);
    assert.deepEqual(globSync('{bin,scripts,src}/**/*.{ts,tsx}', { cwd: installed }), []);
    assert.deepEqual(
      globSync('**/*.{test,fixture}.*', { cwd: installed }).filter((path) => !path.startsWith('dist')),
      [],
    );
    linkDependencies(modules);
    const work = join(folder, 'work');
    mkdirSync(work);
    const run = (...args: string[]): string =>
      execFileSync(process.execPath, [join(installed, 'bin/reelgate.js'), ...args], {
        cwd: work,
        encoding: 'utf8',
        env: { PATH: process.env.PATH, HOME: folder, PORT: '38600', NODE_NO_WARNINGS: '1' },
        stdio: ['ignore', 'pipe', 'pipe'],
        timeout: 60_000,
      });
    assert.equal(run('--version').trim(), VERSION);
    assert.match(run('--help'), /^ {2}quickstart /m);
    const importing = ['import', 'new-api', '--from', 'sqlite:none.db'];
    assert.throws(() => run(...importing), /The importer is not installed[\s\S]*npm install --global/);
    // The service finds the importer installed beside it, which then stops at the missing database.
    const importer = join(modules, '@reelgate/importer');
    writeImporterFolder(root, importer);
    assert.deepEqual(globSync('{test/**,**/*.ts}', { cwd: importer }), []);
    assert.throws(() => run(...importing), /There is no database at/);
    // Shows that the bundle is complete and is the code that runs.
    rmSync(join(installed, 'src/server'), { recursive: true });
    assert.match(run('quickstart', '--exit'), /Saved data\/first-video\.mp4/);
    assert.ok(readFileSync(join(work, 'data/first-video.mp4')).length > 0);
  });
});

/** Links the packages of an installation without development packages, and no others. */
function linkDependencies(modules: string): void {
  const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, { dev?: boolean; link?: boolean }>;
  };
  const names = Object.entries(lock.packages)
    .filter(([path, { dev, link }]) => /^node_modules\/(?:@[^/]+\/)?[^/]+$/.test(path) && dev !== true && link !== true)
    .map(([path]) => path.slice('node_modules/'.length));
  assert.ok(!names.includes('vite') && names.includes('fastify'));
  const present = new Set(readdirSync(join(root, 'node_modules')));
  for (const name of names) {
    const scope = name.includes('/') ? name.split('/')[0] : undefined;
    if (!present.has(scope ?? name)) continue;
    if (scope !== undefined) mkdirSync(join(modules, scope), { recursive: true });
    symlinkSync(join(root, 'node_modules', name), join(modules, name));
  }
}
