import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { brotliCompressSync, brotliDecompressSync, gunzipSync, gzipSync } from 'node:zlib';
import { ConsoleAssets } from './routes.ts';

const SCRIPT = Buffer.from('console.log("the console")\n'.repeat(100));

function builtConsole(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'rg-console-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  mkdirSync(join(folder, 'assets'));
  writeFileSync(join(folder, 'index.html'), '<!doctype html>');
  for (const [name, bytes] of [
    ['main-1.js', SCRIPT],
    ['main-1.js.br', brotliCompressSync(SCRIPT)],
    ['main-1.js.gz', gzipSync(SCRIPT)],
    ['small-1.css', Buffer.from('a{}')],
  ] as const)
    writeFileSync(join(folder, 'assets', name), bytes);
  return folder;
}

describe('the built console', () => {
  it('is served as it was at the start, after its folder was emptied', async (t) => {
    const folder = builtConsole(t);
    const assets = ConsoleAssets.load(folder);
    rmSync(folder, { recursive: true });
    assert.equal(assets?.indexHtml, '<!doctype html>');
    const find = (accepted: string, name = 'main-1.js') => assets?.find(name, accepted);
    const [br, gz, plain, refused] = await Promise.all(
      ['gzip, br', 'gzip', '', 'br;q=0, gzip;q=0.0'].map((each) => find(each)),
    );
    assert.deepEqual([br?.coding, gz?.coding, plain?.coding, refused?.coding], ['br', 'gzip', undefined, undefined]);
    assert.deepEqual(brotliDecompressSync(br?.body ?? ''), SCRIPT);
    assert.deepEqual(gunzipSync(gz?.body ?? ''), SCRIPT);
    for (const each of [plain, refused]) assert.deepEqual(each?.body, SCRIPT);
    assert.equal(br?.type, 'text/javascript; charset=utf-8');
    const small = await find('br', 'small-1.css');
    assert.deepEqual([String(small?.body), small?.coding, small?.type], ['a{}', undefined, 'text/css; charset=utf-8']);
  });

  it('serves no files but its own', async (t) => {
    const assets = ConsoleAssets.load(builtConsole(t));
    for (const name of ['../index.html', 'main-1.js.br', 'main-1.js.gz', 'other.js', '', '.', 'constructor'])
      assert.equal(await assets?.find(name, 'br'), undefined, name);
  });

  it('is absent if it was not built completely', (t) => {
    const folder = builtConsole(t);
    rmSync(join(folder, 'assets'), { recursive: true });
    assert.equal(ConsoleAssets.load(folder), undefined);
    mkdirSync(join(folder, 'assets'));
    assert.equal(ConsoleAssets.load(folder), undefined);
    rmSync(folder, { recursive: true });
    assert.equal(ConsoleAssets.load(folder), undefined);
  });
});
