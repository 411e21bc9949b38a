import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);
const TIMEOUT_MS = 20_000;
const MAX_BYTES = 1024 ** 2;
/** Of the poster, pixels. */
const WIDTH = 640;

/** A machine without ffmpeg is looked at again after so long: each attempt to start it takes milliseconds, in which nothing else runs. */
const ABSENT_MS = 10 * 60_000;

/** Reads frames of videos with ffmpeg, where that is installed. */
export class VideoFrameExtractor {
  readonly #ffmpeg: string;
  /** By the monotonic clock. */
  #absentUntil = 0;

  /** @param ffmpeg its name or path */
  constructor(ffmpeg: string) {
    this.#ffmpeg = ffmpeg;
  }

  /**
   * One frame of a video as JPEG. The file is from a vendor: it may open nothing else than itself.
   * @returns undefined where ffmpeg is not installed
   */
  async read(path: string, signal: AbortSignal): Promise<Buffer | undefined> {
    if (performance.now() < this.#absentUntil) return undefined;
    const input = ['-protocol_whitelist', 'file', '-format_whitelist', 'mov,matroska', '-ss', '0.5', '-i', path];
    const output = ['-frames:v', '1', '-vf', `scale=${WIDTH}:-2`, '-q:v', '4', '-f', 'mjpeg', 'pipe:1'];
    try {
      const { stdout } = await run(this.#ffmpeg, ['-nostdin', '-v', 'error', ...input, ...output], {
        encoding: 'buffer',
        timeout: TIMEOUT_MS,
        maxBuffer: MAX_BYTES,
        signal,
      });
      return stdout;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
      this.#absentUntil = performance.now() + ABSENT_MS;
      return undefined;
    }
  }
}
