import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { describe, it } from 'node:test';
import { loadMedia } from '../../sandbox/media.ts';
import { BadVideoError, toRangeResponse, VideoCheck, validatePosterImage, verifyPartialContent } from './media.ts';

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

describe('validate poster image', () => {
  const WEBP = loadMedia('sea-1.webp').bytes;
  const JPEG = loadMedia('spritesheet.jpg').bytes;

  it('only a complete still JPEG or WebP image is a poster, without truncation or trailing bytes', () => {
    assert.equal(validatePosterImage(WEBP), 'image/webp');
    assert.equal(validatePosterImage(JPEG), 'image/jpeg');
    for (const whole of [WEBP, JPEG])
      for (const bad of [
        whole.subarray(0, -1),
        whole.subarray(0, whole.length >> 1),
        Buffer.concat([whole, Buffer.from('<script>')]),
        whole.subarray(1),
      ])
        assert.equal(validatePosterImage(bad), undefined);
    const animated = Buffer.from(WEBP);
    animated.write('ANIM', 12, 'latin1');
    for (const bad of [
      animated,
      loadMedia('image.png').bytes,
      loadMedia('sea-1-silent.mp4').bytes,
      Buffer.alloc(0),
      Buffer.alloc(64),
    ])
      assert.equal(validatePosterImage(bad), undefined);
  });
});

describe('verify partial content', () => {
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
});

describe('video check', () => {
  const CLIP = loadMedia('sea-1-silent.mp4').bytes;

  function check(bytes: Buffer, step = bytes.length) {
    const video = new VideoCheck();
    for (let at = 0; at < bytes.length; at += step) video.push(bytes.subarray(at, at + step));
    return video.end();
  }

  const box = (type: string, size: number, length = size): Buffer => {
    const bytes = Buffer.alloc(length);
    bytes.writeUInt32BE(size);
    bytes.write(type, 4, 'latin1');
    return bytes;
  };
  const WEBM = (size: number[], data: number) =>
    Buffer.concat([
      Buffer.from([0x1a, 0x45, 0xdf, 0xa3, 0x84, 1, 2, 3, 4, 0x18, 0x53, 0x80, 0x67, ...size]),
      Buffer.alloc(data),
    ]);

  describe('VideoCheck', () => {
    it('accepts a clip, however its bytes are split', () => {
      for (const step of [1, 3, 7, 8, 9, 15, 16, 17, 4096, CLIP.length])
        assert.deepEqual(check(CLIP, step), { mimeType: 'video/mp4', isLengthProven: true });
    });

    it('refuses a clip truncated at any position', () => {
      for (let length = 1; length < CLIP.length; length += 997)
        assert.throws(() => check(CLIP.subarray(0, length), 1_000), BadVideoError, `${length} bytes`);
      assert.throws(() => check(CLIP.subarray(0, CLIP.length - 1)), BadVideoError);
    });

    it('refuses a clip followed by a page', () => {
      const page = Buffer.from('<!DOCTYPE html><title>Gateway</title>');
      for (const tail of [page, Buffer.concat([Buffer.alloc(16), page])])
        for (const step of [1, 7, CLIP.length + 100])
          assert.throws(() => check(Buffer.concat([CLIP, tail]), step), BadVideoError);
    });

    it('treats fewer bytes than a box header after the last box, or zeros, as padding, which proves no length', () => {
      for (const tail of [
        Buffer.from('\n'),
        Buffer.from('\r\n'),
        Buffer.alloc(7, 0xff),
        Buffer.alloc(8),
        Buffer.alloc(9_000),
      ])
        for (const step of [1, 7, 4_096, CLIP.length + tail.length])
          assert.deepEqual(check(Buffer.concat([CLIP, tail]), step), { mimeType: 'video/mp4', isLengthProven: false });
    });

    it('reads boxes of any type in constant memory, and at most 10,000 of them', () => {
      const boxes = (count: number) =>
        Buffer.concat(Array.from({ length: count }, (_, n) => box(`b${String(n).padStart(3, '0')}`.slice(0, 4), 8)));
      const start = Buffer.concat([box('ftyp', 16), box('moov', 24), box('mdat', 24)]);
      assert.equal(check(Buffer.concat([start, boxes(9_997)])).isLengthProven, true);
      assert.throws(() => check(Buffer.concat([start, boxes(9_998)])), /more than 10000 boxes/);
    });

    it('accepts the different first box of older QuickTime files', () => {
      for (const type of ['wide', 'mdat', 'free', 'skip', 'pnot'])
        assert.equal(
          check(Buffer.concat([box(type, 24), box('mdat', 24), box('moov', 24)])).mimeType,
          'video/mp4',
          type,
        );
    });

    it('reports whether another download may have more: for missing bytes, not for other content', () => {
      const isCut = (bytes: Buffer) => {
        try {
          check(bytes);
        } catch (error) {
          return (error as BadVideoError).isCut;
        }
        return undefined;
      };
      assert.equal(isCut(CLIP.subarray(0, CLIP.length - 1)), true);
      assert.equal(isCut(CLIP.subarray(0, 5)), true);
      assert.equal(isCut(Buffer.concat([box('ftyp', 16), box('mdat', 24)])), false);
      assert.equal(isCut(Buffer.alloc(4_096, 7)), false);
    });

    it('refuses pages, images and empty input', () => {
      for (const bytes of [
        Buffer.from('<!DOCTYPE html><html>'),
        Buffer.from('{"error": "expired"}'),
        loadMedia('sea-1.webp').bytes,
        Buffer.alloc(0),
        Buffer.alloc(40),
      ])
        assert.throws(() => check(bytes), BadVideoError);
    });

    it('accepts 64-bit boxes, and one that extends to the end, which proves no length', () => {
      const large = box('mdat', 1, 40);
      large.writeBigUInt64BE(40n, 8);
      const whole = Buffer.concat([box('ftyp', 16), box('moov', 24), large]);
      for (const step of [1, 5, 100]) assert.equal(check(whole, step).isLengthProven, true);
      assert.throws(
        () => check(Buffer.concat([box('ftyp', 16), box('moov', 24), large.subarray(0, 12)])),
        BadVideoError,
      );
      const open = Buffer.concat([box('ftyp', 16), box('moov', 24), box('mdat', 0, 30)]);
      assert.equal(check(open, 10).isLengthProven, false);
    });

    it('refuses boxes smaller than their header, without a type, or without media', () => {
      const start = box('ftyp', 16);
      for (const bad of [box('moov', 7, 24), box('\u0001\u0002\u0003\u0004', 24), box('moov', 24)])
        assert.throws(() => check(Buffer.concat([start, bad])), BadVideoError);
    });

    it('accepts WebM up to the end of its segment, if that declares a size', () => {
      assert.deepEqual(check(WEBM([0x9e], 30), 5), { mimeType: 'video/webm', isLengthProven: true });
      assert.throws(() => check(WEBM([0x9e], 29), 5), BadVideoError);
      assert.equal(check(WEBM([0x01, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff], 30), 5).isLengthProven, false);
    });
  });
});
