import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { DAY_MS } from '../../contract/time-units.ts';
import type { Clock } from '../platform/clock.ts';
import type { Log } from '../platform/log.ts';
import { validatePosterImage } from '../platform/media.ts';
import { randomText } from '../platform/tokens.ts';
import type { ArtifactStore } from './artifact-store.ts';
import type { ArtifactFileStorage, IncomingFileDirectory } from './file-storage.ts';
import type { StorageLimits } from './storage-space.ts';

/** Maximum size of a poster in bytes. */
const MAX_POSTER_BYTES = 256 * 1024;

interface PostersDependencies {
  readonly store: ArtifactStore;
  readonly files: ArtifactFileStorage;
  readonly incoming: IncomingFileDirectory;
  readonly limitsOf: (userId: number) => Promise<StorageLimits>;
  /** Name or path of ffmpeg, which need not be installed. */
  readonly ffmpeg: string;
  readonly clock: Clock;
  readonly log: Log;
}

/** The task a poster belongs to. */
export interface PosterOwner {
  readonly taskId: string;
  readonly userId: number;
}

/** Reads the vendor's own cover of a video; undefined if the vendor has none. */
export type OpenCover = (taskId: string, signal: AbortSignal) => Promise<Buffer | undefined>;

/** Result of storing a poster. */
export type PosterOutcome = 'stored' | 'exists' | 'invalid';

/**
 * Still images of videos: the vendor's cover, otherwise a frame read by ffmpeg, otherwise a frame extracted by the
 * owner's browser.
 */
export class Posters {
  readonly #dependencies: PostersDependencies;
  readonly #frames: VideoFrameExtractor;
  constructor(dependencies: PostersDependencies) {
    this.#dependencies = dependencies;
    this.#frames = new VideoFrameExtractor(dependencies.ffmpeg);
  }

  /**
   * Creates the poster of a video that has just been received. Never throws.
   * @param path path of the video
   */
  async make(owner: PosterOwner, path: string, openCover: OpenCover | undefined, signal: AbortSignal): Promise<void> {
    try {
      const cover = await openCover?.(owner.taskId, signal);
      if (cover !== undefined && (await this.put(owner, cover)) !== 'invalid') return;
      const frame = await this.#frames.read(path, signal);
      if (frame !== undefined) await this.put(owner, frame);
    } catch (error) {
      this.#dependencies.log.info({ err: error, taskId: owner.taskId }, 'a video has no poster yet');
    }
  }

  /** Stores the poster of a task that has none. */
  async put({ taskId, userId }: PosterOwner, bytes: Buffer): Promise<PosterOutcome> {
    const { store, files, incoming, limitsOf, clock } = this.#dependencies;
    const mimeType = bytes.length > MAX_POSTER_BYTES ? undefined : validatePosterImage(bytes);
    if (mimeType === undefined) return 'invalid';
    const row = await store.insertReceived('thumbnail', { id: randomText(24), taskId, userId }, clock.now());
    if (row?.state !== 'pending') return 'exists';
    const path = await incoming.begin(row);
    await writeFile(path, bytes, { flush: true });
    const sha256 = createHash('sha256').update(bytes).digest('hex');
    await files.put(row.id, path, { bytes: bytes.length, sha256 });
    const { days } = await limitsOf(userId);
    const storedAt = clock.now();
    const expiresAt = days === 0 ? null : storedAt + days * DAY_MS;
    const isStored = await store.confirm(row, { bytes: bytes.length, sha256, mimeType, storedAt, expiresAt });
    // The video was deleted in the meantime.
    if (!isStored && (await store.findByTask(taskId, 'thumbnail'))?.state !== 'stored') await files.remove(row.id);
    return isStored ? 'stored' : 'exists';
  }
}

const run = promisify(execFile);
const TIMEOUT_MS = 20_000;
const MAX_BYTES = 1024 ** 2;
/** Width of a poster, pixels. */
const WIDTH = 640;

/**
 * Time until ffmpeg is tried again on a machine without it: each attempt to start it blocks the process for
 * milliseconds.
 */
const ABSENT_MS = 10 * 60_000;

/** Extracts frames of videos with ffmpeg, if installed. */
export class VideoFrameExtractor {
  readonly #ffmpeg: string;
  /** By the monotonic clock. */
  #absentUntil = 0;

  /** @param ffmpeg name or path */
  constructor(ffmpeg: string) {
    this.#ffmpeg = ffmpeg;
  }

  /**
   * Extracts one frame of a video as JPEG. The file comes from a vendor, so ffmpeg must not open any other file or URL.
   * @returns undefined if ffmpeg is not installed
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
