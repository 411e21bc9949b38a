import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import type { Reelgate } from '../sdk/index.ts';
import { assertWritable, download } from './video-download.ts';

it('saves a video intact if two processes download it to the same path', async (t) => {
  const file = Buffer.from('first half, second half');
  const half = 10;
  const folder = await mkdtemp(join(tmpdir(), 'reelgate-download-'));
  t.after(() => rm(folder, { recursive: true }));
  const path = join(folder, 'cat.mp4');
  const started = Promise.withResolvers<void>();
  const isHalf = async (): Promise<void> => {
    while ((await stat(`${path}.video_1.part`).catch(() => undefined))?.size !== half) await new Promise(setImmediate);
  };
  /** Sends the file in two parts; the second part waits until the other download has begun. */
  const serve = (from: number) =>
    new Response(
      new ReadableStream<Uint8Array>({
        async start(controller) {
          if (from < half) controller.enqueue(file.subarray(from, half));
          else started.resolve();
          await started.promise;
          controller.enqueue(file.subarray(Math.max(from, half)));
          controller.close();
        },
      }),
      {
        status: from === 0 ? 200 : 206,
        headers: {
          'content-length': String(file.length - from),
          'content-range': `bytes ${from}-${file.length - 1}/${file.length}`,
        },
      },
    );
  const reelgate = {
    videos: { content: async (_: string, { from = 0 }: { readonly from?: number }) => serve(from) },
  } as unknown as Reelgate;
  const one = download(reelgate, 'video_1', path);
  await isHalf();
  const other = download(reelgate, 'video_1', path);
  assert.deepEqual(await Promise.all([one, other]), [file.length, file.length]);
  assert.equal(String(await readFile(path)), String(file));
});

describe('a path that nothing can be saved to', () => {
  const folder = mkdtempSync(join(tmpdir(), 'reelgate-paths-'));
  const at = (name: string): string => join(folder, name);
  after(() => rmSync(folder, { recursive: true }));

  for (const [what, path, problem] of [
    ['an empty one, as of an unset variable', '', /is empty/],
    ['a folder that does not exist', at('none/'), /is a folder/],
    ['a folder', folder, /is a folder/],
    ['one below a file', at('file/cat.mp4'), { code: 'ENOTDIR' }],
    ['too long a name', at('x'.repeat(256)), { code: 'ENAMETOOLONG' }],
    ['a pipe, which --force would remove', at('pipe'), /no regular file/],
    ['a device, which --force would remove', '/dev/null', /no regular file/],
  ] as const)
    it(`is refused before anything is charged: ${what}`, async () => {
      writeFileSync(at('file'), '');
      if (!existsSync(at('pipe'))) execFileSync('mkfifo', [at('pipe')]);
      await assert.rejects(assertWritable({ out: path, force: true }), problem);
    });

  it('has no effect on the connection of the download, which ends', async (t) => {
    const cancel = t.mock.fn();
    const body = new ReadableStream({ cancel });
    const reelgate = { videos: { content: async () => new Response(body) } } as unknown as Reelgate;
    await assert.rejects(download(reelgate, 'video_1', at('none/cat.mp4')), { code: 'ENOENT' });
    assert.equal(cancel.mock.callCount(), 1);
  });
});

it('saves a video under the longest name that a file may have', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'reelgate-name-'));
  t.after(() => rm(folder, { recursive: true }));
  const path = join(folder, `${'猫'.repeat(83)}.mp4`);
  const reelgate = { videos: { content: async () => new Response('bytes') } } as unknown as Reelgate;
  assert.equal(await download(reelgate, `video_${'a'.repeat(32)}`, path), 5);
  assert.equal(String(await readFile(path)), 'bytes');
});

it('saves a video whole that a proxy has compressed on its way', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'reelgate-encoded-'));
  t.after(() => rm(folder, { recursive: true }));
  const content = t.mock.fn(async () => {
    // As fetch decodes it: the length is that of the compressed body.
    return new Response('bytes', { headers: { 'content-encoding': 'gzip', 'content-length': '3' } });
  });
  const reelgate = { videos: { content } } as unknown as Reelgate;
  assert.equal(await download(reelgate, 'video_1', join(folder, 'cat.mp4')), 5);
  assert.equal(content.mock.callCount(), 1);
});
