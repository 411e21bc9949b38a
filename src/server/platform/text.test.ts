import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { hasWellFormedText } from './json.ts';
import { countCodePoints, hasControlCharacter, isWellFormedText, truncateCodePoints } from './text.ts';

describe('text', () => {
  it('refuses U+0000 and lone surrogates at any position', () => {
    for (const bad of ['\u0000', 'a\ud800', '\udc00b', '\udc00\ud800']) {
      assert.equal(isWellFormedText(bad), false);
      assert.equal(hasWellFormedText(bad), false);
      assert.equal(hasWellFormedText({ a: [1, { b: bad }] }), false);
      assert.equal(hasWellFormedText({ a: { [bad]: 1 } }), false);
    }
    assert.equal(hasWellFormedText({ a: ['\u{1f600}', null, true, 3, 'é'] }), true);
  });

  it('walks very deep values', () => {
    let value: unknown = '\u0000';
    for (let level = 0; level < 200_000; level++) value = [value];
    assert.equal(hasWellFormedText(value), false);
  });

  it('counts and truncates by code points', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.nat(40), (text, max) => {
        assert.equal(countCodePoints(text), [...text].length);
        assert.equal(truncateCodePoints(text, max), [...text].slice(0, max).join(''));
      }),
    );
  });
});

describe('hasControlCharacter', () => {
  it('detects every byte below 0x20 and no other, at every position and alignment', () => {
    const memory = Buffer.alloc(64);
    for (let start = 0; start < 8; start++)
      for (let length = 0; length <= 12; length++)
        for (const around of [0x20, 0x41, 0x80, 0xff]) {
          // Bytes outside of the buffer must not matter.
          memory.fill(0);
          const bytes = memory.subarray(start, start + length).fill(around);
          assert.equal(hasControlCharacter(bytes), false, `${length} bytes from ${start}`);
          for (let at = 0; at < length; at++) {
            for (let byte = 0; byte < 256; byte++) {
              bytes[at] = byte;
              assert.equal(hasControlCharacter(bytes), byte < 0x20, `${byte} at ${at} of ${length} from ${start}`);
            }
            bytes[at] = around;
          }
        }
  });
});
