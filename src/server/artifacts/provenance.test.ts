import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadMedia } from '../../sandbox/media.ts';
import { findProvenance } from './provenance.ts';

const box = (type: string, ...content: Buffer[]): Buffer => {
  const body = Buffer.concat(content);
  const header = Buffer.alloc(8);
  header.writeUInt32BE(body.length + 8);
  header.write(type, 4, 'latin1');
  return Buffer.concat([header, body]);
};
const largeBox = (type: string, content: Buffer): Buffer => {
  const header = Buffer.alloc(16);
  header.writeUInt32BE(1);
  header.write(type, 4, 'latin1');
  header.writeBigUInt64BE(BigInt(content.length + 16), 8);
  return Buffer.concat([header, content]);
};
const C2PA = Buffer.from('d8fec3d61b0e483c92975828877ec481', 'hex');
const marksOf = (file: Buffer) =>
  findProvenance({ read: async (from, to) => file.subarray(from, to + 1), bytes: file.length });

test('finds a C2PA manifest and AIGC metadata, and neither in a file without them', async () => {
  const media = box('mdat', Buffer.from('AIGC and more'), C2PA);
  const [type, movie] = [box('ftyp', Buffer.from('isom')), box('moov', box('mvhd', Buffer.alloc(20)))];
  const manifest = Buffer.concat([C2PA, Buffer.from('jumb')]);
  const labelled = box('moov', box('udta', box('meta', Buffer.from('mdtaAIGC{"Label":"1"}'))));
  for (const [file, c2pa, aigc] of [
    [[type, movie, media], 'absent', false],
    [[type, box('uuid', manifest), movie, media], 'present', false],
    [[type, largeBox('uuid', manifest), labelled, media], 'present', true],
    [[type, media, labelled], 'absent', true],
    [[type, box('uuid', Buffer.alloc(20), C2PA), movie, media], 'absent', false],
    [[loadMedia('sea-1-silent.mp4').bytes], 'absent', false],
  ] as const)
    assert.deepEqual(await marksOf(Buffer.concat(file)), { c2pa, signer: '', aigc });
});

test('stops at a broken box', async () => {
  for (const bytes of [
    [],
    [0, 0, 0, 3, 65, 65, 65, 65],
    [0, 0, 0, 1, 65, 65, 65, 65],
    [255, 255, 255, 255, 1, 2, 3, 4],
  ])
    assert.deepEqual(await marksOf(Buffer.from(bytes)), { c2pa: 'absent', signer: '', aigc: false });
});
