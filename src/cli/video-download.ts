import { createWriteStream } from 'node:fs';
import { access, constants, type FileHandle, open, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { ReelgateError } from '../sdk/errors.ts';
import type { Reelgate } from '../sdk/index.ts';
import { sleep } from '../sdk/transport.ts';
import type { CommandContext } from './command-context.ts';
import { UsageError } from './errors.ts';
import { formatBytes, phrase } from './output.ts';

/** Saves the file of a finished video under `out`, by default under its id. @returns its path and its size in bytes */
export async function downloadTo(
  { reelgate, output, interruptSignal }: CommandContext,
  id: string,
  { out, force }: { readonly out?: string; readonly force?: boolean },
): Promise<{ readonly file: string; readonly bytes: number }> {
  const target = out ?? (await defaultTarget(reelgate, id, force));
  const bytes = await download(reelgate, id, target, {
    signal: interruptSignal,
    onProgress: (received, total) =>
      output.status(
        total === undefined
          ? phrase`downloading ${formatBytes(received)}`
          : phrase`downloading ${formatBytes(received)} of ${formatBytes(total)}`,
        'downloading',
      ),
  });
  output.clearStatus();
  return { file: target, bytes };
}

/** The id with the extension that the service gives the file. @throws UsageError if there is such a file and no `force` */
async function defaultTarget(reelgate: Reelgate, id: string, force: boolean | undefined): Promise<string> {
  const response = await reelgate.videos.content(id);
  await response.body?.cancel();
  const [, extension = 'mp4'] = /filename="[^"]*\.(\w+)"/.exec(response.headers.get('content-disposition') ?? '') ?? [];
  const file = `${id}.${extension}`;
  await assertWritable({ out: file, force });
  return file;
}

/** Fails before anything is charged if the file cannot be written or would overwrite another one. */
export async function assertWritable({
  out,
  force,
}: {
  readonly out?: string;
  readonly force?: boolean;
}): Promise<void> {
  if (out === undefined) return;
  if (out === '') throw new UsageError('The path to save to is empty. Is a variable of your shell unset?');
  const found = await stat(out).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
    return undefined;
  });
  if (found?.isDirectory() ?? /[/\\]$/.test(out)) throw new UsageError(`${out} is a folder. Name a file in it.`);
  // Replacing a device or a pipe would remove it: /dev/null would become a file.
  if (found !== undefined && !found.isFile()) throw new UsageError(`${out} is no regular file. Name another one.`);
  if (found !== undefined && force !== true) throw new UsageError(`${out} exists. Replace it with --force.`);
  await access(dirname(out), constants.W_OK);
}

/** Units of UTF-16, so that a name in any script leaves room for the id: file systems allow 255 bytes. */
const MAX_NAME_LENGTH = 60;

/** File beside the final one for the bytes until they are complete. */
const partOf = (path: string, id: string): string =>
  join(dirname(path), `${basename(path).slice(0, MAX_NAME_LENGTH)}.${id}.part`);

const MAX_ATTEMPTS = 6;
const FIRST_PAUSE_MS = 250;

interface DownloadOptions {
  readonly signal?: AbortSignal;
  readonly onProgress?: (received: number, total: number | undefined) => void;
}

/**
 * Saves a video to a file. The bytes are written to `NAME.TASK.part`, which is renamed when complete, so that a file of
 * the final name is never incomplete. An interrupted download is resumed, also in a later run, and never with another
 * video's bytes.
 *
 * @returns the size in bytes
 */
export async function download(
  reelgate: Reelgate,
  id: string,
  path: string,
  options: DownloadOptions = {},
): Promise<number> {
  const part = partOf(path, id);
  for (let attempt = 1; ; attempt += 1) {
    try {
      await fetchRemaining(reelgate, id, part, options);
      // Missing if a second download of the same video to this path has just completed it.
      await rename(part, path).catch((error: NodeJS.ErrnoException) => {
        if (error.code !== 'ENOENT') throw error;
      });
      return (await stat(path)).size;
    } catch (error) {
      if (!isTransientError(error) || attempt >= MAX_ATTEMPTS || options.signal?.aborted === true) throw error;
      await sleep(FIRST_PAUSE_MS * 2 ** attempt, options.signal);
    }
  }
}

