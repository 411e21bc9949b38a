import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Base64OfFile, PrefixedText, TextInBytes } from '../platform/long-text.ts';
import type { Json } from './adapter.ts';
import { LongJsonBody, serializeJsonBody } from './json-calls.ts';

const picture = (letter: string): string => `data:image/png;base64,${letter.repeat(99_998)}==`;

const bodies: readonly (readonly [string, Json])[] = [
  ['no long text', { prompt: 'a kite', seconds: 5 }],
  ['one picture', { model: 'm', image: picture('A') }],
  [
    'several, in lists and objects',
    { first: picture('A'), list: [picture('B'), { url: picture('C') }], last: 'é "x"' },
  ],
  ['the same one twice', { image: picture('A'), image_tail: picture('A') }],
  ['a long text with quotes and another script', { image: picture('A'), prompt: '"\\\n图'.repeat(30_000) }],
  ['more than ten', { images: Array.from({ length: 12 }, (_, index) => picture(String.fromCharCode(65 + index))) }],
  ['only a picture', picture('A')],
  ['text like the spot a picture is replaced by', { prompt: '\\u00000 "\\u00001"', image: picture('A') }],
];

const bytesOf = (body: string | LongJsonBody): Buffer =>
  typeof body === 'string' ? Buffer.from(body) : Buffer.concat([...body.pieces()]);

describe('JSON of requests with pictures', () => {
  for (const [name, body] of bodies)
    it(`is the same bytes as JSON.stringify makes, and as many as it says: ${name}`, () => {
      const serialized = serializeJsonBody(body);
      assert.equal(String(bytesOf(serialized)), JSON.stringify(body));
      if (typeof serialized !== 'string') assert.equal(serialized.byteLength, Buffer.byteLength(JSON.stringify(body)));
    });

  it('is the same whether a picture is a text, in the bytes of a body, or a file', () => {
    const file = Buffer.alloc(100_000, 'picture');
    const base64 = file.toString('base64');
    const expected = { prompt: '图 "x"', images: [{ url: `data:image/png;base64,${base64}` }, base64], last: 1 };
    for (const text of [new Base64OfFile(file), new TextInBytes(Buffer.from(base64))]) {
      const images = [{ url: new PrefixedText('data:image/png;base64,', text) }, text];
      const serialized = serializeJsonBody({ ...expected, images });
      assert.ok(serialized instanceof LongJsonBody);
      assert.equal(String(bytesOf(serialized)) === JSON.stringify(expected), true);
      assert.equal(serialized.byteLength, Buffer.byteLength(JSON.stringify(expected)));
    }
  });

  it('is made in pieces where there is a picture, again where it is asked for again, and text else', () => {
    const serialized = serializeJsonBody({ image: picture('A') });
    assert.ok(serialized instanceof LongJsonBody);
    assert.deepEqual(
      [...serialized.pieces()].map(({ length }) => length),
      [10, 65_536, 34_486, 2],
    );
    assert.deepEqual([...serialized.pieces()], [...serialized.pieces()]);
    assert.equal(typeof serializeJsonBody({ prompt: 'a kite' }), 'string');
    assert.equal(typeof serializeJsonBody({ prompt: 'a kite, '.repeat(10_000) }), 'string');
  });
});
