import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import fs from 'node:fs';
import { mkdtemp, open, readdir, rm, truncate, writeFile } from 'node:fs/promises';
import { createServer, get, type IncomingMessage } from 'node:http';
import { syncBuiltinESMExports } from 'node:module';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { after, before, describe, it, type TestContext } from 'node:test';
import { DiskFileStorage, FileRangeStream } from './file-storage.ts';

const BYTES = randomBytes(1_500_001);

describe('FileRangeStream', () => {
  let folder: string;
  let path: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'rg-file-'));
    path = join(folder, 'file');
    await writeFile(path, BYTES);
  });
  after(() => rm(folder, { recursive: true, force: true }));
  const bodyOf = async (start: number, end: number) => new FileRangeStream(await open(path, 'r'), start, end);

  /** Serves one body per request; the request path holds its first and last byte. */
  async function serve(use: (origin: string, bodies: FileRangeStream[]) => Promise<void>): Promise<void> {
    const bodies: FileRangeStream[] = [];
    const server = createServer(({ url = '' }, response) => {
      const [start = 0, end = 0] = url.slice(1).split('-').map(Number);
      void bodyOf(start, end).then((body) => {
        bodies.push(body.on('error', () => response.destroy()));
        body.pipe(response);
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    try {
      await use(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, bodies);
    } finally {
      server.closeAllConnections();
      server.close();
    }
  }
  const responseTo = (url: string) =>
    new Promise<IncomingMessage>((resolve, reject) => get(url, resolve).on('error', reject));

  it('delivers the bytes of its range, read and piped, many at once', async () => {
    assert.deepEqual(await buffer(await bodyOf(10, 700_000)), BYTES.subarray(10, 700_001));
    await serve(async (origin, bodies) => {
      const parts = Array.from({ length: 40 }, (_, n) => [n * 7_001, BYTES.length - 1 - n * 13_007] as const);
      await Promise.all(
        parts.map(async ([start, end]) =>
          assert.ok(BYTES.subarray(start, end + 1).equals(await buffer(await responseTo(`${origin}/${start}-${end}`)))),
        ),
      );
      for (const body of bodies) assert.ok(body.readableEnded);
    });
  });

  it('ends when the receiver disconnects and when it is destroyed', async () => {
    await serve(async (origin, bodies) => {
      const left = await responseTo(`${origin}/0-${BYTES.length - 1}`);
      left.on('error', () => {}).destroy();
      const cut = await responseTo(`${origin}/0-${BYTES.length - 1}`);
      bodies[1]?.destroy(new Error('no longer'));
      await assert.rejects(buffer(cut));
      for (const body of bodies) if (!body.closed) await new Promise((resolve) => body.once('close', resolve));
    });
  });

  it('fails when the file has become shorter', async () => {
    const body = await bodyOf(0, BYTES.length - 1);
    await truncate(path, 1_000);
    await assert.rejects(buffer(body), /ended early/);
  });
});

describe('DiskFileStorage on file systems that lack something', () => {
  const ID = 'abcdefghijklmnopqrstuvwx';
  const failing = (code: string) => () => Promise.reject(Object.assign(new Error(code), { code }));

  async function setUp(t: TestContext) {
    const folder = await mkdtemp(join(tmpdir(), 'rg-disk-'));
    const received = join(folder, 'received');
    await writeFile(received, BYTES);
    t.after(() => rm(folder, { recursive: true, force: true }));
    return { folder, received, storage: new DiskFileStorage(join(folder, 'files')) };
  }
  const read = async (storage: DiskFileStorage) => {
    const body = await storage.open(ID, 0, BYTES.length - 1);
    return body && (await buffer(body));
  };

  it('copies a file that cannot be renamed to another device', async (t) => {
    const { folder, received, storage } = await setUp(t);
    const other = `${received}.2`;
    await writeFile(other, BYTES);
    const { rename } = fs.promises;
    t.mock.method(fs.promises, 'rename', (from: string, to: string) =>
      dirname(from) === folder ? failing('EXDEV')() : rename(from, to),
    );
    syncBuiltinESMExports();
    t.after(() => {
      t.mock.restoreAll();
      syncBuiltinESMExports();
    });
    // Two attempts, of which one has lost its lease.
    await Promise.all([storage.put(ID, received), storage.put(ID, other)]);
    assert.deepEqual(await read(storage), BYTES);
    const names = async () => (await readdir(folder, { recursive: true })).sort();
    assert.deepEqual(await names(), ['files', 'files/ab', `files/ab/${ID}`]);
    await writeFile(received, BYTES);
    t.mock.method(fs.promises, 'rename', failing('EXDEV'));
    syncBuiltinESMExports();
    await assert.rejects(storage.put(ID, received), /EXDEV/);
    assert.deepEqual(await names(), ['files', 'files/ab', `files/ab/${ID}`, 'received']);
  });

  it('keeps a file whose directory cannot be synced, and reports a failed sync', async (t) => {
    const { folder, received, storage } = await setUp(t);
    const file = await open(folder, 'r');
    const handle = Object.getPrototypeOf(file) as typeof file;
    await file.close();
    const { mock } = t.mock.method(handle, 'sync', failing('EINVAL'));
    await storage.put(ID, received);
    assert.deepEqual(await read(storage), BYTES);
    await writeFile(received, BYTES);
    mock.mockImplementation(failing('EIO'));
    await assert.rejects(storage.put(ID, received), /EIO/);
  });

  it('takes no blocks at all for an unknown size', async (t) => {
    const { storage } = await setUp(t);
    assert.ok(((await storage.freeBytes()) ?? 0) > 0);
    const sizes = { bsize: 4096, blocks: 0, bavail: 0 };
    t.mock.method(fs.promises, 'statfs', async () => sizes);
    syncBuiltinESMExports();
    t.after(() => {
      t.mock.restoreAll();
      syncBuiltinESMExports();
    });
    assert.equal(await storage.freeBytes(), undefined);
    sizes.blocks = 10;
    assert.equal(await storage.freeBytes(), 0);
  });
});
