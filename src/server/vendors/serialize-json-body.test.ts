import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Base64Text } from '../platform/base64.ts';
import type { RequestJson } from './adapter.ts';
import { LongJsonBody, serializeJsonBody } from './json-calls.ts';

const picture = (letter: string) => new Base64Text(Buffer.alloc(100_000, letter), 'data:image/png;base64,');

const bodies: readonly (readonly [string, RequestJson])[] = [
  ['no image', { prompt: 'a kite', seconds: 5 }],
  ['one image', { model: 'm', image: picture('A') }],
  [
    'several, in lists and objects',
    { first: picture('A'), list: [picture('B'), { url: picture('C') }], last: 'é "x"' },
  ],
  ['the same one twice', { image: picture('A'), image_tail: picture('A') }],
  ['a long string with quotes and another script', { image: picture('A'), prompt: '"\\\n图'.repeat(30_000) }],
  ['more than ten', { images: Array.from({ length: 12 }, (_, index) => picture(String.fromCharCode(65 + index))) }],
  ['only an image', picture('A')],
  ['members without a value', { a: undefined, image: picture('A'), list: [picture('B'), {}, []] } as never],
  ['names with quotes', { 'a"b': [picture('A'), null, true] }],
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
    const serialized = serializeJsonBody({ image: picture('A') });
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
