import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { type FileHandle, open, writeFile } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { promisify } from 'node:util';
import { DAY_MS, toSeconds } from '../../contract/time-units.ts';
import type { EventWriter, NewEvent } from '../event-log/event-log.ts';
import type { Notifier } from '../notifications/notifier.ts';
import { AppError, isAppError } from '../platform/app-error.ts';
import type { Clock } from '../platform/clock.ts';
import { workOnEach } from '../platform/concurrency.ts';
import type { Database } from '../platform/db/database.ts';
import type { Log } from '../platform/log.ts';
import { BadVideoError, type CheckedVideo, VideoCheck, validatePosterImage } from '../platform/media.ts';
import { freeChunk } from '../platform/outbound/client.ts';
import { randomText } from '../platform/tokens.ts';
import type { Tables } from '../tables.ts';
import type { ArtifactStore, Claim, EndingCopy, ExpiryNoticeStore } from './artifact-store.ts';
import { type ArtifactFileStorage, type IncomingFileDirectory, writeAll } from './file-storage.ts';
import {
  isDeviceFull,
  NoSpaceError,
  type Reservation,
  type StorageLimits,
  type StorageSpace,
} from './storage-space.ts';

/** Opens a task's file at its vendor; undefined if there is no longer a file to copy. */
export type OpenSource = (taskId: string, signal: AbortSignal) => Promise<CopySource | undefined>;

/** The sources of a video's file, cover and event data. */
export interface VideoSources {
  readonly openVideo: OpenSource;
  readonly openCover?: OpenCover;
  /** Describes a video for its events. */
  readonly describe?: DescribeVideo;
}

interface ArtifactCopierDependencies {
  readonly store: ArtifactStore;
  readonly files: ArtifactFileStorage;
  readonly incoming: IncomingFileDirectory;
  readonly space: StorageSpace;
  readonly copies: CopiesUnderWay;
  readonly posters: Posters;
  readonly limitsOf: (userId: number) => Promise<StorageLimits>;
  /** Whether the place of the files is there; none is copied meanwhile. */
  readonly isAvailable: () => Promise<boolean>;
  readonly clock: Clock;
  readonly log: Log;
}

/** Concurrent copies per process: most of them wait for vendors, and each holds less than 200 KiB in memory. */
const MAX_COPIES = 200;
const LEASE_MS = 90_000;
const RENEW_MS = 30_000;
const POLL_MS = 2_000;
/** Delays after the first, second, … failed attempt; the last one repeats. */
const RETRY_MS = [5_000, 30_000, 120_000, 600_000, 1_800_000, 7_200_000, 21_600_000] as const;
/** Attempts after which a vendor's answer that the file does not exist is final. */
const TRIES_OF_GONE = 4;
/** No vendor keeps files much longer. */
const GIVE_UP_MS = 7 * DAY_MS;
const MAX_ERROR_LENGTH = 300;

/** The task was deleted, or its vendor has no file for it. */
class SourceGoneError extends Error {}

/**
 * Copies finished videos in the background. Each copy is claimed by one process and retried until the vendor no longer
 * has the video.
 */
export class ArtifactCopier {
  readonly #dependencies: ArtifactCopierDependencies;
  readonly #sources: VideoSources;
  readonly #stopping = new AbortController();
  readonly #running = new Set<Promise<void>>();
  #timer: NodeJS.Timeout | undefined;
  #filling: Promise<void> | undefined;
  #isAwaited = false;

  constructor(dependencies: ArtifactCopierDependencies, sources: VideoSources) {
    this.#dependencies = dependencies;
    this.#sources = sources;
  }

  start(): void {
    this.#timer = setInterval(() => this.wake(), POLL_MS);
    this.wake();
  }

