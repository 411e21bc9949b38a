import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { acceptsCoding, compressResponse } from './compression.ts';

describe('compression of responses', () => {
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

  for (const [accepted, coding, decompress] of [
    ['gzip, br', 'br', brotliDecompressSync],
    ['br;q=0, gzip;q=0.8', 'gzip', gunzipSync],
  ] as const)
    test(`a large body is sent as ${coding} to a caller who accepts ${accepted}, with a Vary header`, async () => {
      const { headers, body } = await send(LONG, accepted);
      assert.ok(Buffer.isBuffer(body) && body.length < LONG.length / 5);
      assert.equal(decompress(body).toString(), LONG);
      assert.deepEqual(
        [headers.get('content-encoding'), headers.get('vary'), headers.get('content-length')],
        [coding, 'Accept-Encoding', undefined],
      );
    });

  test('a large body stays as it is for a caller who accepts no coding', async () => {
    const { headers, body } = await send(LONG);
    assert.deepEqual([body, headers.get('content-encoding')], [LONG, undefined]);
    assert.equal(headers.get('vary'), 'Accept-Encoding');
  });

  test('small bodies and bodies that are not text stay uncompressed', async () => {
    for (const payload of ['{}', null, Buffer.alloc(5_000)]) assert.equal((await send(payload, 'gzip')).body, payload);
  });

  test('a coding is accepted when it is named, with or without a weight', () => {
    for (const header of ['gzip', 'GZIP', 'deflate, gzip;q=0.1', 'gzip; q=1'])
      assert.equal(acceptsCoding(header, 'gzip'), true, header);
    for (const header of ['', 'identity', 'gzip;q=0', 'gzip; q=0.000', 'br', 'x-gzip', undefined])
      assert.equal(acceptsCoding(header, 'gzip'), false, String(header));
  });
});