/** A lost connection is transient; a full disk or a missing folder is not. */
function isTransientError(error: unknown): boolean {
  if (error instanceof ReelgateError) return error.isTransient;
  return (error as NodeJS.ErrnoException).syscall === undefined || (error as NodeJS.ErrnoException).path === undefined;
}

/** Saves a whole response under a path that is never incomplete, and keeps a file that was there until then. */
export async function saveBody({ body }: Response, path: string): Promise<void> {
  if (body === null) throw new ReelgateError('The service sent no file.', { code: 'network' });
  const part = partOf(path, String(process.pid));
  try {
    await pipeline(Readable.fromWeb(body as Parameters<typeof Readable.fromWeb>[0]), createWriteStream(part));
    await rename(part, path);
  } catch (error) {
    await rm(part, { force: true });
    // Errors of an open file name no path; those of a connection are no system errors themselves.
    if ((error as NodeJS.ErrnoException).syscall !== undefined) throw Object.assign(error as Error, { path });
    throw new ReelgateError('The connection was lost during the download.', { code: 'network', cause: error });
  }
}

async function fetchRemaining(reelgate: Reelgate, id: string, part: string, options: DownloadOptions): Promise<void> {
  const existingSize = await stat(part).then(
    ({ size }) => size,
    () => 0,
  );
  const response = await reelgate.videos.content(id, {
    from: existingSize,
    signal: options.signal,
  });
  const totalSize = totalSizeOf(response);
  // The range starts after the last byte, so the file is complete already.
  if (response.status === 416) {
    await response.body?.cancel();
    if (totalSize === existingSize) return;
    throw new ReelgateError('The file on disk does not belong to this video. Remove it and try again.', {
      code: 'download_mismatch',
    });
  }
  const appending = response.status === 206;
  if (appending && startOf(response) !== existingSize) {
    await response.body?.cancel();
    // The next attempt fetches the whole file.
    await rm(part, { force: true });
    throw new ReelgateError('The service sent another part of the file than was requested.', { code: 'network' });
  }
  let received = appending ? existingSize : 0;
  if (response.body === null) throw new ReelgateError('The service sent no file.', { code: 'network' });
  const { body } = response;
  const file = await open(part, appending ? 'r+' : 'w').catch(async (error: unknown) => {
    // Otherwise the process would wait for the connection.
    await body.cancel();
    throw error;
  });
  try {
    // Each chunk is written before the next is requested, so that a lost connection loses no received bytes. Written at
    // its own position, because another process may be downloading to the same path.
    for await (const chunk of Readable.fromWeb(
      body as Parameters<typeof Readable.fromWeb>[0],
    ) as AsyncIterable<Buffer>) {
      // Errors of an open file name no path, without which a full disk would pass for a lost connection.
      await writeAt(file, chunk, received).catch((error: unknown) => {
        throw Object.assign(error as Error, { path: part });
      });
      received += chunk.length;
      options.onProgress?.(received, totalSize);
    }
  } finally {
    await file.close();
  }
  if (totalSize !== undefined && received !== totalSize)
    throw new ReelgateError('The connection was lost during the download.', { code: 'network' });
}

async function writeAt(file: FileHandle, bytes: Buffer, position: number): Promise<void> {
  for (let done = 0; done < bytes.length; )
    done += (await file.write(bytes, done, bytes.length - done, position + done)).bytesWritten;
}

/** Position of the first byte of a part, from Content-Range; undefined if it does not say. */
function startOf(response: Response): number | undefined {
  const start = /^bytes (\d+)-\d+\//.exec(response.headers.get('content-range') ?? '')?.[1];
  return start === undefined ? undefined : Number(start);
}

/** Size of the whole file, from Content-Range (RFC 9110 section 14.4) or Content-Length. */
function totalSizeOf(response: Response): number | undefined {
  // Of a compressed body, which a proxy may send, the length is another one than that of the bytes read from it.
  if (response.headers.has('content-encoding')) return undefined;
  const range = /\/(\d+)$/.exec(response.headers.get('content-range') ?? '')?.[1];
  const size = Number(range ?? response.headers.get('content-length') ?? Number.NaN);
  return Number.isFinite(size) ? size : undefined;
}
