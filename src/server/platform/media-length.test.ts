import assert from 'node:assert/strict';
import { it } from 'node:test';
import { loadMedia } from '../../sandbox/media.ts';
import { measureSeconds, sniffMedia } from './media-length.ts';

const uint = (value: number, bytes = 4): Buffer => {
  const buffer = Buffer.alloc(bytes);
  buffer.writeUIntBE(value, 0, bytes);
  return buffer;
};
const box = (type: string, ...parts: readonly Buffer[]): Buffer => {
  const body = Buffer.concat(parts);
  return Buffer.concat([uint(body.length + 8), Buffer.from(type, 'latin1'), body]);
};
const mdhd = (scale: number, told: number) => box('mdhd', uint(0), uint(0), uint(0), uint(scale), uint(told), uint(0));
const tkhd = (track: number) => box('tkhd', uint(0), uint(0), uint(0), uint(track), uint(0), uint(0));
const stts = (...runs: readonly (readonly [count: number, ticks: number])[]) =>
  box('stts', uint(0), uint(runs.length), ...runs.flatMap(([count, ticks]) => [uint(count), uint(ticks)]));
const trak = (header: Buffer, table: Buffer) =>
  box('trak', tkhd(1), box('mdia', header, box('minf', box('stbl', table))));
const mp4 = (brand: string, ...boxes: readonly Buffer[]) => Buffer.concat([box('ftyp', Buffer.from(brand)), ...boxes]);

it('adds up the durations of samples, whatever the headers say', () => {
  const lying = mp4('isom', box('moov', trak(mdhd(1_000, 900_000), stts([48, 125], [1, 500]))), box('mdat'));
  assert.equal(measureSeconds(lying), 6.5);
  const two = mp4(
    'isom',
    box('mdat'),
    box('moov', trak(mdhd(1_000, 1), stts([4, 1_000])), trak(mdhd(10, 1), stts([70, 1]))),
  );
  assert.equal(measureSeconds(two), 7);
  assert.equal(measureSeconds(mp4('M4A ', box('moov', trak(mdhd(44_100, 0), stts([441, 100])))))?.toFixed(3), '1.000');
});

it('adds up the samples of fragments', () => {
  const traf = (run: Buffer) => box('moof', box('traf', box('tfhd', uint(0), uint(1)), run));
  const trex = box('mvex', box('trex', uint(0), uint(1), uint(1), uint(40), uint(0), uint(0)));
  const moov = box('moov', trak(mdhd(1_000, 0), stts()), trex);
  const standard = traf(box('trun', uint(0), uint(25)));
  const named = traf(box('trun', uint(0x100), uint(2), uint(500), uint(1_500)));
  assert.equal(measureSeconds(mp4('iso5', moov, standard, box('mdat'), named)), 3);
});

it('measures audio', () => {
  const header = Buffer.from('fffb9064', 'hex');
  const frame = Buffer.concat([header, Buffer.alloc(413)]);
  assert.equal(measureSeconds(Buffer.concat(Array(100).fill(frame)))?.toFixed(2), '2.61');
  const rate = Buffer.alloc(16);
  rate.writeUInt32LE(8_000, 8);
  const wav = Buffer.concat([
    Buffer.from('RIFF\0\0\0\0WAVEfmt \x10\0\0\0', 'latin1'),
    rate,
    Buffer.from('data\xff\xff\xff\xff', 'latin1'),
    Buffer.alloc(20_000),
  ]);
  assert.equal(measureSeconds(wav), 2.5);
  const position = Buffer.alloc(8);
  position.writeBigInt64LE(96_000n);
  const ogg = Buffer.concat([Buffer.from('OggS\0\x04', 'latin1'), position, Buffer.alloc(40)]);
  assert.equal(measureSeconds(ogg), 2);
});

it('measures WebM by the times of its blocks', () => {
  const element = (id: string, ...parts: readonly Buffer[]) => {
    const body = Buffer.concat(parts);
    return Buffer.concat([Buffer.from(id, 'hex'), uint(0x10000000 + body.length), body]);
  };
  const block = (ms: number) => element('a3', Buffer.from([0x81]), uint(ms, 2), Buffer.from([0]));
  const cluster = (ms: number, ...blocks: readonly Buffer[]) => element('1f43b675', element('e7', uint(ms)), ...blocks);
  const webm = Buffer.concat([
    element('1a45dfa3', Buffer.alloc(20)),
    element(
      '18538067',
      element('1549a966', element('2ad7b1', uint(1_000_000))),
      cluster(0, block(0), block(500)),
      cluster(1_000, block(0), block(500)),
    ),
  ]);
  assert.equal(measureSeconds(webm), 2);
});

it('tells files apart by their bytes, and says nothing about others', () => {
  for (const [name, type] of [
    ['image.png', 'image/png'],
    ['sea-1.mp4', 'video/mp4'],
    ['sea-1.webp', 'image/webp'],
  ] as const)
    assert.equal(sniffMedia(loadMedia(name).bytes)?.mediaType, type);
  assert.ok((measureSeconds(loadMedia('sea-1-silent.mp4').bytes) ?? 0) > 0);
  for (const text of ['', '<svg xmlns="x">', 'PK\x03\x04', '{"a":1}'])
    assert.deepEqual([sniffMedia(Buffer.from(text)), measureSeconds(Buffer.from(text))], [undefined, undefined]);
  const file = loadMedia('sea-1-silent.mp4').bytes;
  for (let size = 0; size < 2_000; size += 7) measureSeconds(file.subarray(0, size));
});
