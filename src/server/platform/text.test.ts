import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { hasWellFormedText } from './json.ts';
import { isWellFormedText, toWellFormedJson, toWellFormedText, truncateCodePoints } from './text.ts';

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

  it('writes JSON that contains no escaped U+0000 or lone surrogate', () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom('\ud83d', '\ude00', '\u0000', '\\', 'ud83d', 'u0000', '"', '\n')),
        (parts) => {
          const text = parts.join('');
          assert.deepEqual(JSON.parse(toWellFormedJson({ [text]: [text] })), {
            [toWellFormedText(text)]: [toWellFormedText(text)],
          });
        },
      ),
    );
  });

  it('truncates by code points', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.nat(40), (text, max) => {
        assert.equal(truncateCodePoints(text, max), [...text].slice(0, max).join(''));
      }),
    );
  });
});
