import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { findRegexProblem } from './model-admin.ts';

describe('the check of regular expressions in a media schema', () => {
  const safe = [
    '^[a-z]+$',
    '^(?:[^"\\\\]|\\\\.)*$',
    '^(?=a)[\\p{L} ]{1,50}$',
    '^\\d{4}-\\d{2}$',
    '^(16:9|9:16)$',
    '^[一-龥]{0,200}$',
    '^\\w+(?:,\\w+)*$',
    '^(?:\\d{1,3}\\.){3}\\d{1,3}$',
    '^(?:ab|cd)+$',
    '^#[0-9a-f]{6}$',
  ];
  for (const pattern of safe) it(`accepts ${pattern}`, () => assert.equal(findRegexProblem(pattern), undefined));

  const slow = [
    '(a+)+$',
    '^(\\d+)*$',
    '(x+x+)+y',
    '(\\s*\\w+\\s*,?)+$',
    '^(é+)+$',
    '^(ä|ää)+$',
    '^([一-龥]+,?)+$',
    '(?:€€|€)*!$',
    '^(\\p{L}+)+$',
    // Ranges written as escapes, whose characters do not appear literally in the expression.
    '^([\\u4e01-\\u9fff]+)+$',
    '^(?:[\\u0400-\\u042f]+)+$',
    '^(?:[\\u{3041}-\\u{3096}]+\\s?)+$',
    '^(?:[a-z]|[c-e])+$',
    '^(?:,\\w*\\d*)*$',
    '^(?:(?:a|b)*)*$',
    '^((?=a)a*)+$',
    '^(?:a{1,30}){20}$',
    '^(?:,[^;]*)*$',
  ];
  for (const pattern of slow)
    it(`T69: refuses ${pattern}, which backtracks catastrophically`, () =>
      assert.equal(findRegexProblem(pattern), 'repeats a part that can match one text in several ways'));

  it('T69: refuses expressions whose problem only a sample text reveals', () =>
    assert.equal(findRegexProblem(`^${'a?'.repeat(40)}${'a'.repeat(40)}$`), 'takes too long on some texts'));

  it('refuses invalid expressions and those longer than 500 characters', () => {
    assert.equal(findRegexProblem('(a'), 'is no regular expression');
    assert.equal(findRegexProblem('a'.repeat(501)), 'is longer than 500 characters');
  });
});
