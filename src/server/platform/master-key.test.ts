import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, it } from 'node:test';
import { promisify } from 'node:util';
import { loadMasterKey } from './master-key.ts';
import { parseMasterKey } from './vault.ts';

const folder = mkdtempSync(join(tmpdir(), 'reelgate-key-'));
after(() => rmSync(folder, { recursive: true }));

it('creates a key once, readable only by its owner', () => {
  const path = join(folder, 'new', 'master.key');
  const key = loadMasterKey(path);
  assert.equal(key.length, 32);
  assert.deepEqual(loadMasterKey(path), key);
  if (process.platform !== 'win32') assert.equal(statSync(path).mode & 0o777, 0o600);
  assert.deepEqual(readdirSync(join(folder, 'new')), ['master.key']);
});

it('never replaces a file that contains no valid key', () => {
  const path = join(folder, 'broken.key');
  for (const text of ['', 'c2hvcnQ=', 'x'.repeat(100)]) {
    writeFileSync(path, text);
    assert.throws(() => loadMasterKey(path), /does not hold a master key/);
  }
});

it('T90: yields one key to processes that start at the same time', async () => {
  const path = join(folder, 'shared.key');
  const code = `import { loadMasterKey } from ${JSON.stringify(import.meta.resolve('./master-key.ts'))};
    console.log(loadMasterKey(${JSON.stringify(path)}).toString('base64'));`;
  const run = () => promisify(execFile)(process.execPath, ['--input-type=module', '-e', code]);
  const keys = (await Promise.all([run(), run(), run(), run()])).map(({ stdout }) => stdout.trim());
  assert.equal(new Set(keys).size, 1);
  assert.equal(parseMasterKey(keys[0] ?? '')?.length, 32);
});
