import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { loadMedia } from '../../sandbox/media.ts';
import { BadVideoError, VideoCheck } from './media.ts';

const CLIP = loadMedia('wide.mp4').bytes;

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
      assert.equal(check(Buffer.concat([box(type, 24), box('mdat', 24), box('moov', 24)])).mimeType, 'video/mp4', type);
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
      loadMedia('thumbnail.webp').bytes,
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
    assert.throws(() => check(Buffer.concat([box('ftyp', 16), box('moov', 24), large.subarray(0, 12)])), BadVideoError);
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