  /** Aborts copies in flight; the next process restarts them. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#stopping.abort();
    await this.#filling;
    await Promise.all(this.#running);
  }

  /** Starts the copies that are due soon. Never throws. */
  wake(): void {
    if (this.#timer === undefined) return;
    this.#isAwaited = true;
    this.#filling ??= this.#fill()
      .catch((error: unknown) => this.#dependencies.log.error({ err: error }, 'copies could not be begun'))
      .finally(() => {
        this.#filling = undefined;
      });
  }

  async #fill(): Promise<void> {
    const { store, clock, isAvailable } = this.#dependencies;
    while (this.#isAwaited && !this.#stopping.signal.aborted && this.#running.size < MAX_COPIES) {
      this.#isAwaited = false;
      const free = MAX_COPIES - this.#running.size;
      if (!(await isAvailable())) return;
      const claims = await store.claimDue(clock.now(), LEASE_MS, free);
      for (const claim of claims) this.#begin(claim);
    }
  }

  #begin(claim: Claim): void {
    const run = this.#copy(claim)
      .catch((error: unknown) =>
        this.#dependencies.log.error({ err: error, artifactId: claim.id }, 'a copy failed unexpectedly'),
      )
      .finally(() => {
        this.#running.delete(run);
        this.wake();
      });
    this.#running.add(run);
  }

  async #copy(claim: Claim): Promise<void> {
    const { store, clock } = this.#dependencies;
    const ending = new AbortController();
    const renewal = setInterval(() => {
      store.renew(claim, clock.now() + LEASE_MS).then(
        (isOurs) => isOurs || ending.abort(),
        () => {},
      );
    }, RENEW_MS);
    try {
      const signal = AbortSignal.any([this.#stopping.signal, ending.signal]);
      if (!(await this.#recover(claim))) await this.#copyFromVendor(claim, signal);
    } catch (error) {
      await this.#handleFailure(claim, error);
    } finally {
      clearInterval(renewal);
    }
  }

  /**
   * Confirms a copy whose process died between storing the file and confirming it.
   * @returns whether it is confirmed now
   */
  async #recover(claim: Claim): Promise<boolean> {
    if (claim.tries === 1) return false;
    const { files, incoming, log } = this.#dependencies;
    const bytes = await files.size(claim.id);
    const body = bytes === undefined ? undefined : await files.open(claim.id, 0, bytes - 1);
    if (body === undefined) return false;
    try {
      const path = await incoming.begin(claim);
      await this.#confirm(claim, await new IncomingCopy(path, bytes).receive(body, async () => {}));
      return true;
    } catch (error) {
      log.warn({ err: error, artifactId: claim.id }, 'an unconfirmed file is copied again');
      return false;
    } finally {
      body.destroy();
      await incoming.remove(claim);
    }
  }

  async #copyFromVendor(claim: Claim, signal: AbortSignal): Promise<void> {
    const { files, incoming, space, copies, posters, limitsOf, store, clock } = this.#dependencies;
    const source = await this.#openSource(claim.task_id, signal);
    let reservation: Reservation | undefined;
    let copy: IncomingCopy | undefined;
    try {
      const limits = await limitsOf(claim.user_id);
      const reserved = await space.reserve(claim.user_id, source.bytes, limits.bytes);
      reservation = reserved;
      copy = new IncomingCopy(await incoming.begin(claim), source.bytes);
      copies.add(claim.task_id, copy);
      const copied = await copy.receive(source.body, (bytes) => reserved.growTo(bytes));
      await posters.make({ taskId: claim.task_id, userId: claim.user_id }, copy.path, this.#sources.openCover, signal);
      // A process that lost its claim must not overwrite the file of the new claimant.
      if (!(await store.renew(claim, clock.now() + LEASE_MS))) throw new SourceGoneError('the copy is not wanted');
      await files.put(claim.id, copy.path, copied);
      await this.#confirm(claim, copied);
    } finally {
      source.body.destroy();
      if (copy !== undefined) copies.remove(claim.task_id, copy);
      reservation?.release();
    }
  }

  async #openSource(taskId: string, signal: AbortSignal): Promise<CopySource> {
    try {
      const source = await this.#sources.openVideo(taskId, signal);
      if (source !== undefined) return source;
    } catch (error) {
      if (!isAppError(error, 'content_not_found')) throw error;
    }
    throw new SourceGoneError('the vendor has no such file');
  }

  async #confirm(claim: Claim, { bytes, sha256, mimeType }: CopiedFile): Promise<void> {
    const { store, files, limitsOf, clock } = this.#dependencies;
    const { days } = await limitsOf(claim.user_id);
    const storedAt = clock.now();
    const expiresAt = days === 0 ? null : storedAt + days * DAY_MS;
    if (await store.confirm(claim, { bytes, sha256, mimeType, storedAt, expiresAt })) return;
    // The video may have been deleted in the meantime, and its row with it.
    const row = await store.findByTask(claim.task_id);
    if (row === undefined || row.state === 'removing') await files.remove(claim.id);
  }

