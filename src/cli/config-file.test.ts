import assert from 'node:assert/strict';
import { lstatSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, it } from 'node:test';
import { readConfigFile, writeConfigFile } from './config-file.ts';

const folder = mkdtempSync(join(tmpdir(), 'rg-config-'));
after(() => rmSync(folder, { recursive: true }));
const at = (...names: string[]): string => join(folder, ...names);

it('a file that is a symbolic link into a repository stays one', async () => {
  mkdirSync(at('repository'));
  writeFileSync(at('repository', 'settings.json'), '{}', { mode: 0o644 });
  symlinkSync(at('repository', 'settings.json'), at('settings.json'));
  await writeConfigFile(at('settings.json'), { a: 1 });
  assert.ok(lstatSync(at('settings.json')).isSymbolicLink());
  assert.deepEqual(await readConfigFile(at('repository', 'settings.json')), { a: 1 });
  assert.equal(statSync(at('settings.json')).mode & 0o777, 0o600);
  assert.deepEqual(readdirSync(at('repository')), ['settings.json']);
});

it('a byte order mark is no part of the file, and no file is no error', async () => {
  writeFileSync(at('marked.json'), '\ufeff{"a":1}');
  assert.deepEqual(await readConfigFile(at('marked.json')), { a: 1 });
  assert.equal(await readConfigFile(at('none.json')), undefined);
  await assert.rejects(readConfigFile('/dev/null/none.json'), { code: 'ENOTDIR' });
});
