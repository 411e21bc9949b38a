import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { UnsupportedRequestError } from '../upstreams/vendor-errors.ts';
import { applyExtraFields, type RequestBody, setPath } from './json-calls.ts';

test('a dotted path creates missing objects and does not change shared ones', () => {
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

test('no path reaches a prototype, leads through a value or beyond an array', () => {
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
