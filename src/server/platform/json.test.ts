import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { parseJson } from './json.ts';
import { catchJsonRejectionReason } from './rejection-reason.fixture.ts';

const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth);

describe('parseJson', () => {
  it('returns the result of JSON.parse for harmless documents', () => {
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
      catchJsonRejectionReason(() => parseJson(nested(65))),
      'depth',
    );
    assert.equal(
      catchJsonRejectionReason(() => parseJson(`${'{"a":'.repeat(65)}1${'}'.repeat(65)}`)),
      'depth',
    );
  });

  it('refuses a million levels without overflowing the stack', () => {
    assert.equal(
      catchJsonRejectionReason(() => parseJson('['.repeat(1_000_000))),
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
        catchJsonRejectionReason(() => parseJson(text)),
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
    it(`reports a syntax error for ${JSON.stringify(text.slice(0, 12))}`, () => {
      assert.equal(
        catchJsonRejectionReason(() => parseJson(text)),
        'syntax',
      );
    });
  }

  it('ignores a byte order mark', () => {
    assert.deepEqual(parseJson('\ufeff{"a":1}'), { a: 1 });
  });
});
