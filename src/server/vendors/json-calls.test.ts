import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { test } from 'node:test';
import { withJsonBody } from './json-calls.ts';

const request = { method: 'POST', url: 'https://vendor.test/', headers: { authorization: 'Bearer k' } } as const;

test('a small body is text, and a request without one stays as it is', () => {
  const { headers, body } = withJsonBody(request, { prompt: 'a kite' });
  assert.deepEqual(headers, { authorization: 'Bearer k', 'content-type': 'application/json' });
  assert.equal(body, '{"prompt":"a kite"}');
  assert.equal(withJsonBody(request, undefined), request);
});

test('a body with a picture has its length in the headers, and everything else runs while it is made', async () => {
  const image = 'QUJD'.repeat(250_000);
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