  async #handleFailure(claim: Claim, error: unknown): Promise<void> {
    const { store, incoming, space, clock, log } = this.#dependencies;
    await incoming.remove(claim);
    if (isDeviceFull(error)) await space.noteDeviceFull();
    const now = clock.now();
    // Due at once, so that the next process continues immediately.
    if (this.#stopping.signal.aborted) return store.defer(claim, now, 'the process stopped');
    const message = error instanceof Error ? error.message : String(error);
    const isFinal =
      (error instanceof SourceGoneError && claim.tries >= TRIES_OF_GONE) ||
      (error instanceof NoSpaceError && error.isPermanent) ||
      (now - claim.created_at > GIVE_UP_MS && !isAppError(error, 'unavailable'));
    const waitMs = RETRY_MS[Math.min(claim.tries, RETRY_MS.length) - 1] ?? 0;
    log.info({ err: error, taskId: claim.task_id, tries: claim.tries, isFinal }, 'a video could not be copied');
    await store.defer(claim, isFinal ? null : now + waitMs, message.slice(0, MAX_ERROR_LENGTH));
  }
}

/** A vendor's file as it is received. */
interface CopySource {
  readonly body: Readable;
  /** The vendor's Content-Length in bytes; undefined if none was sent. */
  readonly bytes: number | undefined;
}

interface CopiedFile {
  readonly bytes: number;
  /** Hexadecimal. */
  readonly sha256: string;
  readonly mimeType: CheckedVideo['mimeType'];
}

const READ_BYTES = 128 * 1024;

/**
 * A file in transit from a vendor to this machine. Readers can follow it: they receive the bytes written so far, and
 * the last byte of the part they asked for only after the whole file has been checked, so that no reader takes part of
 * a bad copy, or the length announced for it, as valid.
 */
export class IncomingCopy {
  readonly path: string;
  /** Size of the whole file as announced by the vendor; undefined: the file cannot be read before it is complete. */
  readonly announcedBytes: number | undefined;
  /** Known once the first bytes have arrived. */
  mimeType: CheckedVideo['mimeType'] | undefined;
  #written = 0;
  #state: 'running' | 'complete' | 'failed' = 'running';
  #progress = Promise.withResolvers<void>();

  constructor(path: string, announcedBytes: number | undefined) {
    this.path = path;
    this.announcedBytes = announcedBytes;
  }

  get writtenBytes(): number {
    return this.#written;
  }

  get hasFailed(): boolean {
    return this.#state === 'failed';
  }

  /**
   * Writes, hashes and checks the file, and makes it durable under `path`.
   * @param onGrowth called before each write with the file's size after it; may throw to abort the copy
   * @throws BadVideoError, OutboundError, or any error of `onGrowth`
   */
  async receive(body: Readable, onGrowth: (bytes: number) => Promise<void>): Promise<CopiedFile> {
    // The body may fail before it is read, which must not crash the process; reading it then fails too.
    body.on('error', () => {});
    try {
      const copied = await this.#receive(body, onGrowth);
      this.#state = 'complete';
      return copied;
    } catch (error) {
      this.#state = 'failed';
      throw error;
    } finally {
      body.destroy();
      this.#progress.resolve();
    }
  }

