import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { seededRandom } from '../../../test/seeded-random.ts';
import { Base64Text, decodeBase64, LONG_TEXT_LENGTH } from './base64.ts';

/** Decodes the text and its bytes, which must agree. */
function isBase64(text: string): boolean {
  const decoded = decodeBase64(text);
  assert.deepEqual(decodeBase64(Buffer.from(text)), decoded, JSON.stringify(text.slice(0, 99)));
  if (decoded !== undefined) assert.ok(decoded.equals(Buffer.from(text, 'base64')), JSON.stringify(text.slice(0, 99)));
  return decoded !== undefined;
}

/** The definition, character by character. */
const byDefinition = (text: string): boolean => text.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(text);

test('decodes any number of bytes, padded', () => {
  for (const size of [0, 1, 2, 3, 48, 49_150, 49_151, 49_152, 49_153, 200_000]) {
    const text = randomBytes(size).toString('base64');
    assert.ok(isBase64(text), `${size} bytes`);
    if (text.endsWith('=')) assert.ok(!isBase64(text.replaceAll('=', '')), `${size} bytes without padding`);
  }
});

test('detects an illegal character at any position', () => {
  const text = randomBytes(150_000).toString('base64');
  for (const character of ['-', '_', '=', ' ', '\n', '"', '\\', '\u0000', '\u00e9', '\u0141', '\ud83d'])
    for (const at of [0, 1, 65_534, 65_535, 65_536, 131_071, text.length - 3, text.length - 2])
      assert.ok(!isBase64(text.slice(0, at) + character + text.slice(at + 1)), `${JSON.stringify(character)} at ${at}`);
});

test('agrees with the definition on short texts', () => {
  const random = seededRandom(20_261_127);
  const pick = (from: string): string => from[Math.floor(random() * from.length)] ?? '';
  let accepted = 0;
  for (let round = 0; round < 20_000; round++) {
    const length = 1 + Math.floor(random() * 24);
    const characters = Array.from({ length }, () => pick(random() < 0.97 ? 'ABYZabyz0189+/' : '=-_ \n"\u0141\u00e9:'));
    const text = characters.join('') + '='.repeat(Math.floor(random() * 3));
    assert.equal(isBase64(text), byDefinition(text), JSON.stringify(text));
    if (isBase64(text)) accepted++;
  }
  assert.ok(accepted > 2_000, `${accepted} of them were Base64`);
});

test('encodes the text in pieces, identically on each call', () => {
  // Around the size of a piece, which is 48 KiB.
  for (const size of [0, 1, 2, 3, 49_151, 49_152, 49_153, 98_304, 98_305, 200_000])
    for (const prefix of ['', 'data:image/png;base64,']) {
      const bytes = randomBytes(size);
      const text = new Base64Text(bytes, prefix);
      const expected = prefix + bytes.toString('base64');
      assert.equal(text.length, expected.length);
      for (let time = 0; time < 2; time++) assert.ok(Buffer.concat([...text.pieces()]).equals(Buffer.from(expected)));
      assert.ok(String(text) === expected && JSON.stringify({ text }) === JSON.stringify({ text: expected }));
      for (const piece of text.pieces()) assert.ok(piece.length <= LONG_TEXT_LENGTH);
    }
});

test('ends early once the memory of its bytes was released', () => {
  const bytes = Buffer.allocUnsafeSlow(100_000).fill('a');
  const pieces = new Base64Text(bytes).pieces();
  assert.equal(pieces.next().value?.length, 65_536);
  (bytes.buffer as ArrayBuffer).transfer(0);
  assert.equal(pieces.next().done, true);
});

test('equals another text with the same prefix and bytes', () => {
  const text = new Base64Text(Buffer.from('a'), 'data:;base64,');
  assert.ok(text.equals(new Base64Text(Buffer.from('a'), 'data:;base64,')));
  for (const other of [new Base64Text(Buffer.from('a')), new Base64Text(Buffer.from('b'), 'data:;base64,')])
    assert.ok(!text.equals(other));
});
