import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);
const TIMEOUT_MS = 20_000;
const MAX_BYTES = 1024 ** 2;
/** Of the poster, pixels. */
const WIDTH = 640;

/**
 * One frame of a video as JPEG, read by ffmpeg. The file is from a vendor: it may open nothing else than itself.
 * @param ffmpeg its name or path
 * @returns undefined where ffmpeg is not installed
 */
export async function readFrame(ffmpeg: string, path: string, signal: AbortSignal): Promise<Buffer | undefined> {
  const input = ['-protocol_whitelist', 'file', '-format_whitelist', 'mov,matroska', '-ss', '0.5', '-i', path];
  const output = ['-frames:v', '1', '-vf', `scale=${WIDTH}:-2`, '-q:v', '4', '-f', 'mjpeg', 'pipe:1'];
  try {
    const { stdout } = await run(ffmpeg, ['-nostdin', '-v', 'error', ...input, ...output], {
      encoding: 'buffer',
      timeout: TIMEOUT_MS,
      maxBuffer: MAX_BYTES,
      signal,
    });
    return stdout;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}