  async #receive(body: Readable, onGrowth: (bytes: number) => Promise<void>): Promise<CopiedFile> {
    const hash = createHash('sha256');
    const check = new VideoCheck();
    const file = await open(this.path, 'w');
    try {
      for await (const chunk of body as AsyncIterable<Buffer>) {
        check.push(chunk);
        hash.update(chunk);
        await onGrowth(this.#written + chunk.length);
        await writeAll(file, chunk);
        this.mimeType = check.mimeType;
        this.#written += chunk.length;
        this.#notify();
        freeChunk(body, chunk);
      }
      const { mimeType, isLengthProven } = check.end();
      const { announcedBytes } = this;
      if (announcedBytes !== undefined && announcedBytes !== this.#written)
        throw new BadVideoError(`it has ${this.#written} bytes, ${announcedBytes} were announced`);
      if (announcedBytes === undefined && !isLengthProven) throw new BadVideoError('nothing shows that it is whole');
      await file.datasync();
      return { bytes: this.#written, sha256: hash.digest('hex'), mimeType };
    } finally {
      await file.close();
    }
  }

  /**
   * Returns the bytes `start` to `end`, both inclusive, as they arrive; byte `end` follows the check of the whole file.
   * Fails with `content_unavailable` if the copy fails.
   * @returns undefined if the copy has ended and its file has been moved
   */
  async read(start: number, end: number): Promise<Readable | undefined> {
    const file = await open(this.path, 'r').catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error;
    });
    if (file === undefined) return undefined;
    let position = start;
    const next = async (): Promise<Buffer | null> => {
      const part = position > end ? null : await this.#readPart(file, position, end);
      position += part?.length ?? 0;
      return part;
    };
    return new Readable({
      highWaterMark: READ_BYTES,
      read() {
        next().then(
          (part) => this.destroyed || this.push(part),
          (error: Error) => this.destroy(error),
        );
      },
      // Also for a reader that leaves before its first byte, as HEAD does, or while it waits for one.
      destroy(error, callback) {
        file.close().then(() => callback(error), callback);
      },
    });
  }

  /** Reads from `position` what may be sent up to `end`; waits until there is some. */
  async #readPart(file: FileHandle, position: number, end: number): Promise<Buffer> {
    for (;;) {
      const { promise } = this.#progress;
      if (this.#state === 'failed') throw new AppError('content_unavailable');
      const readable = this.#state === 'complete' ? end + 1 : Math.min(this.#written, end);
      const length = Math.min(readable - position, READ_BYTES);
      if (length > 0) {
        const { bytesRead, buffer } = await file.read({ buffer: Buffer.allocUnsafe(length), position });
        if (bytesRead === 0) throw new Error('the file ended early');
        return buffer.subarray(0, bytesRead);
      }
      await promise;
    }
  }

  #notify(): void {
    this.#progress.resolve();
    this.#progress = Promise.withResolvers();
  }
}

/** The copies in progress in this process, by task. */
export class CopiesUnderWay {
  readonly #copies = new Map<string, IncomingCopy>();

  add(taskId: string, copy: IncomingCopy): void {
    this.#copies.set(taskId, copy);
  }

  remove(taskId: string, copy: IncomingCopy): void {
    if (this.#copies.get(taskId) === copy) this.#copies.delete(taskId);
  }

  find(taskId: string): IncomingCopy | undefined {
    return this.#copies.get(taskId);
  }
}

/** Returns the subject and the data of a video's events; undefined if the video no longer exists. */
type DescribeVideo = (taskId: string) => Promise<Pick<NewEvent, 'subject' | 'data'> | undefined>;

/** Dependencies of {@link ExpiryNotices}. */
interface ExpiryNoticesDependencies {
  readonly database: Database<Tables>;
  readonly store: ExpiryNoticeStore;
  readonly events: EventWriter;
  readonly notifier: Notifier;
  readonly clock: Clock;
}

/** Time before a copy's expiry; a copy with a lifetime shorter than twice this is announced halfway through. */
const NOTICE_MS = 3 * DAY_MS;
const BATCH = 100;

/** Notifies owners of stored videos that expire soon: one event per video, and one notification a day. */
export class ExpiryNotices {
  readonly #dependencies: ExpiryNoticesDependencies;
  constructor(dependencies: ExpiryNoticesDependencies) {
    this.#dependencies = dependencies;
  }

