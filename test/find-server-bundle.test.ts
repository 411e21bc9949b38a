import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { findServerBundle, type ServerBundleManifest } from '../bin/find-server-bundle.js';

const BUILT_AT = Date.UTC(2026, 0, 1);
const ENTRY = 'main.js';

/** A package with a bundle and one source, written a second before it. */
function packageWith(test: TestContext, changes: Partial<ServerBundleManifest> = {}) {
  const root = mkdtempSync(join(tmpdir(), 'rg-bundle-'));
  test.after(() => rmSync(root, { recursive: true }));
  const folder = join(root, 'dist/server');
  const manifest = join(folder, 'manifest.json');
  const source = join(root, 'app.ts');
  mkdirSync(folder, { recursive: true });
  writeFileSync(manifest, JSON.stringify({ entry: ENTRY, builtAt: BUILT_AT, sources: ['app.ts'], ...changes }));
  writeFileSync(source, '');
  const changeSourceAt = (ms: number) => utimesSync(source, ms / 1000, ms / 1000);
  changeSourceAt(BUILT_AT - 1000);
  return { root, manifest, source, bundle: join(folder, ENTRY), changeSourceAt };
}

describe('the bundled server', () => {
  it('is run while its sources are older', (test) => {
    const { root, bundle } = packageWith(test);
    assert.equal(findServerBundle(root), bundle);
  });

  it('is run where no sources are compared, as in an installed package', (test) => {
    const { root, source, bundle } = packageWith(test, { sources: [] });
    rmSync(source);
    assert.equal(findServerBundle(root), bundle);
  });

  it('is not run after a source was changed, even while it was built', (test) => {
    const { root, changeSourceAt } = packageWith(test);
    for (const later of [0, 1, 60_000]) {
      changeSourceAt(BUILT_AT + later);
      assert.equal(findServerBundle(root), undefined, `${later} ms`);
    }
  });

  it('is not run after a source was deleted', (test) => {
    const { root, source } = packageWith(test);
    rmSync(source);
    assert.equal(findServerBundle(root), undefined);
  });

  it('is not run where none was built, or not to its end', (test) => {
    const { root, manifest } = packageWith(test);
    for (const text of ['', '{"entry":', '{}', 'null']) {
      writeFileSync(manifest, text);
      assert.equal(findServerBundle(root), undefined, text);
    }
    rmSync(manifest);
    assert.equal(findServerBundle(root), undefined);
  });
});
