import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Json } from './adapter-types.ts';
import { serializeJsonBody } from './serialize-json-body.ts';

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

describe('JSON of requests with pictures', () => {
  for (const [name, body] of bodies)
    it(`is the same bytes as JSON.stringify makes: ${name}`, () => {
      assert.equal(String(serializeJsonBody(body)), JSON.stringify(body));
    });

  it('is bytes where there is a picture, and text else', () => {
    assert.equal(Buffer.isBuffer(serializeJsonBody({ image: picture('A') })), true);
    assert.equal(typeof serializeJsonBody({ prompt: 'a kite' }), 'string');
  });
});
