import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import type { Reelgate } from '../sdk/index.ts';
import { download } from './video-download.ts';

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
