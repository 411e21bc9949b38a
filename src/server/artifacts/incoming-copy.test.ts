import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, readdirSync, readlinkSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { after, before, describe, it } from 'node:test';
import { loadMedia } from '../../sandbox/media.ts';
import { BadVideoError } from '../platform/media.ts';
import { openOutbound } from '../platform/outbound/client.ts';
import { IncomingCopy } from './artifact-copier.ts';

const CLIP = loadMedia('sea-1-silent.mp4').bytes;
const HALF = CLIP.length >> 1;
const anyGrowth = async (): Promise<void> => {};

describe('a copy in progress', () => {
  let folder: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'rg-copy-'));
  });
  after(() => rm(folder, { recursive: true }));
  let count = 0;
  const begin = (announced: number | undefined) => {
    const body = new PassThrough();
    const copy = new IncomingCopy(join(folder, String(count++)), announced);
    return { body, copy, received: copy.receive(body, anyGrowth) };
  };
  const readerOf = async (copy: IncomingCopy, start: number, end: number) => {
    const reader = await copy.read(start, end);
    assert.ok(reader !== undefined);
    return reader;
  };
  const grownTo = async (copy: IncomingCopy, bytes: number) => {
    while (copy.writtenBytes < bytes && !copy.hasFailed) await new Promise((resolve) => setImmediate(resolve));
  };

  it('can be read while it arrives, and ends up as the file', async () => {
    const { body, copy, received } = begin(CLIP.length);
    body.write(CLIP.subarray(0, HALF));
    await grownTo(copy, HALF);
    assert.equal(copy.mimeType, 'video/mp4');
    const [whole, part, tail] = await Promise.all([
      readerOf(copy, 0, CLIP.length - 1),
      readerOf(copy, 100, 199),
      readerOf(copy, CLIP.length - 10, CLIP.length - 1),
    ]);
    const [early] = await once(part, 'data');
    assert.deepEqual(early, CLIP.subarray(100, 199));
    body.end(CLIP.subarray(HALF));
    assert.deepEqual(await buffer(part), CLIP.subarray(199, 200));
    assert.deepEqual(await buffer(whole), CLIP);
    assert.deepEqual(await buffer(tail), CLIP.subarray(-10));
    const sha256 = createHash('sha256').update(CLIP).digest('hex');
    assert.deepEqual(await received, { bytes: CLIP.length, sha256, mimeType: 'video/mp4' });
    assert.deepEqual(await readFile(copy.path), CLIP);
    assert.deepEqual(await buffer(await readerOf(copy, 0, CLIP.length - 1)), CLIP);
  });

  for (const [name, bytes, announced] of [
    ['a file cut short, as long as announced', CLIP.subarray(0, HALF), HALF],
    ['a whole file of another length than announced', CLIP, CLIP.length + 5],
    ['a file with a page after its end', Buffer.concat([CLIP, Buffer.from('<html>gone</html>')]), CLIP.length + 17],
    ['a page', Buffer.from('<html>gone</html>'), 17],
  ] as const)
    it(`${name}: fails, and no reader receives the last byte of a part`, async () => {
      const { body, copy, received: copied } = begin(announced);
      const refused = assert.rejects(copied, BadVideoError);
      body.write(bytes.subarray(0, 10));
      await Promise.race([refused, grownTo(copy, 10)]);
      const readers = await Promise.all([0, 9, bytes.length - 1].map((end) => readerOf(copy, 0, end)));
      const received = readers.map((reader) => {
        const got: Buffer[] = [];
        reader.on('data', (chunk: Buffer) => got.push(chunk));
        return once(reader, 'error').then(() => Buffer.concat(got).length);
      });
      body.end(bytes.subarray(10));
      await refused;
      const [first, second, whole] = await Promise.all(received);
      assert.equal(first, 0);
      assert.ok(second !== undefined && second < 10);
      assert.ok(whole !== undefined && whole < bytes.length);
      assert.equal(copy.hasFailed, true);
    });

  it('is closed by readers that leave before their first byte, or while they wait', async () => {
    const { body, copy, received } = begin(CLIP.length);
    body.write(CLIP.subarray(0, HALF));
    await grownTo(copy, HALF);
    const openReaders = () =>
      readdirSync('/proc/self/fd').filter((fd) => {
        const path = `/proc/self/fd/${fd}`;
        return existsSync(path) && readlinkSync(path) === copy.path;
      }).length;
    const writers = openReaders();
    const [early, waiting] = await Promise.all([readerOf(copy, 0, 10), readerOf(copy, HALF, CLIP.length - 1)]);
    assert.equal(openReaders(), writers + 2);
    waiting.resume();
    await new Promise((resolve) => setImmediate(resolve));
    const closed = [early, waiting].map((reader) => once(reader, 'close'));
    early.destroy();
    waiting.destroy();
    await Promise.all(closed);
    assert.equal(openReaders(), writers);
    body.end(CLIP.subarray(HALF));
    await received;
  });

  it('fails when the connection breaks', async () => {
    const { body, received } = begin(undefined);
    body.write(CLIP.subarray(0, HALF));
    body.destroy(new Error('reset'));
    await assert.rejects(received, /reset/);
  });
});

it('keeps every byte of a file that arrives in many chunks', async () => {
  const box = Buffer.alloc(8);
  box.writeUInt32BE(box.length + 3_000_001);
  box.write('mdat', 4, 'latin1');
  const file = Buffer.concat([Buffer.from('\0\0\0\x08ftyp\0\0\0\x08moov', 'latin1'), box, randomBytes(3_000_001)]);
  const server = createServer((_request, response) => response.end(file)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const outbound = openOutbound();
  const folder = await mkdtemp(join(tmpdir(), 'rg-copy-'));
  try {
    const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
    const request = { method: 'GET', url: `http://${host}/`, readAheadBytes: 0, allowedPrivateHosts: [host] } as const;
    const { body } = await outbound.requestUntrusted(request);
    const path = join(folder, 'file');
    const { sha256 } = await new IncomingCopy(path, file.length).receive(body, async () => {});
    assert.ok(file.equals(await readFile(path)));
    assert.equal(sha256, createHash('sha256').update(file).digest('hex'));
  } finally {
    await outbound.close();
    server.close();
    await rm(folder, { recursive: true, force: true });
  }
});
