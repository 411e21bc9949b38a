import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { parseJson } from './json.ts';
import { rejectionOf } from './json-rejection.fixture.ts';
import { countCodePoints, hasOnlyWellFormedText, isWellFormedText, truncateCodePoints } from './well-formed-text.ts';

const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth);

describe('parseJson', () => {
  it('answers what JSON.parse answers for harmless documents', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 8 }), (value) => {
        const text = JSON.stringify(value);
        if (/__proto__|constructor/.test(text)) return;
        assert.deepEqual(parseJson(text), JSON.parse(text));
        assert.deepEqual(parseJson(Buffer.from(text)), JSON.parse(text));
      }),
    );
  });

  it('accepts 64 levels and refuses 65', () => {
    assert.doesNotThrow(() => parseJson(nested(64)));
    assert.equal(
      rejectionOf(() => parseJson(nested(65))),
      'depth',
    );
    assert.equal(
      rejectionOf(() => parseJson(`${'{"a":'.repeat(65)}1${'}'.repeat(65)}`)),
      'depth',
    );
  });

  it('refuses a million levels without overflowing', () => {
    assert.equal(
      rejectionOf(() => parseJson('['.repeat(1_000_000))),
      'depth',
    );
  });

  it('does not count brackets inside strings', () => {
    const text = JSON.stringify({ a: '['.repeat(500), b: '\\"[{'.repeat(100), c: '\\' });
    assert.deepEqual(parseJson(text), JSON.parse(text));
  });

  it('allows many containers side by side', () => {
    assert.equal(
      (parseJson(JSON.stringify(Array.from({ length: 5000 }, () => ({ a: [] })))) as unknown[]).length,
      5000,
    );
  });

  it('counts keys over the whole document', () => {
    const text = JSON.stringify({ a: 1, b: { c: ': : :', d: 2 } });
    assert.deepEqual(parseJson(text, { maxKeys: 4 }), JSON.parse(text));
    assert.equal(
      rejectionOf(() => parseJson(text, { maxKeys: 3 })),
      'keys',
    );
  });

  for (const text of [
    '{"__proto__":{"polluted":1}}',
    '{"a":[{"__proto__":null}]}',
    '{"\\u005f_proto__":{}}',
    '{"\\u005F\\u005Fproto\\u005F\\u005F":{}}',
    '{"__pr\\u006fto__":{}}',
    '{"constructor":{"prototype":{"polluted":1}}}',
    '{"x":{"\\u0063onstructor":{"protot\\u0079pe":{}}}}',
    '{"__proto__" : 1}',
  ]) {
    it(`refuses ${text}`, () => {
      assert.equal(
        rejectionOf(() => parseJson(text)),
        'prototype',
      );
    });
  }

  it('accepts the same words where they pollute nothing', () => {
    assert.deepEqual(parseJson('{"constructor":"Renzo Piano","prompt":"__proto__"}'), {
      constructor: 'Renzo Piano',
      prompt: '__proto__',
    });
  });

  for (const text of ['', '{', '{"a":1,}', "{'a':1}", '<html>', 'NaN', '"\n"', ']'.repeat(100), '"'.repeat(101)]) {
    it(`calls ${JSON.stringify(text.slice(0, 12))} a syntax error`, () => {
      assert.equal(
        rejectionOf(() => parseJson(text)),
        'syntax',
      );
    });
  }

  it('ignores a byte order mark', () => {
    assert.deepEqual(parseJson('\ufeff{"a":1}'), { a: 1 });
  });
});

describe('text', () => {
  it('refuses U+0000 and lone surrogates wherever they are', () => {
    for (const bad of ['\u0000', 'a\ud800', '\udc00b', '\udc00\ud800']) {
      assert.equal(isWellFormedText(bad), false);
      assert.equal(hasOnlyWellFormedText(bad), false);
      assert.equal(hasOnlyWellFormedText({ a: [1, { b: bad }] }), false);
      assert.equal(hasOnlyWellFormedText({ a: { [bad]: 1 } }), false);
    }
    assert.equal(hasOnlyWellFormedText({ a: ['\u{1f600}', null, true, 3, 'é'] }), true);
  });

  it('walks very deep values', () => {
    let value: unknown = '\u0000';
    for (let level = 0; level < 200_000; level++) value = [value];
    assert.equal(hasOnlyWellFormedText(value), false);
  });

  it('counts and cuts by code points', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.nat(40), (text, max) => {
        assert.equal(countCodePoints(text), [...text].length);
        assert.equal(truncateCodePoints(text, max), [...text].slice(0, max).join(''));
      }),
    );
  });
});
