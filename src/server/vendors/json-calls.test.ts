import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { describe, it, test } from 'node:test';
import fc from 'fast-check';
import { Base64Text } from '../platform/base64.ts';
import { UnsupportedRequestError } from '../upstreams/upstream.ts';
import type { RequestJson } from './adapter.ts';
import {
  applyExtraFields,
  LongJsonBody,
  type RequestBody,
  serializeJsonBody,
  setPath,
  withJsonBody,
} from './json-calls.ts';

describe('json calls', () => {
  const request = { method: 'POST', url: 'https://vendor.test/', headers: { authorization: 'Bearer k' } } as const;

  test('a small body is a string, and a request without one is unchanged', () => {
    const { headers, body } = withJsonBody(request, { prompt: 'a kite' });
    assert.deepEqual(headers, { authorization: 'Bearer k', 'content-type': 'application/json' });
    assert.equal(body, '{"prompt":"a kite"}');
    assert.equal(withJsonBody(request, undefined), request);
  });

  test('a body with a large image is sent with its length, one piece per turn of the event loop', async () => {
    const image = new Base64Text(Buffer.alloc(750_000, 'ABC'));
    const { headers, body } = withJsonBody(request, { prompt: '图', image });
    assert.ok(body instanceof Readable);
    let turns = 0;
    const count = (): void => {
      turns += 1;
      turn = setImmediate(count);
    };
    let turn = setImmediate(count);
    const bytes = await buffer(body);
    clearImmediate(turn);
    assert.equal(String(bytes), JSON.stringify({ prompt: '图', image }));
    assert.equal(headers?.['content-length'], String(bytes.length));
    assert.ok(turns >= 10, `${turns} turns of the event loop`);
  });
});

describe('request body', () => {
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
});

describe('serialize json body', () => {
  const image = (letter: string) => new Base64Text(Buffer.alloc(100_000, letter), 'data:image/png;base64,');

  const bodies: readonly (readonly [string, RequestJson])[] = [
    ['no image', { prompt: 'a kite', seconds: 5 }],
    ['one image', { model: 'm', image: image('A') }],
    ['several, in lists and objects', { first: image('A'), list: [image('B'), { url: image('C') }], last: 'é "x"' }],
    ['the same one twice', { image: image('A'), image_tail: image('A') }],
    ['a long string with quotes and another script', { image: image('A'), prompt: '"\\\n图'.repeat(30_000) }],
    ['more than ten', { images: Array.from({ length: 12 }, (_, index) => image(String.fromCharCode(65 + index))) }],
    ['only an image', image('A')],
    ['members without a value', { a: undefined, image: image('A'), list: [image('B'), {}, []] } as never],
    ['names with quotes', { 'a"b': [image('A'), null, true] }],
    ['bare Base64', { image: new Base64Text(Buffer.alloc(100_000, 'A')) }],
  ];

  const bytesOf = (body: string | LongJsonBody): Buffer =>
    typeof body === 'string' ? Buffer.from(body) : Buffer.concat([...body.pieces()]);

  describe('JSON of requests with images', () => {
    for (const [name, body] of bodies)
      it(`has the bytes and the length of JSON.stringify: ${name}`, () => {
        const serialized = serializeJsonBody(body);
        assert.equal(String(bytesOf(serialized)), JSON.stringify(body));
        if (typeof serialized !== 'string')
          assert.equal(serialized.byteLength, Buffer.byteLength(JSON.stringify(body)));
      });

    it('is sent in pieces if there is a large image, the same on each call, and as a string otherwise', () => {
      const serialized = serializeJsonBody({ image: image('A') });
      assert.ok(serialized instanceof LongJsonBody);
      assert.deepEqual(
        [...serialized.pieces()].map(({ length }) => length),
        [10, 22, 65_536, 65_536, 2_264, 2],
      );
      assert.deepEqual([...serialized.pieces()], [...serialized.pieces()]);
      assert.equal(typeof serializeJsonBody({ prompt: 'a kite' }), 'string');
      assert.equal(typeof serializeJsonBody({ prompt: 'a kite, '.repeat(10_000) }), 'string');
    });
  });
});
