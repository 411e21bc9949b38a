import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { describe, it } from 'node:test';
import { verifyPartialContent } from './media.ts';

const respond = (headers: Record<string, string>, text = '0123456789') => ({
  status: 206,
  headers,
  body: Readable.from([Buffer.from(text.slice(0, 4)), Buffer.from(text.slice(4))]),
});

describe('partial content from another host', () => {
  it('with the right length passes, and always gets a Content-Length', async () => {
    const lengths: Record<string, string>[] = [{ 'content-length': '10' }, {}];
    for (const length of lengths) {
      const part = verifyPartialContent(respond({ 'content-range': 'bytes 5-14/20', ...length }));
      assert.equal(part?.headers['content-length'], '10');
      assert.equal((await buffer(part.body)).toString(), '0123456789');
    }
  });

  it('is refused without a usable Content-Range, or with another declared length', () => {
    const refused: [contentRange: string | undefined, length: string | undefined][] = [
      [undefined, '10'],
      ['bytes */20', '10'],
      ['bytes 9-5/20', undefined],
      ['bytes 15-24/20', '10'],
      ['items 5-14/20', '10'],
      ['bytes 5-14/20', '5'],
      ['bytes 5-14/*', '11'],
    ];
    for (const [range, length] of refused) {
      const response = respond({
        ...(range !== undefined && { 'content-range': range }),
        ...(length !== undefined && { 'content-length': length }),
      });
      assert.equal(verifyPartialContent(response), undefined, `${range} ${length}`);
      assert.ok(response.body.destroyed);
    }
  });

  it('is aborted when it turns out shorter or longer', async () => {
    for (const last of [12, 16]) {
      const part = verifyPartialContent(respond({ 'content-range': `bytes 5-${last}/20` }));
      assert.ok(part);
      await assert.rejects(buffer(part.body), /a part of/);
    }
  });
});
