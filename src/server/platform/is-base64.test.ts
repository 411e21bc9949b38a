import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { seededRandom } from '../../../test/seeded-random.ts';
import { isBase64 as isBase64Text, TextInBytes } from './long-text.ts';

/** Of a text and of its bytes, which must agree. */
function isBase64(text: string): boolean {
  const found = isBase64Text(text);
  // At even and at odd places of the memory.
  for (const before of ['', '-'])
    assert.equal(
      isBase64Text(new TextInBytes(Buffer.from(before + text).subarray(before.length))),
      found,
      JSON.stringify(text.slice(0, 99)),
    );
  return found;
}

/** The definition, character by character. */
const byDefinition = (text: string): boolean => text.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(text);

test('texts of bytes of any number are Base64, with padding alone', () => {
  for (const size of [0, 1, 2, 3, 48, 49_150, 49_151, 49_152, 49_153, 200_000]) {
    const text = randomBytes(size).toString('base64');
    assert.ok(isBase64(text), `${size} bytes`);
    if (text.endsWith('=')) assert.ok(!isBase64(text.replaceAll('=', '')), `${size} bytes without padding`);
  }
});

test('one character that does not belong is found wherever it stands', () => {
  const text = randomBytes(150_000).toString('base64');
  for (const character of ['-', '_', '=', ' ', '\n', '"', '\\', '\u0000', '\u00e9', '\u0141', '\ud83d'])
    for (const at of [0, 1, 65_534, 65_535, 65_536, 131_071, text.length - 3, text.length - 2])
      assert.ok(!isBase64(text.slice(0, at) + character + text.slice(at + 1)), `${JSON.stringify(character)} at ${at}`);
});

test('short texts of all kinds are told apart as by definition', () => {
  const random = seededRandom(20_261_127);
  const pick = (from: string): string => from[Math.floor(random() * from.length)] ?? '';
  let accepted = 0;
  for (let round = 0; round < 100_000; round++) {
    const length = 1 + Math.floor(random() * 24);
    const characters = Array.from({ length }, () => pick(random() < 0.97 ? 'ABYZabyz0189+/' : '=-_ \n"\u0141\u00e9:'));
    const text = characters.join('') + '='.repeat(Math.floor(random() * 3));
    assert.equal(isBase64(text), byDefinition(text), JSON.stringify(text));
    if (isBase64(text)) accepted++;
  }
  assert.ok(accepted > 10_000, `${accepted} of them were Base64`);
});
