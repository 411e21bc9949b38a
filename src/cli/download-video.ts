import { open, rename, stat } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { ReelgateError } from '../sdk/errors.ts';
import type { Reelgate } from '../sdk/index.ts';
import { sleep } from '../sdk/transport.ts';

const MAX_ATTEMPTS = 6;
const FIRST_PAUSE_MS = 250;

/**
 * Saves a video to a file. It is written to `NAME.TASK.part` and renamed when it is complete, so that a file of that name is
 * never half a video. An interrupted download is resumed, also in a later run, and never with another video's bytes.
 *
 * @returns the size in bytes
 */
export async function download(
  reelgate: Reelgate,
  id: string,
  path: string,
  options: {
    readonly signal?: AbortSignal | undefined;
    readonly onProgress?: (received: number, total: number | undefined) => void;
  } = {},
): Promise<number> {
  const part = `${path}.${id}.part`;
  for (let attempt = 1; ; attempt += 1) {
    try {
      await fetchRemaining(reelgate, id, part, options);
      await rename(part, path);
      return (await stat(path)).size;
    } catch (error) {
      if (!isTransientError(error) || attempt >= MAX_ATTEMPTS || options.signal?.aborted === true) throw error;
      await sleep(FIRST_PAUSE_MS * 2 ** attempt, options.signal);
    }
  }
}

/** A lost connection is; a full disk or a missing folder is not. */
function isTransientError(error: unknown): boolean {
  if (error instanceof ReelgateError) return error.isTransient;
  return (error as NodeJS.ErrnoException).syscall === undefined || (error as NodeJS.ErrnoException).path === undefined;
}

async function fetchRemaining(
  reelgate: Reelgate,
  id: string,
  part: string,
  options: {
    readonly signal?: AbortSignal | undefined;
    readonly onProgress?: (received: number, total: number | undefined) => void;
  },
): Promise<void> {
  const existingSize = await stat(part).then(
    ({ size }) => size,
    () => 0,
  );
  const response = await reelgate.videos.content(id, {
    from: existingSize,
    signal: options.signal,
  });
  const totalSize = totalSizeOf(response);
  // The range starts after the last byte: the file is complete already.
  if (response.status === 416) {
    await response.body?.cancel();
    if (totalSize === existingSize) return;
    throw new ReelgateError('The file on disk does not belong to this video. Remove it and try again.', {
      code: 'download_mismatch',
    });
  }
  const appending = response.status === 206;
  let received = appending ? existingSize : 0;
  if (response.body === null) throw new ReelgateError('The service sent no file.', { code: 'network' });
  const body = Readable.fromWeb(response.body as Parameters<typeof Readable.fromWeb>[0]);
  // Each chunk is written before the next is requested, so that a lost connection loses nothing that had arrived.
  const file = await open(part, appending ? 'a' : 'w');
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      await file.appendFile(chunk);
      received += chunk.length;
      options.onProgress?.(received, totalSize);
    }
  } finally {
    await file.close();
  }
  if (totalSize !== undefined && received !== totalSize)
    throw new ReelgateError('The connection was lost during the download.', { code: 'network' });
}

/** Size of the whole file, by Content-Range (RFC 9110 section 14.4) or Content-Length. */
function totalSizeOf(response: Response): number | undefined {
  const range = /\/(\d+)$/.exec(response.headers.get('content-range') ?? '')?.[1];
  const size = Number(range ?? response.headers.get('content-length') ?? Number.NaN);
  return Number.isFinite(size) ? size : undefined;
}