  /** Called periodically in every process; each copy is announced once. */
  async send(describe: DescribeVideo): Promise<void> {
    const { store, clock } = this.#dependencies;
    for (;;) {
      const ending = await store.listEnding(clock.now(), NOTICE_MS, BATCH);
      const byUser = Map.groupBy(ending, ({ user_id }) => user_id);
      await workOnEach(byUser, ([userId, copies]) => this.#tell(userId, copies, describe));
      if (ending.length < BATCH) return;
    }
  }

  async #tell(userId: number, copies: readonly EndingCopy[], describe: DescribeVideo): Promise<void> {
    const { database, store, events, notifier, clock } = this.#dependencies;
    const described = new Map(
      await Promise.all(copies.map(async ({ task_id }) => [task_id, await describe(task_id)] as const)),
    );
    await database.transaction(async (trx) => {
      const mine = await store.markAnnounced(
        trx,
        copies.map(({ id }) => id),
      );
      for (const { task_id, expires_at } of mine) {
        const video = described.get(task_id);
        if (video === undefined) continue;
        const data = { ...video.data, expires_at: toSeconds(expires_at ?? 0) };
        await events.write(trx, { type: 'video.expiring', userId, subject: video.subject, data });
      }
      if (mine.some(({ task_id }) => described.get(task_id) !== undefined))
        await notifier.notify(trx, toNotice(userId, clock.now()));
    });
  }
}

const toNotice = (userId: number, now: number) =>
  ({
    userId,
    topic: 'video.expiring',
    type: 'system',
    title: { en: 'Stored videos will be removed soon', 'zh-CN': '部分已存储的视频即将被移除' },
    content: {
      en: 'Some of your videos reach the end of their storage time within three days. Download those you want to keep.',
      'zh-CN': '您的部分视频将在三天内到达存储期限。请下载需要保留的视频。',
    },
    targetUrl: '/videos',
    deduplicationKey: `video.expiring:${userId}:${Math.floor(now / DAY_MS)}`,
  }) as const;

/** A poster is stored within seconds; the process of an attempt that takes longer has died. */
const INTERRUPTED_MS = 60_000;
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
type OpenCover = (taskId: string, signal: AbortSignal) => Promise<Buffer | undefined>;

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
    const now = clock.now();
    const id = randomText(24);
    const row = await store.insertReceived('thumbnail', { id, taskId, userId }, now);
    if (row === undefined) return 'exists';
    const isInterrupted = row.state === 'pending' && row.created_at < now - INTERRUPTED_MS;
    // Of concurrent attempts only one stores its image; each has its own id, so that none touches another's file.
    if (row.id !== id && !(isInterrupted && (await store.takeOver(row, id, now)))) return 'exists';
    const path = await incoming.begin({ id, tries: row.tries });
    await writeFile(path, bytes, { flush: true });
    const sha256 = createHash('sha256').update(bytes).digest('hex');
    await files.put(id, path, { bytes: bytes.length, sha256 });
    const { days } = await limitsOf(userId);
    const storedAt = clock.now();
    const expiresAt = days === 0 ? null : storedAt + days * DAY_MS;
    const copy = { bytes: bytes.length, sha256, mimeType, storedAt, expiresAt };
    const isStored = await store.confirm({ id, tries: row.tries }, copy);
    // The video was deleted in the meantime.
    if (!isStored) await files.remove(id);
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
