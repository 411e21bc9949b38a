import assert from 'node:assert/strict';
import { test } from 'node:test';
import { UnsupportedRequestError } from '../upstreams/vendor-errors.ts';
import { matchAspectRatio, parseSeconds } from './metadata.ts';

test('seconds are whole and bounded, whether written as a number or as text', () => {
  assert.equal(parseSeconds('10', 'duration'), 10);
  assert.equal(parseSeconds(5, 'duration'), 5);
  for (const value of [0, -5, 1.5, '5.5', '1e3', '', 3_601, '99999', null, undefined, Number.NaN, [5], true]) {
    assert.throws(() => parseSeconds(value, 'duration'), UnsupportedRequestError, String(value));
  }
});

test('a size maps to a ratio only if it has one', () => {
  const ratios = ['16:9', '9:16', '1:1'];
  assert.equal(matchAspectRatio('1280x720', ratios), '16:9');
  assert.equal(matchAspectRatio('1080*1920', ratios), '9:16');
  assert.equal(matchAspectRatio('512x512', ratios), '1:1');
  assert.equal(matchAspectRatio('1024x1792', ratios), '9:16');
  for (const size of ['720P', '1024x1536', '0x0', 'x', '1280x', ''])
    assert.equal(matchAspectRatio(size, ratios), undefined, size);
});
