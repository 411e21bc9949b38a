import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { findProvenance } from './provenance.ts';

/** Clips of two seconds that another program (c2pa-ts 0.9.4) signed: `c2pa.hash.bmff.v2` and `.v3`, one per algorithm. */
const FOLDER = join(import.meta.dirname, '../../../test/artifacts/signed');
const CLIPS = readdirSync(FOLDER).map((name) => [name, readFileSync(join(FOLDER, name))] as const);
const [, CLIP] = CLIPS.find(([name]) => name === 'es256.mp4') ?? assert.fail();

const check = (file: Buffer) =>
  findProvenance({ read: async (start, end) => file.subarray(start, end + 1), bytes: file.length });
const stateOf = async (file: Buffer) => (await check(file)).c2pa;
const withText = (from: string, to: string): Buffer => Buffer.from(CLIP.toString('latin1').replace(from, to), 'latin1');

describe('C2PA manifests of MP4 files', () => {
  it('are valid with each algorithm, and name their signer', async () => {
    assert.deepEqual(
      CLIPS.map(([name]) => name),
      ['ed25519.mp4', 'es256.mp4', 'es384.mp4', 'ps256.mp4'],
    );
    for (const [name, clip] of CLIPS)
      assert.deepEqual(await check(clip), { c2pa: 'valid', signer: 'Example Camera Works', aigc: false }, name);
  });

  it('are invalid after a change of the media, the claim, an assertion or the signature', async () => {
    for (const [from, to] of [
      ['mdat\x00\x01', 'mdat\x01\x01'],
      ['xmp:iid:1', 'xmp:iid:2'],
      ['trainedAlgorithmicMedia', 'digitalCaptureAndMoreXX'],
      ['c2pa.created', 'c2pa.croated'],
      ['c2pa.hash.bmff.v3', 'c2pa.hash.bmff.v2'],
      ['Example Camera Works', 'Another Camera Works'],
    ] as const)
      assert.equal(await stateOf(withText(from, to)), 'invalid', from);
    const signature = Buffer.from(CLIP);
    // The last bytes of the manifest are the signature.
    const end = CLIP.indexOf('moov') - 4;
    signature.writeUInt8(signature.readUInt8(end - 1) ^ 1, end - 1);
    assert.equal(await stateOf(signature), 'invalid');
  });

  it('are invalid if boxes are moved, added or removed, but not if the name of the format changes', async () => {
    const start = CLIP.indexOf('free') - 4;
    const free = CLIP.subarray(start, start + 16);
    const [before, after] = [CLIP.subarray(0, start), CLIP.subarray(start + 16)];
    assert.equal(await stateOf(Buffer.concat([before, after, free])), 'invalid');
    assert.equal(await stateOf(Buffer.concat([before, after])), 'invalid');
    assert.equal(await stateOf(Buffer.concat([CLIP, free])), 'invalid');
    assert.equal(await stateOf(withText('isom', 'mp42')), 'valid');
  });

  it('are only present where this service cannot check them', async () => {
    for (const [from, to] of [
      ['/uuid', '/a/b/'],
      ['\x63alg\x66sha256', '\x63alg\x66blake3'],
      ['c2ma\x00\x11', 'c2um\x00\x11'],
    ] as const)
      assert.notEqual(await stateOf(withText(from, to)), 'valid', from);
    assert.equal(await stateOf(withText('c2ma\x00\x11', 'c2um\x00\x11')), 'present');
    assert.equal(await stateOf(withText('manifest\x00', 'original\x00')), 'present');
  });

  it('are read whatever they contain', async () => {
    const start = CLIP.indexOf('jumb') - 4;
    const end = CLIP.indexOf('moov') - 4;
    for (let at = start; at < end; at += 1) {
      const file = Buffer.from(CLIP);
      // Lengths without an end, huge ones, deep lists and the end of a list.
      file.writeUInt8([0, 0x1f, 0x5b, 0x81, 0x9b, 0xff][at % 6] ?? 0, at);
      await check(file);
    }
    for (let length = 0; length < CLIP.length; length += 7)
      assert.notEqual(await stateOf(CLIP.subarray(0, length)), 'valid');
  });
});
