import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, it } from 'node:test';
import {
  Base64OfFile,
  isSameText,
  LONG_TEXT_LENGTH,
  type LongText,
  PrefixedText,
  TextInBytes,
  TextInString,
} from './long-text.ts';

/** Around the size of a piece, which is 48 KiB, and a few besides. */
const SIZES = [0, 1, 2, 3, 49_151, 49_152, 49_153, 98_304, 98_305, 200_000];
const textOf = (text: LongText): string => Buffer.concat([...text.pieces()]).toString('latin1');

describe('a long text', () => {
  for (const size of SIZES) {
    const bytes = randomBytes(size);
    const base64 = bytes.toString('base64');
    it(`of ${size} bytes has the characters and the length it says, each time it is read`, () => {
      for (const [text, expected] of [
        [new Base64OfFile(bytes), base64],
        [new TextInBytes(Buffer.from(base64)), base64],
        [new TextInString(base64), base64],
        [new PrefixedText('data:image/png;base64,', new Base64OfFile(bytes)), `data:image/png;base64,${base64}`],
      ] as const) {
        assert.equal(text.length, expected.length);
        for (let time = 0; time < 2; time++) assert.equal(textOf(text) === expected, true);
        assert.equal(String(text) === expected, true);
        for (const piece of text.pieces()) assert.ok(piece.length <= LONG_TEXT_LENGTH);
      }
    });
  }

  it('in the bytes of a body is read from any place, and without its first characters', () => {
    const text = new TextInBytes(Buffer.from(`data:,${'abc'.repeat(30_000)}==`));
    assert.deepEqual([text.slice(0, 6), text.slice(90_000), text.slice(5, 9)], ['data:,', 'abcabc==', ',abc']);
    assert.deepEqual([text.endsWith('=='), text.endsWith('c=')], [true, false]);
    assert.equal(text.skip(6).length, 90_002);
    assert.equal(text.skip(6).slice(0, 3), 'abc');
  });

  it('has pieces of its own, which last longer than the body', () => {
    const body = Buffer.alloc(100_000, 'a');
    const [first] = [...new TextInBytes(body).pieces()];
    body.fill('b');
    assert.equal(String(first), 'a'.repeat(49_152));
  });

  it('ends early where the memory of the body was given back meanwhile', () => {
    const body = Buffer.allocUnsafeSlow(100_000).fill('a');
    const pieces = new TextInBytes(body).pieces();
    assert.equal(pieces.next().value?.length, 49_152);
    (body.buffer as ArrayBuffer).transfer(0);
    assert.equal(pieces.next().done, true);
  });

  it('is the same as another by its characters', () => {
    const [one, two] = [randomBytes(90_000), randomBytes(90_000)];
    const text = new TextInBytes(Buffer.from(one.toString('base64')));
    for (const [other, isSame] of [
      [one.toString('base64'), true],
      [new TextInBytes(Buffer.from(one.toString('base64'))), true],
      [new Base64OfFile(one), true],
      [two.toString('base64'), false],
      [new TextInBytes(Buffer.from(two.toString('base64'))), false],
      [new Base64OfFile(two), false],
      ['', false],
    ] as const) {
      assert.equal(isSameText(text, other), isSame);
      assert.equal(isSameText(other, text), isSame);
    }
  });
});
