import { createReadStream, createWriteStream } from 'node:fs';
import { type FileHandle, mkdir, open, readdir, rename, rm, stat, statfs, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { DAY_MS } from '../../contract/time-units.ts';
import type { AdminNotice, Bilingual } from '../notifications/notifier.ts';
import { AppError } from '../platform/app-error.ts';
import type { Clock } from '../platform/clock.ts';
import { FreshReadSingleFlight } from '../platform/concurrency.ts';
import { DatabaseUnavailableError } from '../platform/db/database.ts';
import type { Log } from '../platform/log.ts';
import type { ArtifactStore } from './artifact-store.ts';

/** Stores copies under the ids of their rows. */
export interface ArtifactFileStorage {
  /** Stores a complete local file. Afterwards it is durable under `id`, and `path` may no longer exist. */
  put(id: string, path: string, copy: { readonly bytes: number; readonly sha256: string }): Promise<void>;
  /** Opens the bytes `start` to `end`, both inclusive; undefined if there is no such file. */
  open(id: string, start: number, end: number): Promise<Readable | undefined>;
  /** Path of the file below the base directory, if that is on this machine; undefined if there is no such file. */
  locate?(id: string): Promise<string | undefined>;
  /** Size of the file in bytes; undefined if there is none. */
  size(id: string): Promise<number | undefined>;
  /** Removing a missing file succeeds. */
  remove(id: string): Promise<void>;
  /** Lists all files in batches, with the time of their last change in Unix milliseconds. */
  list(): AsyncIterable<readonly { readonly id: string; readonly changedAt: number }[]>;
  /** Free bytes on the device; undefined if there is no limit. */
  freeBytes(): Promise<number | undefined>;
}

/** A place for files that can be recognized, even if it is empty. */
export interface MarkedStorage extends ArtifactFileStorage {
  /** The marker's path or URL, for administrators. */
  readonly markerName: string;
  isMarked(): Promise<boolean>;
  mark(): Promise<void>;
}

/** Empty file beside the stored ones; no id is a name of this form. */
export const MARKER = '.reelgate-files';

/** Characters of an id that name its folder: 64² folders keep each of them small. */
const FOLDER_LENGTH = 2;

/** Stores the copies of videos as files in a directory shared by all processes. */
export class DiskFileStorage implements MarkedStorage {
  readonly #directory: string;
  constructor(directory: string) {
    this.#directory = directory;
  }

  async put(id: string, path: string): Promise<void> {
    const target = this.pathOf(id);
    await mkdir(dirname(target), { recursive: true });
    await rename(path, target).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EXDEV') throw error;
      return copyThenRename(path, target);
    });
    await syncFolder(dirname(target));
  }

  async open(id: string, start: number, end: number): Promise<Readable | undefined> {
    const file = await open(this.pathOf(id), 'r').catch(ignoreMissing);
    return file && new FileRangeStream(file, start, end);
  }

  async locate(id: string): Promise<string | undefined> {
    return (await this.size(id)) === undefined ? undefined : relativePathOf(id);
  }

  async size(id: string): Promise<number | undefined> {
    const found = await stat(this.pathOf(id)).catch(ignoreMissing);
    return found?.size;
  }

  async remove(id: string): Promise<void> {
    await rm(this.pathOf(id), { force: true });
  }

  async *list(): AsyncGenerator<{ id: string; changedAt: number }[]> {
    for (const folder of (await readdir(this.#directory).catch(ignoreMissing)) ?? []) {
      const found = [];
      for (const id of (await readdir(join(this.#directory, folder)).catch(ignoreMissing)) ?? []) {
        const stats = await stat(join(this.#directory, folder, id)).catch(ignoreMissing);
        if (stats !== undefined) found.push({ id, changedAt: stats.mtimeMs });
      }
      if (found.length > 0) yield found;
    }
  }

  get markerName(): string {
    return join(this.#directory, MARKER);
  }

  async isMarked(): Promise<boolean> {
    return (await stat(this.markerName).catch(ignoreMissing)) !== undefined;
  }

  async mark(): Promise<void> {
    await mkdir(this.#directory, { recursive: true });
    await writeFile(this.markerName, '', { flush: true });
  }

  async unmark(): Promise<void> {
    await rm(this.markerName, { force: true });
  }

  async isEmpty(): Promise<boolean> {
    for await (const _ of this.list()) return false;
    return true;
  }

  async freeBytes(): Promise<number | undefined> {
    await mkdir(this.#directory, { recursive: true });
    const { bsize, blocks, bavail } = await statfs(this.#directory);
    // Mounts of remote storage that do not know their size report no blocks at all.
    return blocks === 0 ? undefined : bsize * bavail;
  }

  /** Path of the file with this id, whether or not it exists. */
  pathOf(id: string): string {
    return join(this.#directory, relativePathOf(id));
  }
}

/**
 * Moves a file between devices: `files` may be a mount of its own, and union file systems such as mergerfs refuse to
 * rename from one of their disks to another.
 */
async function copyThenRename(path: string, target: string): Promise<void> {
  // Named after the attempt: an earlier one that has lost its lease may still be writing.
  const draft = join(dirname(target), `${basename(path)}.draft`);
  try {
    await pipeline(createReadStream(path), createWriteStream(draft, { flush: true }));
    await rename(draft, target);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
  await rm(path, { force: true });
}

/** Errors of file systems that know no sync of a directory, such as SMB; PostgreSQL ignores the same. */
const NO_FOLDER_SYNC = new Set(['EINVAL', 'ENOTSUP', 'ENOSYS', 'EBADF']);

/** A new name is durable only once its directory has been synced. */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r');
  try {
    await folder.sync();
  } catch (error) {
    if (!NO_FOLDER_SYNC.has((error as NodeJS.ErrnoException).code ?? '')) throw error;
  } finally {
    await folder.close();
  }
}

const relativePathOf = (id: string): string => `${id.slice(0, FOLDER_LENGTH)}/${id}`;

function ignoreMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT' && error.code !== 'ENOTDIR') throw error;
}

/**
 * Each read is a round trip to the thread pool, and a larger chunk does not stay in the processor's cache until it is
 * sent.
 */
const PART_BYTES = 256 * 1024;
/** Buffers kept for later downloads. */
const MAX_SPARE = 16;
const spare: Buffer[] = [];

/**
 * A range of a file. Piped to a response, the file is read into one reused buffer, which takes half of the CPU of a
 * plain stream because no memory is allocated for the bytes that pass.
 */
export class FileRangeStream extends Readable {
  readonly #file: FileHandle;
  readonly #end: number;
  #position: number;

  /**
   * @param end last byte, inclusive
   * @param file closed together with this stream
   */
  constructor(file: FileHandle, start: number, end: number) {
    super({ highWaterMark: PART_BYTES });
    this.#file = file;
    this.#position = start;
    this.#end = end;
  }

  override _read(): void {
    if (this.#position > this.#end) return void this.push(null);
    this.#fill(Buffer.allocUnsafeSlow(Math.min(PART_BYTES, this.#end + 1 - this.#position))).then(
      (part) => this.destroyed || this.push(part),
      (error: Error) => this.destroy(error),
    );
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    this.#file.close().then(
      () => callback(error),
      (failed: Error) => callback(error ?? failed),
    );
  }

  override pipe<T extends NodeJS.WritableStream>(destination: T): T {
    this.#sendTo(destination).catch((error: Error) => this.destroy(error));
    return destination;
  }

  async #sendTo(destination: NodeJS.WritableStream): Promise<void> {
    const buffer = spare.pop() ?? Buffer.allocUnsafeSlow(PART_BYTES);
    while (this.#position <= this.#end) {
      const part = await this.#fill(buffer);
      // The buffer may be reused only after the kernel has taken its content.
      const isWritten = !this.destroyed && (await write(destination, part));
      if (!isWritten) return void this.destroy();
    }
    if (spare.length < MAX_SPARE) spare.push(buffer);
    destination.end();
    this.push(null);
    this.resume();
  }

  async #fill(buffer: Buffer): Promise<Buffer> {
    const length = Math.min(buffer.length, this.#end + 1 - this.#position);
    const { bytesRead } = await this.#file.read(buffer, 0, length, this.#position);
    if (bytesRead === 0) throw new Error('the file ended early');
    this.#position += bytesRead;
    return buffer.subarray(0, bytesRead);
  }
}

/** @returns false if the receiver has disconnected */
function write(destination: NodeJS.WritableStream, part: Buffer): Promise<boolean> {
  return new Promise((resolve) => {
    destination.write(part, (error) => resolve(error == null));
  });
}

/** Appends the whole chunk; a single write may take only part of it. */
export async function writeAll(file: FileHandle, chunk: Buffer): Promise<void> {
  for (let done = 0; done < chunk.length; ) done += (await file.write(chunk, done)).bytesWritten;
}

/** An attempt to store a file. */
interface Attempt {
  readonly id: string;
  readonly tries: number;
}

/** The files of copies in progress: `<id>.<try>` in a directory of their own, on the device that stores the copies. */
export class IncomingFileDirectory {
  readonly #directory: string;
  constructor(directory: string) {
    this.#directory = directory;
  }

  /** Returns the path this attempt writes to and removes the files of earlier attempts. */
  async begin({ id, tries }: Attempt): Promise<string> {
    await mkdir(this.#directory, { recursive: true });
    await this.#removeOf(id, (other) => other <= tries);
    return join(this.#directory, `${id}.${tries}`);
  }

  /** Removes the file of an attempt; a later one may have begun meanwhile. */
  remove({ id, tries }: Attempt): Promise<void> {
    return this.#remove(`${id}.${tries}`);
  }

  async removeAll(id: string): Promise<void> {
    await this.#removeOf(id, () => true);
  }

  async #removeOf(id: string, isMeant: (tries: number) => boolean): Promise<void> {
    for (const name of await this.#names())
      if (name.startsWith(`${id}.`) && isMeant(Number(name.slice(id.length + 1)))) await this.#remove(name);
  }

  /** Removes files last written before `before` (Unix milliseconds): their process has died. */
  async removeOlder(before: number): Promise<void> {
    for (const name of await this.#names()) {
      const changedAt = await stat(join(this.#directory, name)).then(
        ({ mtimeMs }) => mtimeMs,
        () => Number.POSITIVE_INFINITY,
      );
      if (changedAt < before) await this.#remove(name);
    }
  }

  async #names(): Promise<string[]> {
    return readdir(this.#directory).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error;
      return [];
    });
  }

  #remove(name: string): Promise<void> {
    return rm(join(this.#directory, name), { force: true });
  }
}

interface WatchedStorageDependencies {
  readonly files: MarkedStorage;
  readonly store: Pick<ArtifactStore, 'listStored'>;
  /**
   * Notifies the administrators. Never throws.
   * @param reason why the place cannot be read; empty if its marker is missing
   */
  readonly onGone: (reason: string) => Promise<void>;
  /** How long a found marker counts for writes, milliseconds; a missing file always leads to a fresh check. */
  readonly recheckMs: number;
  readonly clock: Clock;
  readonly log: Log;
}

/** Stored copies that are looked for where there is no marker. */
const SAMPLE = 20;
/** Sent to callers; mounting a disk takes an operator minutes. */
const RETRY_AFTER_SECONDS = 60;

/**
 * Distinguishes a missing file from a missing disk, or another bucket, by a marker beside the files. While the marker
 * is missing, nothing is written or removed, and reads fail with `unavailable` instead of finding nothing, since copies
 * taken for lost would end for good once their vendor has deleted the video.
 */
export class WatchedStorage implements ArtifactFileStorage {
  readonly #dependencies: WatchedStorageDependencies;
  /** A check that began before a file was found missing does not answer for it. */
  readonly #checks = new FreshReadSingleFlight(() => this.#check());
  /** By the monotonic clock. */
  #seenAt = Number.NEGATIVE_INFINITY;

  constructor(dependencies: WatchedStorageDependencies) {
    this.#dependencies = dependencies;
  }

  /** @throws DatabaseUnavailableError */
  async isAvailable(maxAgeMs = this.#dependencies.recheckMs): Promise<boolean> {
    if (performance.now() - this.#seenAt < maxAgeMs) return true;
    return this.#checks.read();
  }

  async put(id: string, path: string, copy: { readonly bytes: number; readonly sha256: string }): Promise<void> {
    await this.#assertAvailable();
    await this.#dependencies.files.put(id, path, copy);
  }

  open(id: string, start: number, end: number): Promise<Readable | undefined> {
    return this.#find(() => this.#dependencies.files.open(id, start, end));
  }

  async locate(id: string): Promise<string | undefined> {
    const { files } = this.#dependencies;
    return files.locate && this.#find(async () => files.locate?.(id));
  }

  size(id: string): Promise<number | undefined> {
    return this.#find(() => this.#dependencies.files.size(id));
  }

  async remove(id: string): Promise<void> {
    await this.#assertAvailable();
    await this.#dependencies.files.remove(id);
  }

  async *list(): AsyncGenerator<readonly { readonly id: string; readonly changedAt: number }[]> {
    await this.#assertAvailable();
    yield* this.#dependencies.files.list();
  }

  async freeBytes(): Promise<number | undefined> {
    await this.#assertAvailable();
    return this.#dependencies.files.freeBytes();
  }

  /** Returns undefined only if the file is missing from a store that is there. */
  async #find<T>(read: () => Promise<T | undefined>): Promise<T | undefined> {
    const found = await read().catch((error: unknown) => {
      this.#dependencies.log.error({ err: error }, 'a stored file could not be read');
      throw unavailableError(error);
    });
    if (found === undefined) await this.#assertAvailable(0);
    return found;
  }

  async #assertAvailable(maxAgeMs?: number): Promise<void> {
    if (!(await this.isAvailable(maxAgeMs))) throw unavailableError();
  }

  async #check(): Promise<boolean> {
    const { files, log, onGone } = this.#dependencies;
    let reason = '';
    try {
      if ((await files.isMarked()) || (await this.#adopt())) {
        this.#seenAt = performance.now();
        return true;
      }
      log.error('the stored files are gone: their disk is not mounted, or it is another bucket');
    } catch (error) {
      if (error instanceof DatabaseUnavailableError) throw error;
      log.error({ err: error }, 'the place of the stored files cannot be read');
      reason = error instanceof Error ? error.message : String(error);
    }
    await onGone(reason);
    return false;
  }

  /** Marks the place of the files at the first start, or if files of this service are there. */
  async #adopt(): Promise<boolean> {
    const { files, store } = this.#dependencies;
    const sample = await store.listStored('', SAMPLE);
    let isOurs = sample.length === 0;
    for (const { id } of sample) isOurs ||= (await files.size(id)) !== undefined;
    if (!isOurs) return false;
    await files.mark();
    // While files are being moved, the other place may be the one that is missing.
    return files.isMarked();
  }
}

/** The place of the files does not work. */
export const unavailableError = (cause?: unknown): AppError =>
  new AppError('unavailable', { retryAfterSeconds: RETRY_AFTER_SECONDS, cause, log: { why: 'stored files' } });

/**
 * Notified once a day while the files are gone.
 * @param place directory or bucket, and the name of the marker in it
 * @param reason why the place cannot be read; empty if the marker is missing
 */
export const storeGoneNotice = (place: string, reason: string, now: number): AdminNotice => ({
  type: 'system',
  topic: 'storage.full',
  title: { en: 'The stored videos cannot be reached', 'zh-CN': '无法访问已存储的视频' },
  content: reason === '' ? toMissingTexts(place) : toUnreadableTexts(place, reason),
  targetUrl: '',
  deduplicationKey: `storage.gone:${Math.floor(now / DAY_MS)}`,
});

const toMissingTexts = (place: string): Bilingual => ({
  en: `The files of stored videos are not where this service wrote them: ${place} is missing. Mount the disk of ARTIFACTS_DIR, or correct the settings of the bucket; until then videos come from their vendors, or are refused for the moment, and none is taken for lost. If the files are lost for good, create an empty ${place}. See docs/artifacts.md.`,
  'zh-CN': `已存储视频的文件不在本服务写入的位置：缺少 ${place}。请挂载 ARTIFACTS_DIR 所在磁盘，或更正存储桶设置；在此之前，视频由供应商提供或暂时无法访问，不会被视为丢失。如果文件确已永久丢失，请创建一个空的 ${place}。处理方法见 docs/artifacts.md。`,
});

const toUnreadableTexts = (place: string, reason: string): Bilingual => ({
  en: `${place} cannot be read or written: “${reason}”. Check the disk of ARTIFACTS_DIR, or the ARTIFACTS_S3_ settings and the bucket; until then videos come from their vendors, or are refused for the moment, and none is taken for lost. See docs/artifacts.md.`,
  'zh-CN': `无法读写 ${place}：“${reason}”。请检查 ARTIFACTS_DIR 所在磁盘，或 ARTIFACTS_S3_ 设置和存储桶；在此之前，视频由供应商提供或暂时无法访问，不会被视为丢失。处理方法见 docs/artifacts.md。`,
});
