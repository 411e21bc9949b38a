import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type FileRequest, toFileResponse } from './artifact-reader.ts';

const FILE = { bytes: 10, mimeType: 'video/mp4', etag: '"abc"', modifiedAt: Date.UTC(2026, 0, 2, 3, 4, 5, 678) };
const DATE = 'Fri, 02 Jan 2026 03:04:05 GMT';

describe('the response for a stored file (RFC 9110 sections 13 and 14)', () => {
  const cases: [request: FileRequest, status: number, part?: [number, number]][] = [
    [{}, 200, [0, 9]],
    [{ range: 'bytes=2-4' }, 206, [2, 4]],
    [{ range: 'bytes=-3' }, 206, [7, 9]],
    [{ range: 'bytes=10-' }, 416],
    [{ range: 'bytes=0-1,3-4' }, 200, [0, 9]],
    [{ range: 'bytes=2-4', ifRange: '"abc"' }, 206, [2, 4]],
    [{ range: 'bytes=2-4', ifRange: DATE }, 206, [2, 4]],
    // Another version, a weak tag or another date: the whole file is sent.
    [{ range: 'bytes=2-4', ifRange: '"abd"' }, 200, [0, 9]],
    [{ range: 'bytes=2-4', ifRange: 'W/"abc"' }, 200, [0, 9]],
    [{ range: 'bytes=2-4', ifRange: 'Fri, 02 Jan 2026 03:04:06 GMT' }, 200, [0, 9]],
    [{ ifNoneMatch: '"abc"' }, 304],
    [{ ifNoneMatch: '"x", W/"abc"' }, 304],
    [{ ifNoneMatch: '*', range: 'bytes=0-1' }, 304],
    [{ ifNoneMatch: '"x"', range: 'bytes=0-1' }, 206, [0, 1]],
    [{ ifModifiedSince: DATE }, 304],
    [{ ifModifiedSince: 'Fri, 02 Jan 2026 03:04:04 GMT' }, 200, [0, 9]],
    [{ ifModifiedSince: 'yesterday' }, 200, [0, 9]],
    [{ ifNoneMatch: '"x"', ifModifiedSince: DATE }, 200, [0, 9]],
    [{ ifMatch: '"x", "abc"', range: 'bytes=2-4' }, 206, [2, 4]],
    [{ ifMatch: '*' }, 200, [0, 9]],
    [{ ifMatch: '"abc"', ifUnmodifiedSince: 'Fri, 02 Jan 2026 03:04:04 GMT' }, 200, [0, 9]],
    [{ ifMatch: '"abc"', ifNoneMatch: '"abc"' }, 304],
    [{ ifUnmodifiedSince: DATE }, 200, [0, 9]],
    [{ ifUnmodifiedSince: 'yesterday' }, 200, [0, 9]],
  ];
  for (const [request, status, part] of cases)
    it(`${JSON.stringify(request)}: ${status}`, () => {
      const response = toFileResponse(FILE, request);
      assert.equal(response.status, status);
      assert.deepEqual(response.part && [response.part.start, response.part.end], part);
      assert.equal(response.headers.etag, '"abc"');
      assert.equal(response.headers['last-modified'], DATE);
      if (part !== undefined) assert.equal(response.headers['content-length'], String(part[1] - part[0] + 1));
      if (status === 206) assert.equal(response.headers['content-range'], `bytes ${part?.join('-')}/10`);
      if (status === 416) assert.equal(response.headers['content-range'], 'bytes */10');
    });

  for (const request of [
    { ifMatch: '"x"' },
    { ifMatch: 'W/"abc"' },
    { ifMatch: '"x"', ifNoneMatch: '"abc"', range: 'bytes=10-' },
    { ifUnmodifiedSince: 'Fri, 02 Jan 2026 03:04:04 GMT' },
  ])
    it(`${JSON.stringify(request)}: 412`, () => {
      assert.throws(() => toFileResponse(FILE, request), { code: 'precondition_failed' });
    });

  it('without validators, a conditional range gets the whole file', () => {
    const growing = { bytes: 10, mimeType: 'video/mp4' };
    assert.equal(toFileResponse(growing, { range: 'bytes=2-4', ifRange: '"abc"' }).status, 200);
    assert.deepEqual(toFileResponse(growing, { ifNoneMatch: '*' }).headers, {
      'content-type': 'video/mp4',
      'accept-ranges': 'bytes',
      'content-length': '10',
    });
  });
});
