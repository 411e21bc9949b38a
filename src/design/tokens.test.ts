import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { FONT_FILES } from './tokens.ts';

const read = (name: string): Buffer => readFileSync(join(import.meta.dirname, name));
const packaged = (url: string): string => readFileSync(fileURLToPath(url), 'utf8');

test('the font is small enough for a first visit, under the licence of the original', () => {
  for (const { file } of FONT_FILES) {
    const font = read(file);
    assert.equal(font.toString('latin1', 0, 4), 'wOF2');
    assert.ok(font.length < 16 * 1024, `${file}: ${font.length} bytes`);
  }
  assert.equal(
    read('inter-license.txt').toString(),
    packaged(import.meta.resolve('@fontsource-variable/inter/LICENSE')),
  );
});

test('the font was generated from the installed release', () => {
  const { version } = JSON.parse(packaged(import.meta.resolve('@fontsource-variable/inter/package.json'))) as {
    version: string;
  };
  assert.match(
    read('tokens.ts').toString(),
    new RegExp(`@fontsource-variable/inter\` ${version.replaceAll('.', '\\.')},`),
  );
  for (const { path } of FONT_FILES) assert.match(path, /^\/assets\/inter-\w+-[\d.]+\.woff2$/);
});
