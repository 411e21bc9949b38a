import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { type BundleManifest, findProgramBundle } from '../bin/find-program-bundle.js';

const BUILT_AT = Date.UTC(2026, 0, 1);
const PROGRAM = 'dist/server/main.js';

/** A package with a bundle and one source file, which is a second older. */
function packageWith(test: TestContext, changes: Partial<BundleManifest> = {}) {
  const root = mkdtempSync(join(tmpdir(), 'rg-bundle-'));
  test.after(() => rmSync(root, { recursive: true }));
  const folder = join(root, 'dist/server');
  const manifest = join(folder, 'manifest.json');
  const source = join(root, 'app.ts');
  mkdirSync(folder, { recursive: true });
  writeFileSync(
    manifest,
    JSON.stringify({ builtAt: BUILT_AT, sources: { 'app.ts': BUILT_AT / 1000 - 1 }, ...changes }),
  );
  writeFileSync(source, '');
  const changeSourceAt = (ms: number) => utimesSync(source, ms / 1000, ms / 1000);
  changeSourceAt(BUILT_AT - 1000);
  return { root, manifest, source, bundle: join(root, PROGRAM), changeSourceAt };
}

describe('a bundled program', () => {
  it('runs while its sources are older', (test) => {
    const { root, bundle } = packageWith(test);
    assert.equal(findProgramBundle(root, PROGRAM), bundle);
  });

  it('runs where sources are not compared, as in an installed package', (test) => {
    const { root, source, bundle } = packageWith(test, { sources: {} });
    rmSync(source);
    assert.equal(findProgramBundle(root, PROGRAM), bundle);
  });

  it('does not run after a source was changed, even during the build', (test) => {
    const { root, changeSourceAt } = packageWith(test);
    for (const later of [0, 1, 60_000]) {
      changeSourceAt(BUILT_AT + later);
      assert.equal(findProgramBundle(root, PROGRAM), undefined, `${later} ms`);
    }
  });

  it('does not run after a source was replaced by one older than the bundle', (test) => {
    const { root, changeSourceAt } = packageWith(test);
    for (const earlier of [2_000, 86_400_000]) {
      changeSourceAt(BUILT_AT - earlier);
      assert.equal(findProgramBundle(root, PROGRAM), undefined, `${earlier} ms`);
    }
  });

  it('does not run after a source was deleted', (test) => {
    const { root, source } = packageWith(test);
    rmSync(source);
    assert.equal(findProgramBundle(root, PROGRAM), undefined);
  });

  it('does not run where it was not built, or not completely', (test) => {
    const { root, manifest } = packageWith(test);
    for (const text of ['', '{"entry":', '{}', 'null']) {
      writeFileSync(manifest, text);
      assert.equal(findProgramBundle(root, PROGRAM), undefined, text);
    }
    rmSync(manifest);
    assert.equal(findProgramBundle(root, PROGRAM), undefined);
  });
});
