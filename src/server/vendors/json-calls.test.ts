import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { test } from 'node:test';
import { Base64Text } from '../platform/base64.ts';
import { withJsonBody } from './json-calls.ts';

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
