import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { acceptsGzip, compressResponse } from './route-registry.ts';

const LONG = JSON.stringify(Array.from({ length: 500 }, (_, index) => ({ id: `model-${index}` })));

async function send(payload: unknown, accepted?: string) {
  const headers = new Map<string, unknown>([['content-length', LONG.length]]);
  const reply = {
    header: (name: string, value: unknown) => {
      headers.set(name, value);
      return reply;
    },
    removeHeader: (name: string) => {
      headers.delete(name);
      return reply;
    },
  };
  const request = { headers: accepted === undefined ? {} : { 'accept-encoding': accepted } };
  return { headers, body: await compressResponse(request, reply as never, payload) };
}

test('a large body is sent as gzip if accepted, with a Vary header', async () => {
  const { headers, body } = await send(LONG, 'br, gzip;q=0.8');
  assert.ok(Buffer.isBuffer(body) && body.length < LONG.length / 5);
  assert.equal(gunzipSync(body).toString(), LONG);
  assert.deepEqual(
    [headers.get('content-encoding'), headers.get('vary'), headers.get('content-length')],
    ['gzip', 'Accept-Encoding', undefined],
  );
  const plain = await send(LONG);
  assert.deepEqual([plain.body, plain.headers.get('content-encoding')], [LONG, undefined]);
  assert.equal(plain.headers.get('vary'), 'Accept-Encoding');
});

test('small bodies and bodies that are not text stay uncompressed', async () => {
  for (const payload of ['{}', null, Buffer.alloc(5_000)]) assert.equal((await send(payload, 'gzip')).body, payload);
});

test('gzip is accepted when it is named, with or without a weight', () => {
  for (const header of ['gzip', 'GZIP', 'deflate, gzip;q=0.1', 'gzip; q=1'])
    assert.equal(acceptsGzip(header), true, header);
  for (const header of ['', 'identity', 'gzip;q=0', 'gzip; q=0.000', 'br', 'x-gzip', undefined])
    assert.equal(acceptsGzip(header), false, String(header));
});
