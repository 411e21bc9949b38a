import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { USER_CODE_ALPHABET } from '../../contract/device-auth.ts';
import { formatUserCode, newUserCode, parseUserCode, toSingleLine } from './codes.ts';

describe('user codes', () => {
  it('T01: use the whole alphabet evenly', () => {
    const counts = new Map<string, number>();
    const codes = 1_000_000;
    for (let i = 0; i < codes; i++)
      for (const letter of newUserCode()) counts.set(letter, (counts.get(letter) ?? 0) + 1);
    assert.deepEqual([...counts.keys()].sort().join(''), USER_CODE_ALPHABET);
    const expected = (codes * 8) / 20;
    const chiSquared = [...counts.values()].reduce((sum, n) => sum + (n - expected) ** 2 / expected, 0);
    // With 19 degrees of freedom, one run in 100,000 exceeds 57.
    assert.ok(chiSquared < 57, `chi squared ${chiSquared}`);
  });

  it('T21: are accepted in any case, width, dashes and spacing, and no other variation', () => {
    for (const typed of [
      'BCDF-GHJK',
      'bcdfghjk',
      ' bcdf ghjk ',
      'BCDF–GHJK',
      'b c d f g h j k',
      'BCDF\u00A0GHJK',
      'ＢＣＤＦ－ＧＨＪＫ',
      'ｂｃｄｆ　ｇｈｊｋ',
    ]) {
      assert.equal(parseUserCode(typed), 'BCDFGHJK', typed);
    }
    for (const typed of ['', 'BCDF-GHJ', 'BCDF-GHJKL', 'ABCD-EFGH', 'BCDF_GHJK', 'ßCDFGHJ']) {
      assert.equal(parseUserCode(typed), undefined, typed);
    }
    assert.equal(formatUserCode('BCDFGHJK'), 'BCDF-GHJK');
  });

  it('T15: come with names free of invisible characters', () => {
    assert.equal(toSingleLine('a\u202Eb\u0000c\u200Bd\ne', 100), 'a b c d e');
    assert.equal([...toSingleLine('😀'.repeat(150), 100)].length, 100);
    assert.equal(toSingleLine(`e${'\u0301'.repeat(50)}`, 100), 'e\u0301\u0301');
  });
});

describe('typed user codes', () => {
  it('are shown in two halves and accepted in any spelling', () => {
    assert.equal(formatUserCode('BCDFGHJK'), 'BCDF-GHJK');
    for (const typed of ['BCDFGHJK', 'bcdf-ghjk', ' b c d f\u2013g h j k\t'])
      assert.equal(parseUserCode(typed), 'BCDFGHJK', typed);
    for (const typed of ['', 'BCDFGHJ', 'BCDFGHJKL', 'BCDFGHJA', 'BCDFGHJ1'])
      assert.equal(parseUserCode(typed), undefined);
  });

  it('come with names that fit on one line', () => {
    assert.equal(toSingleLine(' a\u202e\n b\u0000  c ', 99), 'a b c');
    assert.equal(toSingleLine(`e${'\u0301'.repeat(9)}`, 99), `e${'\u0301'.repeat(2)}`);
    assert.equal(toSingleLine('abcdef', 4).length <= 4, true);
  });
});
