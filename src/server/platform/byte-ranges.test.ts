import assert from 'node:assert/strict';
import { buffer } from 'node:stream/consumers';
import { describe, it } from 'node:test';
import { toRangeResponse } from './media.ts';

describe('byte ranges of buffered files (RFC 9110, section 14)', () => {
  const file = Buffer.from('0123456789');
  const served: [range: string | undefined, status: number, body: string, contentRange?: string][] = [
    [undefined, 200, '0123456789'],
    ['bytes=0-3', 206, '0123', 'bytes 0-3/10'],
    ['bytes=4-', 206, '456789', 'bytes 4-9/10'],
    ['bytes=4-999', 206, '456789', 'bytes 4-9/10'],
    ['bytes=-3', 206, '789', 'bytes 7-9/10'],
    // A suffix longer than the file selects the entire file.
    ['bytes=-999', 206, '0123456789', 'bytes 0-9/10'],
    ['bytes=10-', 416, '', 'bytes */10'],
    ['bytes=-0', 416, '', 'bytes */10'],
    // An end before the start makes the header invalid, and an invalid header is ignored.
    ['bytes=5-2', 200, '0123456789'],
    ['bytes=0-1,4-5', 200, '0123456789'],
    ['items=0-1', 200, '0123456789'],
  ];
  for (const [range, status, body, contentRange] of served)
    it(`${range ?? 'no range'}: ${status}`, async () => {
      const response = toRangeResponse(file, 'video/mp4', range);
      assert.equal(response.status, status);
      assert.equal(response.headers['content-range'], contentRange);
      assert.equal(response.headers['content-length'], String(body.length));
      assert.equal((await buffer(response.body)).toString(), body);
    });
});
