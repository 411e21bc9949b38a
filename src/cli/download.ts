import { open, rename, stat } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { pause, type Reelgate, ReelgateError } from '../sdk/index.ts';

const TRIES = 6;
const FIRST_PAUSE_MS = 250;

/**
 * Saves a video to a file. It grows beside its name as `NAME.TASK.part` and takes the name when it is whole, so that a file
 * of that name is never half a video; a broken download goes on where it stopped, also in a later run, and never with
 * another video's bytes.
 */
export async function download(
  reelgate: Reelgate,
  id: string,
  path: string,
  options: {
    readonly signal?: AbortSignal;
    readonly onProgress?: (received: number, total: number | undefined) => void;
  } = {},
): Promise<number> {
  const part = `${path}.${id}.part`;
  for (let attempt = 1; ; attempt += 1) {
    try {
      await fetchRest(reelgate, id, part, options);
      await rename(part, path);
      return (await stat(path)).size;
    } catch (error) {
      if (!mayPass(error) || attempt >= TRIES || options.signal?.aborted === true) throw error;
      await pause(FIRST_PAUSE_MS * 2 ** attempt, options.signal);
    }
  }
}

/** A cut connection does, a full disk or a folder that is not there does not. */
function mayPass(error: unknown): boolean {
  if (error instanceof ReelgateError) return error.isPassing;
  return (error as NodeJS.ErrnoException).syscall === undefined || (error as NodeJS.ErrnoException).path === undefined;
}

async function fetchRest(
  reelgate: Reelgate,
  id: string,
  part: string,
  options: {
    readonly signal?: AbortSignal;
    readonly onProgress?: (received: number, total: number | undefined) => void;
  },
): Promise<void> {
  const have = await stat(part).then(
    ({ size }) => size,
    () => 0,
  );
  const response = await reelgate.videos.content(id, {
    from: have,
    ...(options.signal === undefined ? {} : { signal: options.signal }),
  });
  const whole = wholeSize(response);
  // The range begins behind the last byte: everything is here already.
  if (response.status === 416) {
    await response.body?.cancel();
    if (whole === have) return;
    throw new ReelgateError('The file on disk is no part of this video. Remove it and try again.', {
      code: 'download_mismatch',
    });
  }
  const appending = response.status === 206;
  let received = appending ? have : 0;
  if (response.body === null) throw new ReelgateError('The service sent no file.', { code: 'network' });
  const body = Readable.fromWeb(response.body as Parameters<typeof Readable.fromWeb>[0]);
  // Each piece is in the file before the next is asked for: what had arrived when the line broke is kept.
  const file = await open(part, appending ? 'a' : 'w');
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      await file.appendFile(chunk);
      received += chunk.length;
      options.onProgress?.(received, whole);
    }
  } finally {
    await file.close();
  }
  if (whole !== undefined && received !== whole)
    throw new ReelgateError('The download broke off.', { code: 'network' });
}

/** Size of the whole file, by Content-Range (RFC 9110 section 14.4) or Content-Length. */
function wholeSize(response: Response): number | undefined {
  const range = /\/(\d+)$/.exec(response.headers.get('content-range') ?? '')?.[1];
  const size = Number(range ?? response.headers.get('content-length') ?? Number.NaN);
  return Number.isFinite(size) ? size : undefined;
}
