import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Base64Text } from '../platform/base64.ts';
import type { RequestJson } from './adapter.ts';
import { LongJsonBody, serializeJsonBody } from './json-calls.ts';

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
      if (typeof serialized !== 'string') assert.equal(serialized.byteLength, Buffer.byteLength(JSON.stringify(body)));
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
