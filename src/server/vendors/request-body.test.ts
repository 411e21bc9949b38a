import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { UnsupportedRequestError } from '../upstreams/vendor-errors.ts';
import { matchAspectRatio, parseSeconds } from './parse-seconds-ratio-and-price-factors.ts';
import { applyExtraFields, type RequestBody, setPath } from './request-body.ts';

test('a dotted path makes the objects on its way and leaves what it shares alone', () => {
  const shared = { seed: 1 };
  const body: RequestBody = { parameters: shared, content: [{ type: 'text' }] };
  applyExtraFields(body, [
    { path: 'parameters.watermark', value: false },
    { path: 'input.media.url', value: 'x' },
    { path: 'content.0.text', value: 'a cat' },
    { path: 'content.1', value: { type: 'image' } },
  ]);
  assert.deepEqual(body, {
    parameters: { seed: 1, watermark: false },
    input: { media: { url: 'x' } },
    content: [{ type: 'text', text: 'a cat' }, { type: 'image' }],
  });
  assert.deepEqual(shared, { seed: 1 });
});

test('no path reaches a prototype, leads through a value or past an array', () => {
  for (const path of [
    '__proto__.polluted',
    'a.__proto__.polluted',
    'constructor.prototype.polluted',
    'prototype',
    '',
    'a..b',
    '.a',
    'a.',
    'prompt.length',
    'list.5',
    'list.length',
    'list.-1',
  ]) {
    assert.throws(() => setPath({ prompt: 'x', a: {}, list: [] }, path, true), UnsupportedRequestError, path);
  }
  fc.assert(
    fc.property(
      fc.array(fc.constantFrom('__proto__', 'constructor', 'prototype', 'a', '0'), { minLength: 1 }),
      (keys) => {
        try {
          setPath({}, keys.join('.'), 'polluted');
        } catch (error) {
          assert.ok(error instanceof UnsupportedRequestError);
        }
        assert.equal(({} as { a?: unknown }).a, undefined);
      },
    ),
  );
});

test('seconds are whole and bounded, whether written as a number or as text', () => {
  assert.equal(parseSeconds('10', 'duration'), 10);
  assert.equal(parseSeconds(5, 'duration'), 5);
  for (const value of [0, -5, 1.5, '5.5', '1e3', '', 3_601, '99999', null, undefined, Number.NaN, [5], true]) {
    assert.throws(() => parseSeconds(value, 'duration'), UnsupportedRequestError, String(value));
  }
});

test('a size names a ratio only when it has one', () => {
  const ratios = ['16:9', '9:16', '1:1'];
  assert.equal(matchAspectRatio('1280x720', ratios), '16:9');
  assert.equal(matchAspectRatio('1080*1920', ratios), '9:16');
  assert.equal(matchAspectRatio('512x512', ratios), '1:1');
  assert.equal(matchAspectRatio('1024x1792', ratios), '9:16');
  for (const size of ['720P', '1024x1536', '0x0', 'x', '1280x', ''])
    assert.equal(matchAspectRatio(size, ratios), undefined, size);
});
