import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { type BundleManifest, findProgramBundle } from '../bin/find-program-bundle.js';

const BUILT_AT = Date.UTC(2026, 0, 1);
const PROGRAM = 'dist/server/main.js';

/** A package with a bundle and one source, written a second before it. */
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
  it('is run while its sources are older', (test) => {
    const { root, bundle } = packageWith(test);
    assert.equal(findProgramBundle(root, PROGRAM), bundle);
  });

  it('is run where no sources are compared, as in an installed package', (test) => {
    const { root, source, bundle } = packageWith(test, { sources: {} });
    rmSync(source);
    assert.equal(findProgramBundle(root, PROGRAM), bundle);
  });

  it('is not run after a source was changed, even while it was built', (test) => {
    const { root, changeSourceAt } = packageWith(test);
    for (const later of [0, 1, 60_000]) {
      changeSourceAt(BUILT_AT + later);
      assert.equal(findProgramBundle(root, PROGRAM), undefined, `${later} ms`);
    }
  });

  it('is not run after a source was replaced by one that is older than the bundle', (test) => {
    const { root, changeSourceAt } = packageWith(test);
    for (const earlier of [2_000, 86_400_000]) {
      changeSourceAt(BUILT_AT - earlier);
      assert.equal(findProgramBundle(root, PROGRAM), undefined, `${earlier} ms`);
    }
  });

  it('is not run after a source was deleted', (test) => {
    const { root, source } = packageWith(test);
    rmSync(source);
    assert.equal(findProgramBundle(root, PROGRAM), undefined);
  });

  it('is not run where none was built, or not to its end', (test) => {
    const { root, manifest } = packageWith(test);
    for (const text of ['', '{"entry":', '{}', 'null']) {
      writeFileSync(manifest, text);
      assert.equal(findProgramBundle(root, PROGRAM), undefined, text);
    }
    rmSync(manifest);
    assert.equal(findProgramBundle(root, PROGRAM), undefined);
  });
});
