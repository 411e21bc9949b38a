import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { findRegexProblem } from './find-regex-problem.ts';

describe('the check of regular expressions in a media schema', () => {
  const safe = [
    '^[a-z]+$',
    '^(?:[^"\\\\]|\\\\.)*$',
    '^(?=a)[\\p{L} ]{1,50}$',
    '^\\d{4}-\\d{2}$',
    '^(16:9|9:16)$',
    '^[一-龥]{0,200}$',
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
  ];
  for (const pattern of slow)
    it(`refuses ${pattern}, which backtracks without end`, () =>
      assert.equal(findRegexProblem(pattern), 'takes too long on some texts'));

  it('refuses what is no expression or longer than 500 characters', () => {
    assert.equal(findRegexProblem('(a'), 'is no regular expression');
    assert.equal(findRegexProblem('a'.repeat(501)), 'is longer than 500 characters');
  });
});
